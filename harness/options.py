"""The options of the harness, in one place: command line, ini file and environment name the same things.

    pytest --clock=scaled:60      # this run
    KAPUT_CLOCK=scaled:60         # this environment
    kaput_clock = scaled:60       # this project's pytest.ini or [tool.pytest.ini_options]

The first that is given counts, in this order; after them the default. `@pytest.mark.cluster(clock=…)` on a test
says what that test needs and goes before all of them.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusters.emulated.clock import Clock

FACTOR_MAX = 1_000_000.0
BACKENDS = ("emulated",)


class BadOptionError(ValueError):
    """An option has a value it cannot have; the message names both, and what it can be."""


class BadVersionError(BadOptionError):
    """No such Kubernetes can be emulated; the message says which can."""


class BadClockError(BadOptionError):
    """The text names no clock; the message says which there are."""


def _option(default: object, help: str, metavar: str = "") -> Any:
    return field(default=default, metadata={"help": help, "metavar": metavar})


@dataclass(frozen=True, slots=True)
class Options:
    """What a run can be told. Each field is `--name`, `KAPUT_NAME` and `kaput_name`."""

    cluster: str = _option("emulated", f"which cluster the tests get: {', '.join(BACKENDS)}", "BACKEND")
    seed: int | None = _option(None, "draw names and UIDs from this seed (default: a random one, printed)", "N")
    clock: str = _option("real", "how fast cluster time runs: real, scaled:N, or virtual", "CLOCK")
    kube_version: str = _option("1.36", "which Kubernetes the emulated cluster is", "V")
    hop: int | None = _option(None, "of the failure table, only this hop (1 to 12; 0: nodes, replicas)", "N")
    fault: str | None = _option(None, "of the failure table, only this entry, by id or by name", "ID")
    keep: bool = _option(False, "stop after a failed test with its cluster still up, until Enter or Ctrl-C")

    def __post_init__(self) -> None:
        if self.cluster not in BACKENDS:
            raise BadOptionError(f"there is no cluster {self.cluster!r}; give one of: {', '.join(BACKENDS)}")
        clock_factor(self.clock)
        if self.hop is not None and not 0 <= self.hop <= 12:
            raise BadOptionError(f"there is no hop {self.hop}; they are 1 to 12, and 0 for nodes and replicas")

    def with_changes(self, changes: Mapping[str, Any]) -> Options:
        """As a test's `cluster` mark wants it."""
        known = {each.name for each in fields(self)} - {"keep", "hop", "fault"}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise BadOptionError(f"the mark cluster knows no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        return replace(self, **changes)


def read_options(
    command_line: Callable[[str], Any], ini: Callable[[str], Any], environment: Mapping[str, str] = os.environ
) -> Options:
    """Each option from the first place that gives it."""
    found: dict[str, Any] = {}
    for each in fields(Options):
        given = command_line(each.name)
        for text in (environment.get(f"KAPUT_{each.name.upper()}"), ini(f"kaput_{each.name}")):
            if given is None and text:
                given = text
        if given is not None:
            found[each.name] = _READERS.get(each.name, str)(given)
    return Options(**found)


def _number(given: object) -> int:
    try:
        return int(str(given))
    except ValueError:
        raise BadOptionError(f"a seed or a hop is a whole number, not {given!r}") from None


def _flag(given: object) -> bool:
    return str(given).lower() in ("1", "true", "yes", "on")


def clock_factor(text: str) -> float:
    """How many seconds of cluster time pass in a real one: `real` is 1, `scaled:60` is 60."""
    if text in ("real", "virtual"):
        return 1.0
    kind, _, number = text.partition(":")
    try:
        factor = float(number)
    except ValueError:
        factor = math.nan
    if kind != "scaled" or not 0 < factor <= FACTOR_MAX:
        raise BadClockError(
            f"{text!r} is no clock; give real, virtual, or scaled:N with N above 0 and up to {FACTOR_MAX:,.0f} "
            "(scaled:60: a minute of cluster time each second)"
        )
    return factor


def minor_version(text: str) -> str:
    """`1.36`, however it was written: `v1.36` and `1.36.4` are the same emulated Kubernetes."""
    from clusters.kube.schema.catalogue import Catalogue, UnknownVersion

    found = re.fullmatch(r"v?(\d+\.\d+)(\.\d+)?", text.strip())
    if found is None:
        raise BadVersionError(f"{text!r} is no Kubernetes version; give one like 1.36")
    try:
        Catalogue.of(found[1])
    except UnknownVersion as error:
        raise BadVersionError(str(error)) from None
    return found[1]


def new_clock(text: str) -> Clock:
    from clusters.emulated.clock import RealClock, ScaledClock, VirtualClock

    factor = clock_factor(text)
    if text == "virtual":
        return VirtualClock()
    return RealClock() if text == "real" else ScaledClock(factor)


_READERS: Mapping[str, Callable[[object], object]] = {"seed": _number, "hop": _number, "keep": _flag}
