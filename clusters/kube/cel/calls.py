"""Planning function calls: operators with closures of their own, everything else by overload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusters.kube.cel import operators as ops
from clusters.kube.cel import types as t
from clusters.kube.cel.costs import cost_of
from clusters.kube.cel.declarations import Library, Overload
from clusters.kube.cel.errors import CostExceeded, EvaluationError
from clusters.kube.cel.frames import CONSTANT, VALUE, Evaluate, Frame, Plan
from clusters.kube.cel.syntax import Call
from clusters.kube.cel.types import Type
from clusters.kube.cel.values import KINDS, equal, type_of

Guard = Callable[[Any], bool]
_SCALARS = frozenset({"bool", "int", "uint", "double", "timestamp", "duration", "null", "type"})
# Functions that report a wrong operand themselves, in words of their own.
_UNGUARDED = frozenset(
    {"contains", "startsWith", "endsWith", "matches", "size", "sort", "@sortByAssociatedKeys", "flatten", "dyn", "type"}
)


def plan_call(library: Library, node: Call, args: Sequence[Plan], types: Sequence[Type]) -> Plan:
    function = node.function
    cost = sum(arg.cost for arg in args)
    if function == "@in" and args[1].kind == CONSTANT and type(args[1].value) is list:
        members = args[1].value
        if all(type(each) in (str, int, bool, float) for each in members):
            # cel-go looks a value up in a constant list at no cost.
            return Plan(_membership(args[0].evaluate, members), cost, VALUE)
    special = _OPERATORS.get(function)
    if special is not None:
        evaluate, implementation = special(function, [arg.evaluate for arg in args], types)
    else:
        evaluate, implementation = _dispatch(library, node, args, types)
    rule = cost_of(function, node.overloads)
    if callable(rule) and function in ("_==_", "_!=_") and _cheap_equality(args, types):
        rule = 1
    if not callable(rule):
        return Plan(evaluate, cost + rule, VALUE)
    return Plan(_metered([arg.evaluate for arg in args], implementation, rule), cost, VALUE)


def _cheap_equality(args: Sequence[Plan], types: Sequence[Type]) -> bool:
    if any(type_.kind in _SCALARS for type_ in types):
        return True
    return any(arg.kind == CONSTANT and type(arg.value) is str and 0 < len(arg.value) <= 10 for arg in args)


def _metered(
    args: Sequence[Evaluate], implementation: Callable[..., Any], rule: Callable[[Sequence[Any], Any], int]
) -> Evaluate:
    def call(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        result = implementation(*values)
        frame[0] += rule(values, result)
        if frame[0] > frame[1]:
            raise CostExceeded
        return result

    return call


def _membership(value: Evaluate, members: list[Any]) -> Evaluate:
    if all(type(each) is str for each in members):
        names = frozenset(members)

        def among_strings(frame: Frame) -> bool:
            found = value(frame)
            return type(found) is str and found in names

        return among_strings

    def among(frame: Frame) -> bool:
        found = value(frame)
        return any(type(found) is type(each) and found == each for each in members)

    return among


# Operators: each maker returns (evaluate on a frame, implementation on values).
_Made = tuple[Evaluate, Callable[..., Any]]


def _binary(implementation: Callable[[Any, Any], Any]) -> Callable[..., _Made]:
    def make(function: str, args: Sequence[Evaluate], types: Sequence[Type]) -> _Made:
        left, right = args
        return (lambda frame: implementation(left(frame), right(frame))), implementation

    return make


def _unary(implementation: Callable[[Any], Any]) -> Callable[..., _Made]:
    def make(function: str, args: Sequence[Evaluate], types: Sequence[Type]) -> _Made:
        (operand,) = args
        return (lambda frame: implementation(operand(frame))), implementation

    return make


def _equals(function: str, args: Sequence[Evaluate], types: Sequence[Type]) -> _Made:
    left, right = args
    wanted = function == "_==_"

    def compare(a: Any, b: Any) -> bool:
        return equal(a, b) is wanted

    def evaluate(frame: Frame) -> bool:
        a = left(frame)
        b = right(frame)
        kind = type(a)
        if kind is type(b) and (kind is str or kind is int or kind is bool):
            return (a == b) is wanted
        return equal(a, b) is wanted

    return evaluate, compare


def _less(function: str, args: Sequence[Evaluate], types: Sequence[Type]) -> _Made:
    left, right = args

    def compare(a: Any, b: Any) -> bool:
        return ops.order(function, a, b) < 0

    def evaluate(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        if type(a) is int and type(b) is int:
            return a < b
        return ops.order(function, a, b) < 0

    return evaluate, compare


def _less_equals(function: str, args: Sequence[Evaluate], types: Sequence[Type]) -> _Made:
    left, right = args

    def compare(a: Any, b: Any) -> bool:
        return ops.order(function, a, b) <= 0

    def evaluate(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        if type(a) is int and type(b) is int:
            return a <= b
        return ops.order(function, a, b) <= 0

    return evaluate, compare


def _greater(function: str, args: Sequence[Evaluate], types: Sequence[Type]) -> _Made:
    left, right = args

    def compare(a: Any, b: Any) -> bool:
        return ops.order(function, a, b) > 0

    def evaluate(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        if type(a) is int and type(b) is int:
            return a > b
        return ops.order(function, a, b) > 0

    return evaluate, compare


def _greater_equals(function: str, args: Sequence[Evaluate], types: Sequence[Type]) -> _Made:
    left, right = args

    def compare(a: Any, b: Any) -> bool:
        return ops.order(function, a, b) >= 0

    def evaluate(frame: Frame) -> bool:
        a, b = left(frame), right(frame)
        if type(a) is int and type(b) is int:
            return a >= b
        return ops.order(function, a, b) >= 0

    return evaluate, compare


_OPERATORS: dict[str, Callable[..., _Made]] = {
    "_==_": _equals,
    "_!=_": _equals,
    "_<_": _less,
    "_<=_": _less_equals,
    "_>_": _greater,
    "_>=_": _greater_equals,
    "_+_": _binary(ops.add),
    "_-_": _binary(ops.subtract),
    "_*_": _binary(ops.multiply),
    "_/_": _binary(ops.divide),
    "_%_": _binary(ops.modulo),
    "-_": _unary(ops.negate),
    "!_": _unary(ops.invert),
    "@in": _binary(ops.contains),
}


# Everything else: by overload.


def _dispatch(library: Library, node: Call, args: Sequence[Plan], types: Sequence[Type]) -> _Made:
    function = library.function(node.function)
    assert function is not None
    chosen = [function.by_id[each] for each in node.overloads]
    if node.function in _UNGUARDED:
        del chosen[1:]
    elif len(chosen) > 1:
        member = node.target is not None
        chosen = [each for each in function.overloads if each.member is member and len(each.args) == len(args)]
    if len(chosen) == 1 and (node.function in _UNGUARDED or _certain(chosen[0], types)):
        implementation = chosen[0].implementation
        assert implementation is not None, node.function
    else:
        implementation = _guarded(node.function, chosen)
    return _caller(implementation, [arg.evaluate for arg in args]), implementation


def _caller(implementation: Callable[..., Any], args: Sequence[Evaluate]) -> Evaluate:
    if not args:
        return lambda frame: implementation()
    if len(args) == 1:
        (only,) = args
        return lambda frame: implementation(only(frame))
    if len(args) == 2:
        first, second = args
        return lambda frame: implementation(first(frame), second(frame))
    return lambda frame: implementation(*[arg(frame) for arg in args])


def _certain(overload: Overload, types: Sequence[Type]) -> bool:
    """Whether the static types already say that the arguments fit."""
    return all(_sure(wanted, given) for wanted, given in zip(overload.args, types, strict=True))


def _sure(wanted: Type, given: Type) -> bool:
    if wanted.kind in ("dyn", "param"):
        return True
    if wanted.kind != given.kind or wanted.name != given.name:
        return False
    if wanted.kind in ("list", "map"):
        return all(_sure(a, b) for a, b in zip(wanted.params, given.params, strict=True))
    return True


def _guarded(name: str, overloads: Sequence[Overload]) -> Callable[..., Any]:
    rows = tuple((tuple(_guard(arg) for arg in each.args), each.implementation) for each in overloads)

    def call(*values: Any) -> Any:
        for guards, implementation in rows:
            for guard, value in zip(guards, values, strict=True):
                if guard is not None and not guard(value):
                    break
            else:
                assert implementation is not None
                return implementation(*values)
        given = ", ".join(type_of(value).name for value in values)
        raise EvaluationError(f"no such overload: {name}({given})")

    return call


_CLASSES = {kind.name: python for python, kind in KINDS.items() if python not in (tuple, list, dict)}


def _guard(wanted: Type) -> Guard | None:
    if wanted.kind in ("dyn", "param", "any"):
        return None
    if wanted.kind == "list":
        element = _guard(wanted.params[0])
        if element is None:
            return lambda value: isinstance(value, list)
        # As cel-go does, look at the first element only.
        return lambda value: isinstance(value, list) and (not value or element(value[0]))
    if wanted.kind == "map":
        return lambda value: isinstance(value, dict)
    python = _CLASSES.get(wanted.name)
    if python is not None and wanted is not t.TYPE:
        return lambda value: type(value) is python
    name = wanted.name
    return lambda value: type_of(value).name == name
