"""Finds every fault: each file in a folder beside this one defines one."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from faults.contract import Fault


class UnknownFaultError(LookupError):
    """There is no fault of this name; the message names the nearest."""


@cache
def catalogue() -> dict[str, type[Fault]]:
    """Every fault by its id, in the order of the hops."""
    root = Path(__file__).parent
    found: dict[str, type[Fault]] = {}
    for path in sorted(root.glob("*/*.py")):
        if path.stem.startswith("_"):
            continue
        module = import_module(f"{__package__}.{path.parent.name}.{path.stem}")
        kind = _only_fault(module)
        kind.id = f"{path.parent.name}/{path.stem.replace('_', '-')}"
        found[kind.id] = kind
    return found


def _only_fault(module: ModuleType) -> type[Fault]:
    defined = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Fault) and each.__module__ == module.__name__
    ]
    assert len(defined) == 1, f"{module.__name__} has to define one fault, and defines {len(defined)}"
    return defined[0]


def fault(name: str, **parameters: Any) -> Fault:
    """The fault of this id, or of this name without its folder where that is unambiguous."""
    entries = catalogue()
    ids = [name] if name in entries else [each for each in entries if each.partition("/")[2] == name]
    if len(ids) == 1:
        return entries[ids[0]](**parameters)
    if ids:
        raise UnknownFaultError(f"{name!r} may be {' or '.join(ids)}: say which")
    names = [*entries, *(each.partition("/")[2] for each in entries)]
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.3)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise UnknownFaultError(f"there is no fault {name!r}{hint}")
