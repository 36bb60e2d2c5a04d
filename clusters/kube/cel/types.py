"""CEL types: what the checker reasons about, and what ``type(x)`` evaluates to."""

from __future__ import annotations

from collections.abc import Mapping


class Type:
    """A type. ``kind`` is its family, ``name`` its runtime name, ``params`` its type arguments.

    Object types (kind ``struct``) carry their fields: CEL name -> (type, JSON property name);
    ``fields`` None means that any field is allowed and is dyn.
    """

    __slots__ = ("fields", "kind", "name", "params")

    def __init__(
        self,
        kind: str,
        name: str = "",
        params: tuple[Type, ...] = (),
        fields: Mapping[str, tuple[Type, str]] | None = None,
    ) -> None:
        self.kind = kind
        self.name = name or kind
        self.params = params
        self.fields = fields

    def same(self, other: Type) -> bool:
        """Exactly the same type."""
        if self is other:
            return True
        if self.kind != other.kind or self.name != other.name or len(self.params) != len(other.params):
            return False
        return all(mine.same(theirs) for mine, theirs in zip(self.params, other.params, strict=True))

    def __eq__(self, other: object) -> bool:
        # As values, types are equal by name: type([1]) == list.
        return isinstance(other, Type) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        """The declared name, as Kubernetes prints result types: ``list(int)``, ``google.protobuf.Timestamp``."""
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(str(param) for param in self.params)})"

    def __repr__(self) -> str:
        return f"Type({self})"


_SHOWN = {"unspecified": "", "error": "!error!", "null": "null", "duration": "duration", "timestamp": "timestamp"}


def shown(type_: Type) -> str:
    """The type as compile errors name it: ``timestamp``, ``map(string, dyn)``."""
    special = _SHOWN.get(type_.kind)
    if special is not None:
        return special
    if not type_.params:
        return type_.name
    return f"{type_.name}({', '.join(shown(param) for param in type_.params)})"


DYN = Type("dyn")
ERROR = Type("error")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null", "null_type")
DURATION = Type("duration", "google.protobuf.Duration")
TIMESTAMP = Type("timestamp", "google.protobuf.Timestamp")
TYPE = Type("type")
ANY = Type("any", "google.protobuf.Any")


def list_of(element: Type) -> Type:
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of_type(param: Type) -> Type:
    return Type("type", "type", (param,))


def opaque(name: str) -> Type:
    return Type("opaque", name)


def struct(name: str, fields: Mapping[str, tuple[Type, str]] | None = None) -> Type:
    return Type("struct", name, (), fields)


def param(name: str) -> Type:
    return Type("param", name)


# Bare names of types as runtime values.
LIST = list_of(DYN)
MAP = map_of(DYN, DYN)
OPTIONAL = Type("opaque", "optional_type")

QUANTITY = struct("kubernetes.Quantity", {})
URL = struct("kubernetes.URL", {})
IP = opaque("net.IP")
CIDR = opaque("net.CIDR")
SEMVER = struct("kubernetes.Semver", {})
NAMED_FORMAT = struct("kubernetes.NamedFormat", {})
AUTHORIZER = struct("kubernetes.authorization.Authorizer", {})
PATH_CHECK = struct("kubernetes.authorization.PathCheck", {})
GROUP_CHECK = struct("kubernetes.authorization.GroupCheck", {})
RESOURCE_CHECK = struct("kubernetes.authorization.ResourceCheck", {})
DECISION = struct("kubernetes.authorization.Decision", {})

# The names that are types in expressions, e.g. `type(x) == string`.
STANDARD_TYPES: Mapping[str, Type] = {
    "bool": type_of_type(BOOL),
    "bytes": type_of_type(BYTES),
    "double": type_of_type(DOUBLE),
    "google.protobuf.Duration": type_of_type(DURATION),
    "int": type_of_type(INT),
    "list": type_of_type(list_of(param("A"))),
    "map": type_of_type(map_of(param("A"), param("B"))),
    "null_type": type_of_type(NULL),
    "string": type_of_type(STRING),
    "google.protobuf.Timestamp": type_of_type(TIMESTAMP),
    "type": type_of_type(TYPE),
    "uint": type_of_type(UINT),
    "optional_type": type_of_type(optional_of(param("V"))),
}
