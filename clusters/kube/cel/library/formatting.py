"""``string.format``: printf-like clauses, and the check of literal format strings at compile time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clusters.kube.cel import types as t
from clusters.kube.cel.errors import EvaluationError, Issue
from clusters.kube.cel.library import conversions
from clusters.kube.cel.operators import go_float
from clusters.kube.cel.syntax import ListExpr, MapExpr, Node
from clusters.kube.cel.types import Type
from clusters.kube.cel.values import Duration, Timestamp, Uint, type_of

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_EXCEPTIONS = ("NaN", "Infinity", "-Infinity")
_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip

_WORDS = {
    "b": "only integers and bools can be formatted as binary",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
    "e": "scientific clause can only be used on doubles",
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
    " timestamps",
}
_ALLOWED = {
    "b": {"int", "uint", "bool"}, "d": {"int", "uint"}, "f": {"double", "string"}, "e": {"double", "string"},
    "x": {"int", "uint", "string", "bytes"}, "o": {"int", "uint"},
    "s": {"list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"},
}  # fmt: skip


class _FormatError(ValueError):
    """Something is wrong with the format or an argument; ``culprit`` is the node, when checking."""

    def __init__(self, message: str, culprit: Node | None = None) -> None:
        super().__init__(message)
        self.culprit = culprit


def go_quote(text: str) -> str:
    """A string as Go's %q prints it."""
    out = ['"']
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        else:
            code = ord(char)
            out.append(f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    out.append('"')
    return "".join(out)


def _clauses(text: str, count: int, emit: Callable[[str, int | None, int], str]) -> str:
    """Walk the format, calling ``emit(verb, precision, argument index)`` for each clause."""
    out: list[str] = []
    at = used = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "%":
            out.append(char)
            continue
        if text[at : at + 1] == "%":
            out.append("%")
            at += 1
            continue
        if at >= len(text):
            raise _FormatError("unexpected end of string" if used < count else f"index {used} out of range")
        if used >= count:
            raise _FormatError(f"index {used} out of range")
        precision: int | None = None
        if text[at] == ".":
            end = at + 1
            while end < len(text) and text[end].isascii() and text[end].isdigit():
                end += 1
            wrong = "could not parse formatting clause: error while parsing precision: "
            if end >= len(text):
                raise _FormatError(wrong + "could not find end of precision specifier")
            if end == at + 1:
                raise _FormatError(
                    wrong + 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
                )
            precision = int(text[at + 1 : end])
            at = end
        verb = text[at]
        at += 1
        if verb not in "sdfebxXo":
            raise _FormatError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
        out.append(emit(verb, precision, used))
        used += 1
    return "".join(out)


def format_string(text: str, args: list[Any]) -> str:
    def emit(verb: str, precision: int | None, index: int) -> str:
        return _formatted(verb, precision, args[index])

    try:
        return _clauses(text, len(args), emit)
    except _FormatError as error:
        raise EvaluationError(str(error)) from error


def _wrong(verb: str, type_: Type, culprit: Node | None = None) -> _FormatError:
    return _FormatError(f"error during formatting: {_WORDS[verb.lower()]}, was given {type_.name}", culprit)


def _formatted(verb: str, precision: int | None, value: Any) -> str:
    kind = type(value)
    if verb == "s":
        return _string(value)
    if type_of(value).kind not in _ALLOWED[verb.lower()]:
        raise _wrong(verb, type_of(value))
    if verb == "d":
        return str(int(value))
    if verb == "b":
        return format(int(value), "b")
    if verb == "o":
        return format(int(value), "o")
    if verb in "xX":
        if kind is int or kind is Uint:
            return format(int(value), verb)
        text = (value.encode() if kind is str else value).hex()
        return str(text.upper() if verb == "X" else text)
    if kind is str:
        if value not in _EXCEPTIONS:
            raise _wrong(verb, t.STRING)
        value = float(value)
    return _fixed(value, 6 if precision is None else precision) if verb == "f" else _scientific(value)


def _fixed(value: float, precision: int) -> str:
    # cel-go prints through an en_US number formatter.
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.{precision}f}"


def _scientific(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return _fixed(value, 0)
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    power = exponent.lstrip("+").translate(_SUPERSCRIPT)
    return f"{mantissa}×10{power}"


def _string(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is Uint:
        return str(int(value))
    if kind is float:
        return go_float(value)
    if kind is bytes:
        return conversions.bytes_to_string(value)
    if kind is Timestamp:
        return conversions.timestamp_to_string(value)
    if kind is Duration:
        return conversions.duration_to_string(value)
    if kind is Type:
        return str(value.name)
    if isinstance(value, list):
        return "[" + ", ".join(_nested(item) for item in value) + "]"
    if isinstance(value, dict):
        pairs = sorted((_key(key), _nested(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
    raise _wrong("s", type_of(value))


def _key(key: Any) -> str:
    if type(key) is str:
        return go_quote(key)
    if type(key) in (bool, int, Uint):
        return _string(key)
    raise _FormatError(f"error during formatting: no formatting function for map key of type {type_of(key).name}")


def _nested(value: Any) -> str:
    """An element of a list or map: quoted, so that it reads like CEL."""
    kind = type(value)
    if kind is str:
        return go_quote(value)
    if kind is bytes:
        return "b" + go_quote(_string(value))
    if kind is float:
        if math.isnan(value) or math.isinf(value):
            return go_quote(go_float(value))
        return f"{value:.6f}"
    if kind is Timestamp or kind is Duration:
        return f"{'timestamp' if kind is Timestamp else 'duration'}({go_quote(_string(value))})"
    if kind not in (bool, int, Uint, type(None), Type) and not isinstance(value, (list, dict)):
        raise _FormatError(f"error during formatting: no formatting function for {type_of(value).name}")
    return _string(value)


def check_literal(offset: int, text: str, args: ListExpr, final: Callable[[Node], Type]) -> list[Issue]:
    """What is wrong with a literal format and its literal list of arguments (``offset`` is the call's)."""
    seen = 0

    def emit(verb: str, precision: int | None, index: int) -> str:
        nonlocal seen
        seen += 1
        _check(verb, args.elements[index], final)
        return ""

    try:
        _clauses(text, len(args.elements), emit)
    except _FormatError as error:
        at = error.culprit.offset if error.culprit is not None else offset
        return [Issue(at, str(error))]
    if len(args.elements) > seen:
        given = len(args.elements)
        return [Issue(offset, f"too many arguments supplied to string.format (expected {seen}, got {given})")]
    return []


def _check(verb: str, node: Node, final: Callable[[Node], Type]) -> None:
    type_ = final(node)
    if type_.kind not in ("dyn", "any") and type_.kind not in _ALLOWED[verb.lower()]:
        raise _wrong(verb, type_, node)
    if verb != "s":
        return
    if isinstance(node, ListExpr):
        for element in node.elements:
            _check(verb, element, final)
    elif isinstance(node, MapExpr):
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            _check(verb, entry.key, final)
            _check(verb, entry.value, final)


__all__ = ["check_literal", "format_string", "go_quote"]
