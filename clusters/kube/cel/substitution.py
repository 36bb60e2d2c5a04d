"""Type variables and assignability: the small unification behind the checker."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.kube.cel import types as t
from clusters.kube.cel.types import Type

_NULLABLE = frozenset({"opaque", "struct", "any", "duration", "timestamp"})
_PARAMETRIC = frozenset({"opaque", "list", "map"})


def is_dyn(type_: Type) -> bool:
    return type_.kind == "dyn" or type_.kind == "any"


def _wild(type_: Type) -> bool:
    return type_.kind in ("dyn", "any", "error")


def less_specific(first: Type, second: Type) -> bool:
    """Whether ``first`` equals ``second`` or says less than it."""
    if is_dyn(first) or first.kind == "param":
        return True
    if is_dyn(second) or second.kind == "param" or first.kind != second.kind:
        return False
    if first.kind in _PARAMETRIC:
        if first.name != second.name or len(first.params) != len(second.params):
            return False
        return all(less_specific(a, b) for a, b in zip(first.params, second.params, strict=True))
    return first.kind == "type" or first.same(second)


def most_general(first: Type, second: Type) -> Type:
    return first if less_specific(first, second) else second


class Substitution:
    """What is known of the type variables so far."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}
        self._count = 0

    def fresh(self) -> Type:
        self._count += 1
        return Type("param", f"_var{self._count - 1}")

    def apply(self, type_: Type, dyn: bool = False) -> Type:
        """``type_`` with its variables replaced; with ``dyn``, unsolved ones become dyn."""
        if type_.kind == "param":
            found = self._known.get(type_.name)
            if found is not None:
                return self.apply(found, dyn)
            return t.DYN if dyn else type_
        if not type_.params:
            return type_
        return Type(type_.kind, type_.name, tuple(self.apply(each, dyn) for each in type_.params), type_.fields)

    def assignable(self, first: Type, second: Type) -> bool:
        return self.assignable_list((first,), (second,))

    def assignable_list(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        """Whether each fits; what is learnt about variables is kept only if all do."""
        before = dict(self._known)
        if self._all(first, second):
            return True
        self._known = before
        return False

    def _all(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        return len(first) == len(second) and all(self._fits(a, b) for a, b in zip(first, second, strict=True))

    def _fits(self, first: Type, second: Type) -> bool:
        if second.kind == "param":
            valid, known = self._substitutes(first, second)
            if valid:
                return True
            if known:
                return False
        if first.kind == "param":
            return self._substitutes(second, first)[0]
        if _wild(first) or _wild(second):
            return True
        if first.kind == "null":
            return second.kind in _NULLABLE or second.kind == "null"
        if second.kind == "null":
            return first.kind in _NULLABLE
        if first.kind == "type":
            return second.kind == "type"
        if first.kind in _PARAMETRIC:
            return first.kind == second.kind and first.name == second.name and self._all(first.params, second.params)
        return first.same(second)

    def _substitutes(self, candidate: Type, variable: Type) -> tuple[bool, bool]:
        """(does ``candidate`` fit the variable, was the variable known already)."""
        if candidate.kind == "param" and candidate.name == variable.name:
            return True, True
        known = self._known.get(variable.name)
        if known is not None:
            if candidate.kind == known.kind and candidate.same(known):
                return True, True
            if self._fits(candidate, known):
                general = most_general(candidate, known)
                if not self._occurs(variable, general):
                    self._known[variable.name] = general
                return True, True
            return False, True
        if self._occurs(variable, candidate):
            return False, False
        self._known[variable.name] = candidate
        return True, False

    def _occurs(self, variable: Type, within: Type) -> bool:
        if within.kind == "param":
            if within.name == variable.name:
                return True
            known = self._known.get(within.name)
            return known is not None and self._occurs(variable, known)
        return any(self._occurs(variable, each) for each in within.params)
