"""Function declarations: a compact notation for overloads, parsed when a function is first looked up.

``"string.(int, int): string"`` is a member function, ``"(list<A>, A): bool"`` a global one; a single
capital letter is a type parameter. Every overload carries the Python function that implements it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusters.kube.cel import types as t
from clusters.kube.cel.types import Type

Implementation = Callable[..., Any]
# overload id, signature, implementation (None: the planner has its own code for the function).
Row = tuple[str, str, "Implementation | None"]

_NAMED: Mapping[str, Type] = {
    "bool": t.BOOL, "int": t.INT, "uint": t.UINT, "double": t.DOUBLE, "string": t.STRING, "bytes": t.BYTES,
    "null": t.NULL, "dyn": t.DYN, "duration": t.DURATION, "timestamp": t.TIMESTAMP, "type": t.TYPE,
    "Quantity": t.QUANTITY, "URL": t.URL, "IP": t.IP, "CIDR": t.CIDR, "Semver": t.SEMVER,
    "Format": t.NAMED_FORMAT, "Authorizer": t.AUTHORIZER, "PathCheck": t.PATH_CHECK,
    "GroupCheck": t.GROUP_CHECK, "ResourceCheck": t.RESOURCE_CHECK, "Decision": t.DECISION,
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z]+|[<>,().:]")


class Overload:
    """One signature of a function."""

    __slots__ = ("args", "id", "implementation", "member", "result", "type_params")

    def __init__(self, id_: str, signature: str, implementation: Implementation | None) -> None:
        self.id = id_
        self.implementation = implementation
        words = _WORD.findall(signature)
        args: list[Type] = []
        at = 0
        self.member = words[0] != "("
        if self.member:
            first, at = _parse(words, 0)
            args.append(first)
            at += 1
        at += 1
        while words[at] != ")":
            if words[at] == ",":
                at += 1
            arg, at = _parse(words, at)
            args.append(arg)
        self.result = _parse(words, at + 2)[0]
        self.args = tuple(args)
        # Result first: type variables are numbered in this order, and messages show the numbers.
        letters = [*words[at + 2 :], *words]
        self.type_params = tuple(dict.fromkeys(word for word in letters if len(word) == 1 and word.isupper()))


def _parse(words: Sequence[str], at: int) -> tuple[Type, int]:
    name = words[at]
    at += 1
    params: list[Type] = []
    if at < len(words) and words[at] == "<":
        while words[at] != ">":
            inner, at = _parse(words, at + 1)
            params.append(inner)
        at += 1
    if len(name) == 1 and name.isupper():
        return t.param(name), at
    if name == "list":
        return t.list_of(params[0]), at
    if name == "map":
        return t.map_of(params[0], params[1]), at
    if name == "optional":
        return t.optional_of(params[0]), at
    if name == "type" and params:
        return t.type_of_type(params[0]), at
    return _NAMED[name], at


class Function:
    """A name with its overloads."""

    __slots__ = ("by_id", "name", "overloads")

    def __init__(self, name: str, overloads: Sequence[Overload]) -> None:
        self.name = name
        self.overloads = tuple(overloads)
        self.by_id = {overload.id: overload for overload in overloads}


class Library:
    """All functions and type names an environment knows."""

    def __init__(
        self,
        rows: Callable[[str], Sequence[Row]],
        types: Mapping[str, Type],
        resolve_type: Callable[[str], Type | None] | None = None,
    ) -> None:
        self._rows = rows
        self._types = types
        self._resolve_type = resolve_type
        self._functions: dict[str, Function] = {}

    def function(self, name: str) -> Function | None:
        found = self._functions.get(name)
        if found is None:
            rows = self._rows(name)
            if not rows:
                return None
            found = Function(name, [Overload(*row) for row in rows])
            self._functions[name] = found
        return found

    def type_named(self, name: str) -> Type | None:
        """The type of the identifier ``name`` when it names a type: ``type(T)``."""
        found = self._types.get(name)
        if found is None and self._resolve_type is not None:
            return self._resolve_type(name)
        return found
