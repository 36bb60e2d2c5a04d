"""Arithmetic, order and membership on dynamic values, with cel-go's overflow and overload errors."""

from __future__ import annotations

import math
from typing import Any

from clusters.kube.cel import types as t
from clusters.kube.cel.errors import EvaluationError, no_such_overload
from clusters.kube.cel.values import (
    ABSENT,
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    Uint,
    compare,
    equal,
    find_key,
    type_of,
)

MIN_UNIX, MAX_UNIX = -62135596800, 253402300799
_NANOS = 10**9


# cel-go asks these types whether they know the function, and they answer without its name.
_RECEIVERS = (str, Timestamp, Duration)


def missing(function: str, value: Any) -> EvaluationError:
    """The error for an operand whose type has no such operator at all."""
    if isinstance(value, _RECEIVERS):
        return no_such_overload()
    return EvaluationError(f"no such overload: {function}")


def _overflow(what: str) -> EvaluationError:
    return EvaluationError(f"{what} overflow")


def checked_int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise _overflow("integer")


def checked_uint(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise _overflow("unsigned integer")


def checked_duration(nanos: int) -> Duration:
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise _overflow("integer")


def checked_timestamp(nanos: int, offset_s: int = 0) -> Timestamp:
    if MIN_UNIX <= nanos // _NANOS <= MAX_UNIX:
        return Timestamp(nanos, offset_s)
    raise _overflow("timestamp")


def add(left: Any, right: Any) -> Any:
    kind, other = type(left), type(right)
    if kind is int:
        if other is int:
            return checked_int(left + right)
    elif kind is str or kind is float or kind is bytes:
        if other is kind:
            return left + right
    elif kind is Uint:
        if other is Uint:
            return checked_uint(int(left) + int(right))
    elif kind is Duration:
        if other is Duration:
            return checked_duration(left.nanos + right.nanos)
        if other is Timestamp:
            return checked_timestamp(right.nanos + left.nanos, right.offset_s)
    elif kind is Timestamp:
        if other is Duration:
            return checked_timestamp(left.nanos + right.nanos, left.offset_s)
    elif isinstance(left, list):
        if isinstance(right, list):
            own = getattr(left, "cel_add", None)
            return own(right) if own is not None else [*left, *right]
    else:
        raise missing("_+_", left)
    raise no_such_overload()


def subtract(left: Any, right: Any) -> Any:
    kind, other = type(left), type(right)
    if kind is int:
        if other is int:
            return checked_int(left - right)
    elif kind is float:
        if other is float:
            return left - right
    elif kind is Uint:
        if other is Uint:
            return checked_uint(int(left) - int(right))
    elif kind is Duration:
        if other is Duration:
            return checked_duration(left.nanos - right.nanos)
    elif kind is Timestamp:
        if other is Duration:
            return checked_timestamp(left.nanos - right.nanos, left.offset_s)
        if other is Timestamp:
            return checked_duration(left.nanos - right.nanos)
    else:
        raise missing("_-_", left)
    raise no_such_overload()


def multiply(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind not in (int, float, Uint):
        raise missing("_*_", left)
    if kind is not type(right):
        raise no_such_overload()
    if kind is float:
        return left * right
    product = int(left) * int(right)
    return checked_int(product) if kind is int else checked_uint(product)


def divide(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind not in (int, float, Uint):
        raise missing("_/_", left)
    if kind is not type(right):
        raise no_such_overload()
    if kind is float:
        return _divide_float(left, right)
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    if kind is Uint:
        return Uint(quotient)
    return checked_int(-quotient if (left < 0) != (right < 0) else quotient)


def _divide_float(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is not int and kind is not Uint:
        raise missing("_%_", left)
    if kind is not type(right):
        raise no_such_overload()
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise _overflow("integer")
    remainder = abs(left) % abs(right)
    if kind is Uint:
        return Uint(remainder)
    return -remainder if left < 0 else remainder


def negate(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return checked_int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return checked_duration(-value.nanos)
    if kind is bool:
        raise no_such_overload()
    raise missing("-_", value)


def invert(value: Any) -> bool:
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload()


_ORDERED = frozenset(
    type_.name for type_ in (t.BOOL, t.INT, t.UINT, t.DOUBLE, t.STRING, t.BYTES, t.TIMESTAMP, t.DURATION)
)


def order(function: str, left: Any, right: Any) -> int:
    """``compare`` for an operator, which says its own name when the left side has no order at all."""
    if type_of(left).name not in _ORDERED:
        raise missing(function, left)
    return compare(left, right)


def contains(value: Any, container: Any) -> bool:
    """The ``in`` operator."""
    if isinstance(container, list):
        if type(value) is str:
            return value in container
        return any(equal(value, element) for element in container)
    if isinstance(container, dict):
        return find_key(container, value) is not ABSENT
    raise no_such_overload()


def checked_index(value: Any) -> int:
    """A list index from an int, a uint or a whole double."""
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is Uint:
        return int(value)
    if kind is float:
        if value.is_integer():
            return int(value)
        raise EvaluationError(f"unsupported index value {go_float(value)} in list")
    raise EvaluationError(f"unsupported index type '{type_of(value)}' in list")


def go_float(value: float) -> str:
    """A double as Go's %v / %g prints it: shortest, with an exponent below 1e-4 and from 1e6 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1.0, value) < 0 else "0"
    digits, exponent = f"{value!r}", 0
    mantissa = digits
    if "e" in digits:
        mantissa, _, power = digits.partition("e")
        exponent = int(power)
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    all_digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len((whole + fraction).lstrip("0"))
    point = len(whole) + exponent - leading
    all_digits = all_digits.rstrip("0") or "0"
    scientific = point - 1
    if scientific < -4 or scientific >= 6:
        tail = f".{all_digits[1:]}" if len(all_digits) > 1 else ""
        mark = "-" if scientific < 0 else "+"
        return f"{sign}{all_digits[0]}{tail}e{mark}{abs(scientific):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{all_digits}"
    if point >= len(all_digits):
        return f"{sign}{all_digits}{'0' * (point - len(all_digits))}"
    return f"{sign}{all_digits[:point]}.{all_digits[point:]}"


def go_fixed(value: float) -> str:
    """A double as Go's FormatFloat(v, 'f', -1, 64): shortest, never an exponent."""
    text = f"{value!r}"
    if "e" not in text:
        return text[:-2] if text.endswith(".0") else text
    from decimal import Decimal

    fixed = format(Decimal(text), "f")
    return fixed.rstrip("0").rstrip(".") if "." in fixed else fixed
