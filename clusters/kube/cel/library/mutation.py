"""What a MutatingAdmissionPolicy may construct: ``Object{...}`` and ``JSONPatch{...}``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusters.kube.cel import types as t
from clusters.kube.cel.access import shown_key
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.types import Type
from clusters.kube.cel.values import ABSENT, Opaque, equal

OBJECT = "Object"
JSON_PATCH_TYPE = t.struct(
    "JSONPatch",
    {"op": (t.STRING, "op"), "path": (t.STRING, "path"), "from": (t.STRING, "from"), "value": (t.DYN, "value")},
)


def resolve_type(name: str) -> Type | None:
    """The type that ``JSONPatch``, ``Object`` or ``Object.spec`` names."""
    if name == "JSONPatch":
        return t.type_of_type(JSON_PATCH_TYPE)
    if name == OBJECT or name.startswith(OBJECT + "."):
        return t.type_of_type(object_type(name))
    return None


def object_type(name: str) -> Type:
    return t.struct(name, None)


class ObjectValue(dict[str, Any]):
    """An ``Object.path{...}``: its fields, and the type name that must match where it stands."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name

    @property
    def cel_type(self) -> Type:
        return object_type(self.type_name)

    def cel_lookup(self, key: Any) -> Any:
        # A field that was not set reads as null.
        return self.get(key)

    def cel_has(self, field: str) -> bool:
        return field in self

    def cel_equal(self, other: object) -> bool:
        return isinstance(other, ObjectValue) and self.type_name == other.type_name and equal(dict(self), dict(other))


class JSONPatch(Opaque):
    """One operation; ``value`` is ABSENT when not given."""

    __slots__ = ("from_", "op", "path", "value")
    cel_type = JSON_PATCH_TYPE

    def __init__(self, fields: Mapping[str, Any]) -> None:
        for name in ("op", "path", "from"):
            if name in fields and type(fields[name]) is not str:
                raise EvaluationError(f"unexpected type {_go_type(fields[name])} for JSONPatchType '{name}' field")
        self.op: str = fields.get("op", "")
        self.path: str = fields.get("path", "")
        self.from_: str = fields.get("from", "")
        self.value: Any = fields.get("value", ABSENT)

    def equals(self, other: object) -> bool:
        if not isinstance(other, JSONPatch):
            return False
        if (self.op, self.path, self.from_) != (other.op, other.path, other.from_):
            return False
        if self.value is ABSENT or other.value is ABSENT:
            return self.value is other.value
        return equal(self.value, other.value)

    def cel_lookup(self, key: Any) -> Any:
        if key in ("op", "path", "from"):
            return getattr(self, "from_" if key == "from" else key)
        if key == "value":
            return self.value
        raise EvaluationError(f"unsupported indexer: {shown_key(key)}")

    def cel_has(self, field: str) -> bool:
        found = self.cel_lookup(field)
        return found is not ABSENT if field == "value" else bool(found)

    def as_json(self) -> dict[str, Any]:
        """The operation as RFC 6902 writes it."""
        out: dict[str, Any] = {"op": self.op, "path": self.path}
        if self.from_:
            out["from"] = self.from_
        if self.value is not ABSENT:
            out["value"] = plain(self.value)
        return out


def _go_type(value: Any) -> str:
    return {int: "int64", float: "float64", bool: "bool", type(None): "structpb.NullValue"}.get(
        type(value), "map[ref.Val]ref.Val" if isinstance(value, dict) else "[]ref.Val"
    )


def constructor(name: str) -> Callable[[dict[str, Any]], Any]:
    if name == "JSONPatch":
        return JSONPatch
    return lambda fields: ObjectValue(name, fields)


def type_name_errors(value: ObjectValue) -> list[str]:
    """Where a nested ``Object.a{}`` stands under another path than its name says, in Kubernetes' words."""
    return _misnamed(value, (value.type_name,))


def _misnamed(value: Any, path: tuple[str, ...]) -> list[str]:
    errors: list[str] = []
    if isinstance(value, ObjectValue):
        expected = ".".join(path)
        if value.type_name != expected:
            errors.append(
                f'unexpected type name "{value.type_name}", expected "{expected}", which matches field name path'
                " from root Object type"
            )
        for key, item in value.items():
            errors += _misnamed(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            errors += _misnamed(item, path)
    elif isinstance(value, dict):
        for item in value.values():
            errors += _misnamed(item, path)
    return errors


def plain(value: Any) -> Any:
    """The value as plain JSON: objects become dicts, times and quantities strings."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if type(value) is bytes:
        from base64 import b64encode

        return b64encode(value).decode()
    from clusters.kube.cel.library import conversions
    from clusters.kube.cel.values import NONE, Duration, Optional, Timestamp

    if type(value) is Timestamp:
        return conversions.timestamp_to_string(value)
    if type(value) is Duration:
        return conversions.duration_to_string(value)
    if type(value) is Optional:
        return None if value is NONE else plain(value.value)
    return value


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "jsonpatch.escapeKey": [("string_jsonpatch_escapeKey_string", "(string): string", _escape_key)],
}
