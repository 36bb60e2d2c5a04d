"""Quantities such as ``500m`` and ``1.5Gi``: parsing, order, sums."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from clusters.kube.cel import types as t
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.values import INT_MAX, INT_MIN, Opaque

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)\Z")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO = 10**9
_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX = "unable to parse quantity's suffix"


class Quantity(Opaque):
    """A quantity in billionths; ``scale`` is the power of ten it was stored with, None for big decimals."""

    __slots__ = ("nanos", "scale")
    cel_type = t.QUANTITY

    def __init__(self, nanos: int, scale: int | None) -> None:
        self.nanos = nanos
        self.scale = scale

    def equals(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def as_int(self) -> int | None:
        """The integer that Kubernetes can read off it: ``1000m`` is not one, though it is worth 1."""
        if self.scale is None or self.scale < 0:
            return None
        whole = self.nanos // _NANO
        return whole if INT_MIN <= whole <= INT_MAX else None


def parse_quantity(text: str) -> Quantity:
    match = _SHAPE.match(text)
    if not text or match is None:
        raise EvaluationError(_WRONG)
    sign, whole, fraction, suffix = match.groups()
    fraction = fraction or ""
    binary = _BINARY.get(suffix)
    if binary is not None:
        exponent = 0
    elif suffix in _DECIMAL:
        exponent = _DECIMAL[suffix]
    elif re.fullmatch(r"[eE][+-]?[0-9]+", suffix):
        exponent = int(suffix[1:])
    else:
        raise EvaluationError(_SUFFIX)
    digits = int(whole + fraction or "0")
    trimmed = fraction.rstrip("0")
    power = exponent - len(fraction)
    value = digits << binary if binary is not None else digits
    # Less than a billionth is rounded up.
    shift = power + 9
    nanos = value * 10**shift if shift >= 0 else -(-value // 10**-shift)
    places = len(whole.lstrip("0")) + len(trimmed)
    if binary is not None:
        fast = not trimmed and 15 - len(whole.lstrip("0")) - int(binary * 3 / 10) - 1 >= 0
    else:
        fast = 18 - places >= 0 and exponent - len(trimmed) >= -9
    scale = exponent - len(trimmed) if fast else None
    return Quantity(-nanos if sign == "-" else nanos, scale)


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except EvaluationError:
        return False
    return True


def _as_integer(quantity: Quantity) -> int:
    value = quantity.as_int()
    if value is None:
        raise EvaluationError("cannot convert value to integer")
    return value


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.nanos > right.nanos) - (left.nanos < right.nanos)


def _combined(left: Quantity, right: Quantity, sign: int) -> Quantity:
    scale = None if left.scale is None or right.scale is None else min(left.scale, right.scale)
    return Quantity(left.nanos + sign * right.nanos, scale)


def _approximate(quantity: Quantity) -> float:
    if quantity.scale is None or quantity.scale >= 0:
        return quantity.nanos / _NANO
    unscaled: int = quantity.nanos * 10**-quantity.scale // _NANO
    return unscaled * float(f"1e{quantity.scale}")


def _whole(value: int) -> Quantity:
    return Quantity(value * _NANO, 0)


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "quantity": [("string_to_quantity", "(string): Quantity", parse_quantity)],
    "isQuantity": [("is_quantity_string", "(string): bool", _is_quantity)],
    "sign": [("quantity_sign", "(Quantity): int", lambda q: (q.nanos > 0) - (q.nanos < 0))],
    "isGreaterThan": [("quantity_is_greater_than", "Quantity.(Quantity): bool", lambda a, b: a.nanos > b.nanos)],
    "isLessThan": [("quantity_is_less_than", "Quantity.(Quantity): bool", lambda a, b: a.nanos < b.nanos)],
    "compareTo": [("quantity_compare_to", "Quantity.(Quantity): int", _compare)],
    "asApproximateFloat": [("quantity_get_float", "Quantity.(): double", _approximate)],
    "asInteger": [("quantity_get_int", "Quantity.(): int", _as_integer)],
    "isInteger": [("quantity_is_integer", "Quantity.(): bool", lambda q: q.as_int() is not None)],
    "add": [
        ("quantity_add", "Quantity.(Quantity): Quantity", lambda a, b: _combined(a, b, 1)),
        ("quantity_add_int", "Quantity.(int): Quantity", lambda a, b: _combined(a, _whole(b), 1)),
    ],
    "sub": [
        ("quantity_sub", "Quantity.(Quantity): Quantity", lambda a, b: _combined(a, b, -1)),
        ("quantity_sub_int", "Quantity.(int): Quantity", lambda a, b: _combined(a, _whole(b), -1)),
    ],
}
