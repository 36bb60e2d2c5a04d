"""Values such as `maxSurge: 25%`: a number, or a share of a total.

>>> scaled_value("25%", 10, round_up=True), scaled_value("25%", 10, round_up=False)
(3, 2)
"""

from __future__ import annotations

import math

from clusters.kube.gostring import quote


class IntOrPercentError(ValueError):
    """Neither a number nor a percentage; `str()` is what Kubernetes says about it."""


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """Raises IntOrPercentError."""
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    if number == value:
        raise IntOrPercentError("invalid value for IntOrString: invalid type: string is not a percentage")
    digits = number[1:] if number[:1] in ("+", "-") else number
    if not digits.isascii() or not digits.isdigit():
        wrong = f"strconv.Atoi: parsing {quote(number)}: invalid syntax"
        raise IntOrPercentError(f"invalid value for IntOrString: invalid value {quote(value)}: {wrong}")
    share = int(number) * total / 100
    return math.ceil(share) if round_up else math.floor(share)
