"""A least and a most, as 64-bit numbers that stop at the largest instead of overflowing."""

from __future__ import annotations

import math
from typing import Final

MAX: Final = 2**64 - 1


class Range:
    """An estimate of a size or a cost; ``|`` is what covers both."""

    __slots__ = ("high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low = min(low, MAX) if low >= 0 else MAX
        # Kubernetes marks "no limit" with -1, which as an unsigned number is the largest.
        self.high = min(high, MAX) if high >= 0 else MAX

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def __or__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((self.low, self.high))

    def __repr__(self) -> str:
        return f"Range({self.low}, {self.high})"

    def scaled(self, factor: float) -> Range:
        return Range(_scaled(self.low, factor), _scaled(self.high, factor))


def _scaled(value: int, factor: float) -> int:
    product = float(value) * factor
    return MAX if product >= 2.0**64 else math.ceil(product)


def fixed(value: int) -> Range:
    return Range(value, value)


FIXED_ONE: Final = fixed(1)
UNKNOWN: Final = Range(0, MAX)
