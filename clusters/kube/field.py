"""Field errors: what is wrong with one field of an object, worded as Kubernetes words it.

    >>> str(invalid("spec.replicas", -1, "must be greater than or equal to 0"))
    'spec.replicas: Invalid value: -1: must be greater than or equal to 0'

Paths are plain strings, built with `child`, `index` and `key`:

    >>> key(child("metadata", "labels"), "a/b")
    'metadata.labels[a/b]'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusters.kube.gostring import Verbatim, quote, to_json

_OMITTED = object()
# A value that must not be shown although its error type would show it.
OMIT_VALUE: object = _OMITTED

_TYPE_TEXT = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooShort": "Too short",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE = frozenset(
    ("FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooShort", "InternalError")
)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One problem: its machine-readable type, the field's path, the value found there, and why it is wrong."""

    type: str
    field: str
    value: object = None
    detail: str = ""

    def body(self) -> str:
        """The text without the field, as `details.causes[].message` has it."""
        text = _TYPE_TEXT[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not _OMITTED:
            text = f"{text}: {_printed(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def _printed(value: object) -> str:
    if isinstance(value, str):
        return str(value) if isinstance(value, Verbatim) else quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return to_json(value)


def child(path: str, *names: str) -> str:
    """`child("spec", "template")` is `spec.template`; an empty parent is the root."""
    joined = ".".join(names)
    return f"{path}.{joined}" if path else joined


def index(path: str, position: int) -> str:
    return f"{path}[{position}]"


def key(path: str, name: str) -> str:
    return f"{path}[{name}]"


def invalid(field: str, value: object, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, "", detail)


def duplicate(field: str, value: object) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value)


def not_found(field: str, value: object) -> FieldError:
    return FieldError("FieldValueNotFound", field, value)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, "", detail)


def type_invalid(field: str, value: object, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def internal(field: str, detail: str) -> FieldError:
    return FieldError("InternalError", field, None, detail)


def not_supported(field: str, value: object, supported: Iterable[str]) -> FieldError:
    """The supported values are listed in the order given (Kubernetes sorts sets, keeps lists)."""
    values = ", ".join(quote(each) for each in supported)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {values}" if values else "")


def too_long(field: str, max_bytes: int) -> FieldError:
    unit = "byte" if max_bytes == 1 else "bytes"
    return FieldError("FieldValueTooLong", field, "", f"may not be more than {max_bytes} {unit}")


def too_long_characters(field: str, max_characters: int) -> FieldError:
    unit = "character" if max_characters == 1 else "characters"
    return FieldError("FieldValueTooLong", field, "", f"may not be more than {max_characters} {unit}")


def too_short(field: str, min_characters: int) -> FieldError:
    unit = "character" if min_characters == 1 else "characters"
    return FieldError("FieldValueTooShort", field, "", f"must be at least {min_characters} {unit}")


def too_many(field: str, actual: int, maximum: int) -> FieldError:
    unit = "item" if maximum == 1 else "items"
    return FieldError("FieldValueTooMany", field, actual, f"must have at most {maximum} {unit}")


def too_few(field: str, actual: int, minimum: int) -> FieldError:
    unit = "item" if minimum == 1 else "items"
    return FieldError("FieldValueTooFew", field, actual, f"must have at least {minimum} {unit}")


def immutable(field: str, value: object) -> FieldError:
    return invalid(field, value, "field is immutable")


def aggregate(errors: Sequence[FieldError]) -> str:
    """All errors as one text: one alone stands as it is, several in brackets, equal texts once."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
