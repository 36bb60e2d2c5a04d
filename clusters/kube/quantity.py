"""Resource quantities: `500m`, `1.5Gi`, `1e3`, exactly as Kubernetes reads, keeps and re-emits them.

    >>> canonical("1000m"), canonical("0.5"), canonical("1.5Gi")
    ('1', '500m', '1536Mi')

A Quantity is `value` times ten to the `scale`, with the notation it was written in. It is immutable;
arithmetic gives new ones. Finer than a billionth is rounded away from zero when it is read.
"""

from __future__ import annotations

import re
from functools import lru_cache

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

_INT64_MAX = (1 << 63) - 1
# Up to this many decimal digits Kubernetes keeps the number in one word, and with it the text as written.
_WORD_DIGITS = 18
_NANO = -9

_shape = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)").fullmatch

_DECIMAL = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()}


class QuantityError(ValueError):
    """The text is no quantity; `str()` is what Kubernetes says about it."""


_WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"


class Quantity:
    """One amount. Equality and order are by amount, not by notation."""

    __slots__ = ("_nanos", "_text", "format", "scale", "unscaled")

    def __init__(self, unscaled: int, scale: int = 0, format: str = DECIMAL_SI, text: str = "") -> None:
        self.unscaled = unscaled
        self.scale = scale
        self.format = format
        self._text = text
        self._nanos: int | None = None

    @property
    def nanos(self) -> int:
        """The exact amount in billionths."""
        if self._nanos is None:
            self._nanos = self.unscaled * 10 ** (self.scale - _NANO)
        return self._nanos

    def __str__(self) -> str:
        if not self._text:
            self._text = self._emit()
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _emit(self) -> str:
        if not self.unscaled:
            return "0"
        if self.format == BINARY_SI:
            whole, rest = divmod(self.nanos, 10**9)
            if rest == 0 and not -1024 < whole < 1024:
                exponent = 0
                while whole % 1024 == 0:
                    whole //= 1024
                    exponent += 10
                return f"{whole}{_BINARY_SUFFIX.get(exponent, '')}"
        number, exponent = self.unscaled, self.scale
        while number % 10 == 0:
            number //= 10
            exponent += 1
        while exponent % 3:
            number *= 10
            exponent -= 1
        if self.format == DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Quantity) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Quantity) -> bool:
        return self.nanos >= other.nanos

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def is_zero(self) -> bool:
        return self.unscaled == 0

    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def __add__(self, other: Quantity) -> Quantity:
        format = self.format if self.unscaled else other.format
        scale = min(self.scale, other.scale)
        total = self.unscaled * 10 ** (self.scale - scale) + other.unscaled * 10 ** (other.scale - scale)
        return Quantity(total, scale, format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.scale, self.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def rounded_up(self, scale: int) -> Quantity:
        """In whole ten-to-the-`scale`, away from zero; itself where nothing is finer."""
        if self.scale >= scale:
            return self
        return Quantity(self._units(scale), scale, self.format)

    def _units(self, scale: int) -> int:
        if self.scale >= scale:
            return int(self.unscaled * 10 ** (self.scale - scale))
        magnitude = int(-(-abs(self.unscaled) // 10 ** (scale - self.scale)))
        return -magnitude if self.unscaled < 0 else magnitude

    def scaled_value(self, scale: int) -> int:
        """How many ten-to-the-`scale` it is, rounded away from zero; 0 where that does not fit 64 bits."""
        result = self._units(scale)
        return result if -_INT64_MAX - 1 <= result <= _INT64_MAX else 0

    def value(self) -> int:
        return self.scaled_value(0)

    def milli_value(self) -> int:
        return self.scaled_value(-3)

    def is_integer(self) -> bool:
        """No fraction: what `milli_value() % 1000 == 0` asks, for any size."""
        return self.milli_value() % 1000 == 0


ZERO = Quantity(0, 0, DECIMAL_SI, "0")


@lru_cache(maxsize=8192)
def parse(text: str) -> Quantity:
    """Raises QuantityError."""
    if text == "0":
        return ZERO
    found = _shape(text)
    if not text or found is None:
        raise QuantityError(_WRONG_FORMAT)
    sign, number, fraction, suffix = found.groups()
    fraction = fraction or ""
    number = number or "0"
    if suffix in _DECIMAL:
        return _parse_decimal(text, sign, number, fraction, _DECIMAL[suffix], DECIMAL_SI)
    if suffix in _BINARY:
        return _parse_binary(text, sign, number, fraction, _BINARY[suffix])
    if len(suffix) > 1 and suffix[0] in "eE":
        try:
            exponent = int(suffix[1:])
        except ValueError:
            raise QuantityError(_WRONG_SUFFIX) from None
        return _parse_decimal(text, sign, number, fraction, exponent, DECIMAL_EXPONENT)
    raise QuantityError(_WRONG_SUFFIX)


def _parse_decimal(text: str, sign: str, number: str, fraction: str, exponent: int, format: str) -> Quantity:
    digits = number + fraction
    amount = -int(digits) if sign == "-" else int(digits)
    scale = exponent - len(fraction)
    if len(digits) <= _WORD_DIGITS and scale >= _NANO:
        kept = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        return Quantity(amount, scale, format, text if kept else "")
    return _rounded(amount, scale, format)


def _parse_binary(text: str, sign: str, number: str, fraction: str, exponent: int) -> Quantity:
    digits = number + fraction
    amount = -int(digits) if sign == "-" else int(digits)
    if not fraction and 14 - len(number) - exponent * 3 // 10 >= 0:
        return Quantity(amount << exponent, 0, BINARY_SI, text if int(digits) & 7 else "")
    exact = _rounded(amount << exponent, -len(fraction), BINARY_SI)
    limit = _INT64_MAX * 10**9
    if abs(exact.nanos) > limit:
        return Quantity(-_INT64_MAX if amount < 0 else _INT64_MAX, 0, BINARY_SI)
    if 0 < abs(exact.nanos) < 10**9:
        return Quantity(exact.unscaled, exact.scale, DECIMAL_SI)
    return exact


def _rounded(amount: int, scale: int, format: str) -> Quantity:
    if scale >= _NANO:
        return Quantity(amount, scale, format)
    divisor = 10 ** (_NANO - scale)
    magnitude = -(-abs(amount) // divisor)
    return Quantity(-magnitude if amount < 0 else magnitude, _NANO, format)


@lru_cache(maxsize=8192)
def canonical(text: str) -> str:
    """The text Kubernetes stores for `text`. Raises QuantityError."""
    return str(parse(text.strip()))


def error(text: str) -> str:
    """Why `text` is no quantity; empty if it is one."""
    try:
        parse(text)
    except QuantityError as wrong:
        return str(wrong)
    return ""
