"""The options of the harness, in one place: command line, ini file and environment name the same things."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusters.emulated.clock import Clock

FACTOR_MAX = 1_000_000.0


class BadVersionError(ValueError):
    """No such Kubernetes can be emulated; the message says which can."""


class BadClockError(ValueError):
    """The text names no clock; the message says which there are."""


def clock_factor(text: str) -> float:
    """How many seconds of cluster time pass in a real one: `real` is 1, `scaled:60` is 60."""
    if text == "real":
        return 1.0
    kind, _, number = text.partition(":")
    try:
        factor = float(number)
    except ValueError:
        factor = math.nan
    if kind != "scaled" or not 0 < factor <= FACTOR_MAX:
        raise BadClockError(
            f"{text!r} is no clock; give real, or scaled:N with N above 0 and up to {FACTOR_MAX:,.0f} (scaled:60: "
            "a minute of cluster time each second)"
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
    from clusters.emulated.clock import RealClock, ScaledClock

    factor = clock_factor(text)
    return RealClock() if text == "real" else ScaledClock(factor)
