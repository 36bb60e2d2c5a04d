"""Checks of literals after type checking: durations, timestamps, regular expressions, format strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clusters.kube.cel.errors import EvaluationError, Issue
from clusters.kube.cel.syntax import Call, Comprehension, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from clusters.kube.cel.types import Type, shown

Final = Callable[[Node], Type]


def validate(tree: Node, final: Final) -> list[Issue]:
    """What is wrong with literals, in cel-go's words; ``final`` gives the type of a node."""
    issues: list[Issue] = []
    for node, exempt in _walk(tree, False):
        if isinstance(node, Call):
            issues.extend(_call(node, final))
        elif isinstance(node, ListExpr):
            if not exempt:
                issues.extend(_list(node, final))
        elif isinstance(node, MapExpr) and not exempt:
            issues.extend(_map(node, final))
    return issues


def _call(call: Call, final: Final) -> list[Issue]:
    if call.function in ("duration", "timestamp", "matches") and call.args:
        literal = call.args[0]
        if isinstance(literal, Literal) and not _valid(call.function, literal.value):
            return [Issue(literal.offset, f"invalid {call.function} argument")]
    elif call.function == "format" and isinstance(call.target, Literal) and len(call.args) == 1:
        return _format(call.offset, call.target.value, call.args[0], final)
    return []


def _format(offset: int, text: object, args: Node, final: Final) -> list[Issue]:
    if not isinstance(text, str) or not isinstance(args, ListExpr):
        return []
    from clusters.kube.cel.library.formatting import check_literal

    return check_literal(offset, text, args, final)


def _mismatch(node: Node, expected: Type, actual: Type) -> Issue:
    return Issue(node.offset, f"expected type '{shown(expected)}' but found '{shown(actual)}'")


def _entry_type(node: Node, optional: bool, final: Final) -> Type:
    type_ = final(node)
    return type_.params[0] if optional and type_.params else type_


def _list(node: ListExpr, final: Final) -> list[Issue]:
    first: Type | None = None
    for index, element in enumerate(node.elements):
        type_ = _entry_type(element, index in node.optional, final)
        if first is None:
            first = type_
        elif not first.same(type_):
            return [_mismatch(element, first, type_)]
    return []


def _map(node: MapExpr, final: Final) -> list[Issue]:
    issues: list[Issue] = []
    first: tuple[Type, Type] | None = None
    for entry in node.entries:
        assert isinstance(entry.key, Node)
        types = final(entry.key), _entry_type(entry.value, entry.optional, final)
        if first is None:
            first = types
            continue
        for part, expected, actual in zip((entry.key, entry.value), first, types, strict=True):
            if not expected.same(actual):
                issues.append(_mismatch(part, expected, actual))
    return issues


def _valid(function: str, value: object) -> bool:
    from clusters.kube.cel.library import conversions
    from clusters.kube.cel.regex import compile_re2

    try:
        if function == "matches":
            if isinstance(value, str):
                compile_re2(value)
        elif function == "duration":
            if isinstance(value, str):
                conversions.string_to_duration(value)
            else:
                return False
        elif isinstance(value, str):
            conversions.string_to_timestamp(value)
        elif isinstance(value, int):
            conversions.int_to_timestamp(value)
        else:
            return False
    except EvaluationError:
        return False
    return True


def _walk(node: Node, exempt: bool) -> Iterator[tuple[Node, bool]]:
    """Every node, and whether it stands inside a format() call, whose arguments may be mixed."""
    yield node, exempt
    exempt = exempt or (isinstance(node, Call) and node.function == "format")
    for child in children(node):
        yield from _walk(child, exempt)


def children(node: Node) -> Iterator[Node]:
    """The nodes right below a node."""
    if isinstance(node, Call):
        if node.target is not None:
            yield node.target
        yield from node.args
    elif isinstance(node, Select):
        if node.qualified is None:
            yield node.operand
    elif isinstance(node, ListExpr):
        yield from node.elements
    elif isinstance(node, MapExpr):
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            yield entry.key
            yield entry.value
    elif isinstance(node, StructExpr):
        for entry in node.fields:
            yield entry.value
    elif isinstance(node, Comprehension):
        yield node.range
        yield node.accu
        yield node.step
        yield node.result
