"""Decoding JSON into a built-in kind, as Go's decoder does it: unknown fields, wrong types, its own words.

    >>> obj, problems = decode(deployment, {"spec": {"replicaz": 1}})
    >>> problems
    ['unknown field "spec.replicaz"']

The result holds known fields only; nulls and empty optional values are gone, quantities are canonical.
The first wrong type ends decoding with `DecodeError`, whose text is what Go says.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, TypeAlias

from clusters.kube.gostring import quote
from clusters.kube.quantity import QuantityError, canonical
from clusters.kube.schema.model import Field, ListType, MapType, Scalar, Struct, Type
from clusters.kube.timestamps import TimestampError, parse_micro_time, parse_time

# Where a value stands: (the path above it, its field name or index), None at the root.
Place: TypeAlias = tuple[Any, "str | int"] | None
Decoder: TypeAlias = Callable[[Any, Place, list[str]], Any]

_PROBLEMS_MAX = 100  # Go's strict decoder stops collecting here.
# Where an empty list is no missing one: defaults fill in the latter only; the former forgets who owns what.
_MEANINGFUL_EMPTY_LISTS = {
    "autoscaling/v2.HPAScalingRules": ("policies",),
    "meta/v1.ObjectMeta": ("managedFields",),
}
_INT_BOUNDS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class DecodeError(ValueError):
    """The JSON has a value of the wrong type; the text is the decoder's, without the kind's prefix."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _Mismatch(Exception):
    """A wrong type on its way up: every struct it passes adds its field; the innermost one names itself."""

    def __init__(self, found: str, go_type: str) -> None:
        self.found, self.go_type = found, go_type
        self.struct = ""
        self.path: list[str] = []

    def text(self) -> str:
        if not self.path:
            return f"json: cannot unmarshal {self.found} into Go value of type {self.go_type}"
        where = f"{self.struct}.{'.'.join(reversed(self.path))}"
        return f"json: cannot unmarshal {self.found} into Go struct field {where} of type {self.go_type}"


def decode(struct: Struct, raw: Any, place: Place = None) -> tuple[dict[str, Any], list[str]]:
    """The object as Go would hold it, and the problems a strict decoder reports; `place` is where it stands."""
    problems: list[str] = []
    if not isinstance(raw, dict):
        raise DecodeError(_Mismatch(_found(raw), struct.go_name).text())
    try:
        decoded: dict[str, Any] = (struct.decoder or _compile_struct(struct))(raw, place, problems)
    except _Mismatch as mismatch:
        raise DecodeError(mismatch.text()) from None
    return decoded, problems


def describe_place(place: Place) -> str:
    """`spec.containers[0]` for the nested pairs that decoding keeps."""
    parts: list[str] = []
    while place is not None:
        place, step = place
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(step if place is None else f".{step}")
    return "".join(reversed(parts))


def _found(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"


def _compile_struct(struct: Struct) -> Decoder:
    entries: dict[str, tuple[Decoder, bool, str]] = {}
    short_name = struct.short_name

    def decode_struct(raw: Any, place: Place, problems: list[str]) -> Any:
        if raw.__class__ is not dict:
            raise _Mismatch(_found(raw), struct.go_name)
        decoded = {}
        for name, value in raw.items():
            entry = entries.get(name)
            if entry is None:
                _note_unknown(place, name, problems)
                continue
            if value is None:
                continue
            decoder, keep_zero, embedded_in = entry
            try:
                value = decoder(value, (place, name), problems)
            except _Mismatch as mismatch:
                if not mismatch.path:
                    mismatch.struct = short_name
                mismatch.path.append(f"{embedded_in}.{name}" if embedded_in else name)
                raise
            if keep_zero or value or value.__class__ is dict:
                decoded[name] = value
        return decoded

    struct.decoder = decode_struct  # Set before its fields are compiled: a struct may contain itself.
    for each in struct.fields.values():
        entries[each.name] = (_compile(each.type), _keeps_zero(struct, each), each.embedded_in)
    return decode_struct


def _note_unknown(place: Place, name: str, problems: list[str]) -> None:
    if len(problems) < _PROBLEMS_MAX:
        problem = f"unknown field {quote(describe_place((place, name)))}"
        if problem not in problems:
            problems.append(problem)


def _keeps_zero(struct: Struct, field: Field) -> bool:
    """Whether an explicit zero (0, "", []) survives decoding: it does behind a pointer, and where Go
    writes zeros anyway. An empty map or list of an optional field disappears."""
    if isinstance(field.type, Struct):
        return True
    if isinstance(field.type, (ListType, MapType)):
        return not field.omit_empty or field.name in _MEANINGFUL_EMPTY_LISTS.get(struct.name, ())
    if isinstance(field.type, Scalar) and field.type.kind == "bytes":
        return not field.omit_empty
    if isinstance(field.type, Scalar) and field.type.kind in _CUSTOM:
        return True
    return field.pointer or not field.omit_empty


def _compile(kind: Type) -> Decoder:
    if isinstance(kind, Struct):
        if kind.decoder is not None:
            return kind.decoder  # type: ignore[no-any-return]
        return _compile_struct(kind)
    if isinstance(kind, ListType):
        return _compile_list(kind)
    if isinstance(kind, MapType):
        return _compile_map(kind)
    return _scalar_decoder(kind)


def _zero(kind: Type) -> Any:
    """What a null inside a list or map becomes."""
    if isinstance(kind, (Struct, MapType)):
        return {}
    if isinstance(kind, ListType):
        return []
    return {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0.0, "resource.Quantity": "0"}.get(
        kind.kind
    )


def _compile_list(kind: ListType) -> Decoder:
    element = _compile(kind.element)
    zero = _zero(kind.element)

    def decode_list(raw: Any, place: Place, problems: list[str]) -> Any:
        if raw.__class__ is not list:
            raise _Mismatch(_found(raw), kind.go_name)
        return [
            zero if item is None else element(item, (place, position), problems) for position, item in enumerate(raw)
        ]

    return decode_list


def _compile_map(kind: MapType) -> Decoder:
    if isinstance(kind.element, Scalar) and kind.element.kind == "string":
        go_name = kind.element.go_name

        def decode_strings(raw: Any, place: Place, problems: list[str]) -> Any:
            if raw.__class__ is not dict:
                raise _Mismatch(_found(raw), kind.go_name)
            nulls = False
            for value in raw.values():
                if value.__class__ is not str:
                    if value is not None:
                        raise _Mismatch(_found(value), go_name)
                    nulls = True
            if nulls:
                return {name: "" if text is None else text for name, text in raw.items()}
            return dict(raw)  # A copy: callers may change what they decode, not what it was decoded from.

        return decode_strings
    element = _compile(kind.element)
    zero = _zero(kind.element)

    def decode_map(raw: Any, place: Place, problems: list[str]) -> Any:
        if raw.__class__ is not dict:
            raise _Mismatch(_found(raw), kind.go_name)
        return {name: zero if value is None else element(value, (place, name), problems) for name, value in raw.items()}

    return decode_map


def _scalar_decoder(kind: Scalar) -> Decoder:
    if kind.kind in _INT_BOUNDS:
        return _int_decoder(kind, *_INT_BOUNDS[kind.kind])
    custom = _CUSTOM.get(kind.kind)
    if custom is not None:
        return custom
    expected = {"string": str, "bool": bool}.get(kind.kind)
    if expected is None:
        return {"float64": _float_decoder, "bytes": _bytes_decoder, "any": _any_decoder}[kind.kind](kind)

    def decode_scalar(raw: Any, place: Place, problems: list[str]) -> Any:
        if raw.__class__ is not expected:
            raise _Mismatch(_found(raw), kind.go_name)
        return raw

    return decode_scalar


def _int_decoder(kind: Scalar, lowest: int, highest: int) -> Decoder:
    def decode_int(raw: Any, place: Place, problems: list[str]) -> Any:
        if raw.__class__ is not int:
            if raw.__class__ is float:
                raise _Mismatch(f"number {_go_number(raw)}", kind.go_name)
            raise _Mismatch(_found(raw), kind.go_name)
        if not lowest <= raw <= highest:
            raise _Mismatch(f"number {raw}", kind.go_name)
        return raw

    return decode_int


def _go_number(value: float) -> str:
    return repr(value)


def _float_decoder(kind: Scalar) -> Decoder:
    def decode_float(raw: Any, place: Place, problems: list[str]) -> Any:
        if raw.__class__ is not float and raw.__class__ is not int:
            raise _Mismatch(_found(raw), kind.go_name)
        return raw

    return decode_float


def _bytes_decoder(kind: Scalar) -> Decoder:
    def decode_bytes(raw: Any, place: Place, problems: list[str]) -> Any:
        if raw.__class__ is not str:
            raise _Mismatch(_found(raw), kind.go_name)
        compact = raw.replace("\n", "").replace("\r", "") if "\n" in raw or "\r" in raw else raw
        try:
            base64.b64decode(compact, validate=True)
        except (binascii.Error, ValueError):
            raise DecodeError(f"illegal base64 data at input byte {_bad_base64_offset(raw)}") from None
        return compact

    return decode_bytes


_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _bad_base64_offset(text: str) -> int:
    """The offset Go names: the first character outside the alphabet, or where padding goes wrong."""
    for position, character in enumerate(text):
        if character not in _BASE64 and character not in "\r\n":
            if character == "=" and position % 4 >= 2:
                break
            return position
    return len(text) - len(text) % 4 if len(text) % 4 else max(len(text) - 1, 0)


def _any_decoder(kind: Scalar) -> Decoder:
    return lambda raw, place, problems: raw


def _decode_time(raw: Any, place: Place, problems: list[str]) -> Any:
    if raw.__class__ is not str:
        raise _Mismatch(_found(raw), "string")
    try:
        return parse_time(raw)
    except TimestampError as error:
        raise DecodeError(str(error)) from None


def _decode_micro_time(raw: Any, place: Place, problems: list[str]) -> Any:
    if raw.__class__ is not str:
        raise _Mismatch(_found(raw), "string")
    try:
        return parse_micro_time(raw)
    except TimestampError as error:
        raise DecodeError(str(error)) from None


def _decode_quantity(raw: Any, place: Place, problems: list[str]) -> Any:
    if raw.__class__ is str:
        text = raw
    elif raw.__class__ is int or raw.__class__ is float:
        text = str(raw)
    else:
        text = "not a quantity"
    try:
        return canonical(text)
    except QuantityError as error:
        raise DecodeError(str(error)) from None


def _decode_int_or_string(raw: Any, place: Place, problems: list[str]) -> Any:
    if raw.__class__ is str:
        return raw
    return _INT_OR_STRING(raw, place, problems)


_INT_OR_STRING = _int_decoder(Scalar("int32", "int32"), *_INT_BOUNDS["int32"])


def _decode_as_it_is(raw: Any, place: Place, problems: list[str]) -> Any:
    return raw


_CUSTOM: dict[str, Decoder] = {
    "v1.Time": _decode_time,
    "v1.MicroTime": _decode_micro_time,
    "resource.Quantity": _decode_quantity,
    "intstr.IntOrString": _decode_int_or_string,
    "runtime.RawExtension": _decode_as_it_is,
    "v1.FieldsV1": _decode_as_it_is,
    "v1.JSON": _decode_as_it_is,
    "v1.JSONSchemaPropsOrArray": _decode_as_it_is,
    "v1.JSONSchemaPropsOrBool": _decode_as_it_is,
    "v1.JSONSchemaPropsOrStringArray": _decode_as_it_is,
}
