"""Checks of literals after type checking: durations, timestamps, regular expressions, format strings."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.kube.cel.errors import EvaluationError, Issue
from clusters.kube.cel.syntax import Call, Comprehension, ListExpr, Literal, MapExpr, Node, Select, StructExpr


def validate(tree: Node) -> list[Issue]:
    """What is wrong with literal arguments, in cel-go's words."""
    issues: list[Issue] = []
    for call in _calls(tree):
        if call.function in ("duration", "timestamp", "matches") and call.args:
            literal = call.args[0]
            if isinstance(literal, Literal) and not _valid(call.function, literal.value):
                issues.append(Issue(literal.offset, f"invalid {call.function} argument"))
        elif call.function == "format" and isinstance(call.target, Literal) and len(call.args) == 1:
            from clusters.kube.cel.library.formatting import check_literal

            issues.extend(check_literal(call.target, call.args[0]))
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
            elif isinstance(value, int):
                conversions.int_to_duration(value)
        elif isinstance(value, str):
            conversions.string_to_timestamp(value)
        elif isinstance(value, int):
            conversions.int_to_timestamp(value)
    except EvaluationError:
        return False
    return True


def _calls(node: Node) -> Iterator[Call]:
    if isinstance(node, Call):
        yield node
    for child in children(node):
        yield from _calls(child)


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
