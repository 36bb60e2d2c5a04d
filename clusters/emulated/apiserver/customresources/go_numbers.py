"""Numbers as Go reads them from JSON and prints them in messages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

_INT64 = 2**63
_JSON_INTEGER_MAX = 2**53 - 1


def go_float(value: int | float) -> str:
    """`%v` of a number: integers as they are, floats in the shortest form, from 1e+06 on with an exponent."""
    if value.__class__ is int:
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "schemas hold finite numbers"
    point = len(digits) + exponent - 1
    text = "".join(map(str, digits))
    minus = "-" if sign else ""
    if point < -4 or point >= 6:
        head = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
        return f"{minus}{head}e{'-' if point < 0 else '+'}{abs(point):02d}"
    return minus + (f"{Decimal(text).scaleb(exponent):f}")


def is_json_integer(value: float) -> bool:
    """Whether a float is a whole number, up to rounding, that JSON can hold exactly."""
    if abs(value) > _JSON_INTEGER_MAX:
        return False
    whole = float(int(value))
    return value == whole or abs(value - whole) / (abs(value) + abs(whole)) < 1e-9


def as_go_reads(value: Any) -> Any:
    """A copy of JSON in which whole floats are integers and integers beyond 64 bits are floats."""
    kind = value.__class__
    if kind is dict:
        return {name: as_go_reads(each) for name, each in value.items()}
    if kind is list:
        return [as_go_reads(each) for each in value]
    if kind is float and value.is_integer() and -1e15 < value < 1e15:
        return int(value)
    if kind is int and not -_INT64 <= value < _INT64:
        return float(value)
    return value
