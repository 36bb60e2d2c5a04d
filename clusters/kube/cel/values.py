"""CEL values as Python values, and what CEL says about equality, order and size.

null, bool, int, double, string, bytes, list and map are the native types; uint, timestamp, duration,
optional and the opaque Kubernetes types are classes here or beside their library. JSON needs no
conversion.
"""

from __future__ import annotations

from typing import Any, Final

from clusters.kube.cel import types as t
from clusters.kube.cel.errors import EvaluationError, no_such_overload
from clusters.kube.cel.types import Type

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned 64-bit integer; a class of its own because CEL does not add it to an int."""

    __slots__ = ()


class Duration:
    """A length of time in nanoseconds."""

    __slots__ = ("nanos",)
    cel_type = t.DURATION

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("duration", self.nanos))

    def __repr__(self) -> str:
        return f"Duration({self.nanos})"


class Timestamp:
    """A point in time: nanoseconds since 1970 in UTC, and the offset it was written with (for printing)."""

    __slots__ = ("nanos", "offset_s")
    cel_type = t.TIMESTAMP

    def __init__(self, nanos: int, offset_s: int = 0) -> None:
        self.nanos = nanos
        self.offset_s = offset_s

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("timestamp", self.nanos))

    def __repr__(self) -> str:
        return f"Timestamp({self.nanos})"


class Optional:
    """A value or none; compare with NONE by identity."""

    __slots__ = ("value",)
    cel_type = t.OPTIONAL

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "optional.none()" if self is NONE else f"optional({self.value!r})"


NONE: Final = Optional(None)


class Opaque:
    """Base of values that only functions can look into; ``cel_type`` is their type."""

    __slots__ = ()
    cel_type: Type = t.DYN

    def equals(self, other: object) -> bool:
        return self == other

    def is_zero(self) -> bool:
        return False


KINDS: Final[dict[type, Type]] = {
    bool: t.BOOL,
    int: t.INT,
    Uint: t.UINT,
    float: t.DOUBLE,
    str: t.STRING,
    bytes: t.BYTES,
    type(None): t.NULL,
    list: t.LIST,
    tuple: t.LIST,
    dict: t.MAP,
    Type: t.TYPE,
}


def type_of(value: Any) -> Type:
    """The runtime type of a value."""
    known = KINDS.get(type(value))
    if known is not None:
        return known
    cel_type = getattr(value, "cel_type", None)
    if cel_type is not None:
        assert isinstance(cel_type, Type)
        return cel_type
    if isinstance(value, list):
        return t.LIST
    if isinstance(value, dict):
        return t.MAP
    raise EvaluationError(f"unsupported conversion to ref.Val: ({type(value).__name__}){value}")


_NUMBERS: Final = frozenset({int, float, Uint})


def equal(left: Any, right: Any) -> bool:
    """CEL's ``==``: numbers across types, everything else only with its own type."""
    kind = type(left)
    if kind is type(right):
        if kind is list:
            return len(left) == len(right) and all(map(equal, left, right))
        if kind is dict:
            return _equal_maps(left, right)
        if kind is Optional:
            if left is NONE or right is NONE:
                return left is right
            return equal(left.value, right.value)
        if isinstance(left, Opaque):
            return left.equals(right)
        own = getattr(left, "cel_equal", None)
        return bool(own(right)) if own is not None else bool(left == right)
    if kind in _NUMBERS and type(right) in _NUMBERS:
        return bool(left == right)
    own = getattr(left, "cel_equal", None)
    if own is not None:
        return bool(own(right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_maps(left, right)
    return False


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        other = find_key(right, key)
        if other is ABSENT or not equal(value, other):
            return False
    return True


class _Absent:
    __slots__ = ()


ABSENT: Final = _Absent()


def find_key(mapping: dict[Any, Any], key: Any) -> Any:
    """The value under ``key`` or ABSENT; Python takes True for 1, CEL does not."""
    if type(key) is str:
        return mapping.get(key, ABSENT)
    try:
        found = mapping.get(key, ABSENT)
    except TypeError:
        return ABSENT
    if found is not ABSENT and (key == 0 or key == 1):
        is_bool = type(key) is bool
        for candidate, value in mapping.items():
            if candidate == key and (type(candidate) is bool) is is_bool:
                return value
        return ABSENT
    return found


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1; raises when the two cannot be ordered."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS:
        if other not in _NUMBERS:
            raise no_such_overload()
        if left != left or right != right:
            raise EvaluationError("NaN values cannot be ordered")
    elif kind is not other:
        raise no_such_overload()
    elif kind is Timestamp or kind is Duration:
        left, right = left.nanos, right.nanos
    elif kind is str:
        # Go orders strings by their UTF-8 bytes, which is the order of code points.
        pass
    elif kind is not bool and kind is not bytes:
        raise no_such_overload()
    return -1 if left < right else 1 if left > right else 0


def size_of(value: Any) -> int:
    """What the cost rules take for the size of a value: its length, or 1 for scalars."""
    kind = type(value)
    if kind is str or kind is list or kind is dict or kind is bytes:
        return len(value)
    if kind is Optional and value is not NONE:
        return size_of(value.value)
    sizer = getattr(value, "cel_size", None)
    if sizer is not None:
        return int(sizer())
    if isinstance(value, (list, dict)):
        return len(value)
    return 1


def is_zero(value: Any) -> bool:
    """Whether ``optional.ofNonZeroValue`` makes this none."""
    kind = type(value)
    if value is None:
        return True
    if kind in (bool, int, Uint, float, str, bytes, list, dict):
        return not value
    if kind is Duration:
        return bool(value.nanos == 0)
    if kind is Timestamp:
        return bool(value.nanos == -62135596800 * 10**9)
    if isinstance(value, Opaque):
        return value.is_zero()
    if isinstance(value, (list, dict)):
        return not value
    return False
