"""Estimates for the functions of the Kubernetes libraries and of cel-go's list and set extensions.

An estimate is (cost, size of the result or None); None means that the general rules apply.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusters.kube.cel.costs import LIST_COST, REGEX_FACTOR, STRING_FACTOR, STRUCT_COST
from clusters.kube.cel.ranges import FIXED_ONE, MAX, Range, fixed
from clusters.kube.cel.syntax import Literal

if TYPE_CHECKING:
    from clusters.kube.cel.estimates import Operand

Estimate = tuple[Range, "Range | None"]

_ONE = frozenset(
    [
        "serviceAccount",
        "path",
        "group",
        "resource",
        "subresource",
        "namespace",
        "name",
        "allowed",
        "reason",
        "error",
        "errored",
        "masked",
        "prefixLength",
        "family",
        "isUnspecified",
        "isLoopback",
        "isLinkLocalMulticast",
        "isLinkLocalUnicast",
        "isGlobalUnicast",
        "format.named",
        "sign",
        "asInteger",
        "isInteger",
        "asApproximateFloat",
        "isGreaterThan",
        "isLessThan",
        "compareTo",
        "add",
        "sub",
        "major",
        "minor",
        "patch",
        "getScheme",
        "getHostname",
        "getHost",
        "getPort",
        "getEscapedPath",
        "getQuery",
    ]
)
_PARSES_ARGUMENT = frozenset({"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"})
_LIST_WALKS = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_SORTS = frozenset({"distinct", "sort", "@sortByAssociatedKeys"})
_UNIT_EQUALITY = frozenset(
    {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}
    | {
        f"kubernetes.authorization.{name}"
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    }
)
_ADDRESS = Range(4, 16)
# The longest regular expression and name of a named format.
_MAX_FORMAT_REGEX, _MAX_FORMAT_NAME = 128, 64


def call_estimate(function: str, overload: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    extension = _extension(function, target, args)
    if extension is not None:
        return extension
    if function in _ONE:
        return FIXED_ONE, None
    if function == "check":
        return fixed(350000), None
    if function in ("fieldSelector", "labelSelector") and len(args) == 1:
        length = args[0].known
        requirements = length.scaled(0.5).scaled(float(LIST_COST + STRUCT_COST))
        return fixed(LIST_COST) + length.scaled(STRING_FACTOR) + requirements, None
    if function in ("url", "jsonpatch.escapeKey") and len(args) == 1:
        return args[0].known.scaled(STRING_FACTOR), args[0].known
    if function in _PARSES_ARGUMENT and args:
        return args[0].known.scaled(STRING_FACTOR), None
    if function == "ip.isCanonical" and args:
        return args[0].known.scaled(2 * STRING_FACTOR), None
    if function == "ip":
        return (FIXED_ONE if overload == "cidr_ip" else args[0].known.scaled(STRING_FACTOR)), None
    if function in ("containsIP", "containsCIDR") and args:
        return _contains(function, overload, args[0]), None
    if function == "validate" and args:
        return args[0].known.scaled(STRING_FACTOR).scaled(_MAX_FORMAT_REGEX * REGEX_FACTOR), None
    if function == "_==_" and len(args) == 2:
        return _equality(args)
    return _of_target(function, target, args) if target is not None else None


def _of_target(function: str, target: Operand, args: list[Operand]) -> Estimate | None:
    size = target.known
    if function in _LIST_WALKS:
        element = target.element()
        if element is None:
            return size.scaled(STRING_FACTOR), None
        each = FIXED_ONE
        if element[0].kind in ("string", "bytes"):
            each += element[1].scaled(STRING_FACTOR)
        return size * each, None
    if function in ("lowerAscii", "upperAscii", "substring", "trim"):
        return size.scaled(STRING_FACTOR), size
    if function == "replace" and len(args) >= 2:
        return size.scaled(2 * STRING_FACTOR), _replaced(size, args[0].known, args[1].known)
    if function == "split":
        most = size.high
        if len(args) > 1 and isinstance(args[1].node, Literal) and isinstance(args[1].node.value, int):
            most = args[1].node.value
        return size.scaled(2 * STRING_FACTOR), Range(0, most)
    if function == "join":
        element = target.element()
        joined = size * element[1] if element is not None else fixed(0)
        if args:
            joined += args[0].known * Range(max(size.low - 1, 0), max(size.high - 1, 0))
        return joined.scaled(STRING_FACTOR), joined
    if function in ("find", "findAll") and args:
        text = (size + FIXED_ONE).scaled(STRING_FACTOR)
        return text * args[0].known.scaled(REGEX_FACTOR), Range(0, size.high)
    return None


def _replaced(size: Range, old: Range, new: Range) -> Range:
    """The size after replacing ``old`` by ``new`` in a text of ``size``."""
    most, kept_most = 0, 0
    if old.low == 0:
        most, kept_most = min(size.high + 1, MAX), size.high
    elif new.high <= old.low:
        kept_most = size.high
    else:
        most = math.ceil(float(size.high) / float(old.low))
    least, kept_least = 0, 0
    if old.high == 0:
        least, kept_least = min(size.low + 1, MAX), size.low
    elif old.high <= new.low:
        kept_least = size.low
    else:
        least = math.ceil(float(size.low) / float(old.high))
    return Range(least, most) * new + Range(kept_least, kept_most)


def _contains(function: str, overload: str, other: Operand) -> Range:
    cost = (_ADDRESS + _ADDRESS).scaled(STRING_FACTOR)
    if function == "containsCIDR":
        cost += _ADDRESS.scaled(STRING_FACTOR) + FIXED_ONE
    if overload.endswith("_string"):
        cost += other.known.scaled(STRING_FACTOR)
    return cost


def _equality(args: list[Operand]) -> Estimate | None:
    left, right = args
    if left.type.name != right.type.name:
        return None
    if left.type.name in _UNIT_EQUALITY:
        return FIXED_ONE, None
    if left.type.name == "kubernetes.NamedFormat":
        return Range(1, _MAX_FORMAT_NAME).scaled(STRING_FACTOR), None
    if left.type.name == "kubernetes.URL":
        return Range(1, right.size.high if right.size is not None else 1).scaled(STRING_FACTOR), None
    return None


def _integer(operand: Operand, default: int) -> int:
    value = operand.node.value if isinstance(operand.node, Literal) else None
    return max(value, 0) if type(value) is int else default


def _extension(function: str, target: Operand | None, args: list[Operand]) -> Estimate | None:
    """cel-go's lists and sets: a call, a new list, and a factor of its size."""
    if function.startswith("sets.") and len(args) == 2:
        factor = 2.0 if function == "sets.equivalent" else 1.0
        return (args[0].known * args[1].known).scaled(factor) + FIXED_ONE, None
    if function == "lists.range" and args:
        return _allocated(fixed(_integer(args[0], MAX)))
    if target is None:
        return None
    size = target.known
    if function == "slice" and len(args) == 2:
        return _allocated(fixed(_integer(args[1], size.high) - _integer(args[0], 0)))
    if function == "reverse":
        return _allocated(size)
    if function == "flatten":
        return _allocated(size, float(_integer(args[0], MAX)) if args else 1.0)
    if function in _SORTS:
        keys = args[0] if args else target
        element = keys.type.params[0].kind if keys.type.params else ""
        factor = 2.0 + (STRING_FACTOR if element in ("string", "bytes") and function != "distinct" else 0.0)
        return _allocated(size * size, factor)
    return None


def _allocated(size: Range, factor: float = 1.0) -> Estimate:
    return size.scaled(factor) + FIXED_ONE + fixed(LIST_COST), size
