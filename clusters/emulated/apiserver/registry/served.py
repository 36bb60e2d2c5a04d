"""A served resource: one resource at one version together with everything its kind needs.

The generic verbs work on this contract alone, so that built-in kinds (`BuiltIn`) and custom resources
(`customresources`) go the same way through the api-server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import orjson

from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.validation.rules import KindRules
from clusters.emulated.store.keys import resource_prefix
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.ownership import Filter
from clusters.kube.apply.reset_fields import reset_fields
from clusters.kube.gostring import html_escaped
from clusters.kube.schema import Struct, decode, shape

Object = dict[str, Any]
Convert = Callable[[Object], Object]


class Conversion(Protocol):
    """Between what is stored and the version of a request, where a resource is worked on in the latter."""

    #: Whether somebody outside is asked, so that even reading takes time.
    calls_out: bool

    async def load(self, stored: Stored) -> Stored:
        """A stored object in this version, to be worked on."""

    async def for_reading(self, items: Sequence[Stored]) -> list[Stored]:
        """Stored objects such that `Served.body` can write them."""

    async def save(self, obj: Object) -> Object:
        """An object of this version as it is to be stored."""


class Served(Protocol):
    resource: Resource
    rules: KindRules
    #: Where the objects are in the store, e.g. `/registry/pods/`.
    storage_prefix: str
    #: Names the cache of this resource: versions of one resource share it.
    storage_resource: str
    #: This version is not the one that is stored.
    is_converted: bool
    #: None where strategic merge patch is not supported (custom resources).
    struct: Struct | None
    #: Deleting answers with the object itself instead of a Status.
    returns_deleted_object: bool
    #: For custom resources with several versions.
    conversion: Conversion | None

    @property
    def apply_type(self) -> ObjectType:
        """What server-side apply knows of the kind's shape at this version."""

    def reset_filter(self, endpoint: str) -> Filter | None:
        """Takes out of a field set what a write through this endpoint ("" or a subresource) cannot own."""

    def decode(self, raw: Any) -> tuple[Object, list[str]]:
        """JSON of this version to the storage version's shape, and strict problems; may raise DecodeError."""

    def finish(self, obj: Object) -> Object:
        """The object in encoding order with its kind and apiVersion, ready to be stored."""

    def to_version(self, obj: Object) -> Object:
        """A stored object in this version's shape (may be the same object)."""

    def to_storage(self, obj: Object) -> Object:
        """An object of this version's shape in the storage version's (may be the same object)."""

    def body(self, stored: Stored) -> bytes:
        """The JSON of one object in this version, without the trailing newline."""

    def item(self, stored: Stored) -> bytes:
        """The JSON of the object as an item of a list."""


class BuiltIn:
    """A built-in kind. `to_storage` and `from_storage` convert where this is not the storage version."""

    conversion: Conversion | None = None

    def __init__(
        self,
        resource: Resource,
        struct: Struct,
        rules: KindRules,
        *,
        storage: tuple[str, str, str] | None = None,  # group, plural, version
        storage_struct: Struct | None = None,
        to_storage: Convert | None = None,
        from_storage: Convert | None = None,
        returns_deleted_object: bool = False,
    ) -> None:
        group, plural, version = storage or (resource.group, resource.plural, resource.version)
        self.resource = resource
        self.struct: Struct | None = struct
        self.is_converted = from_storage is not None
        self._apply_type: ObjectType | None = None
        self.rules = rules
        self.storage_prefix = resource_prefix(group, plural)
        self.storage_resource = f"{plural}.{group}" if group else plural
        self.returns_deleted_object = returns_deleted_object
        self._struct = struct
        self._storage_struct = storage_struct or struct
        self._to_storage = to_storage
        self._from_storage = from_storage
        self._storage_api_version = f"{group}/{version}" if group else version
        self._head = orjson.dumps({"kind": resource.kind, "apiVersion": resource.group_version})[:-1]

    @property
    def apply_type(self) -> ObjectType:
        if self._apply_type is None:  # Built when first written: most kinds never are.
            self._apply_type = ObjectType.of_struct(self._struct)
        return self._apply_type

    def reset_filter(self, endpoint: str) -> Filter | None:
        return reset_fields(self.resource.group, self.resource.plural, endpoint)

    def decode(self, raw: Any) -> tuple[Object, list[str]]:
        obj, problems = decode(self._struct, raw)
        obj = self.to_storage(obj)
        obj.setdefault("metadata", {})
        self.rules.default(obj)
        return obj, problems

    def finish(self, obj: Object) -> Object:
        obj["kind"] = self.resource.kind
        obj["apiVersion"] = self._storage_api_version
        return shape(self._storage_struct, obj)

    def to_storage(self, obj: Object) -> Object:
        return obj if self._to_storage is None else self._to_storage(obj)

    def to_version(self, obj: Object) -> Object:
        if self._from_storage is None:
            return obj
        converted = self._from_storage(obj)
        converted["kind"] = self.resource.kind
        converted["apiVersion"] = self.resource.group_version
        return shape(self._struct, converted)

    def body(self, stored: Stored) -> bytes:
        form = self.resource.group_version
        return stored.cached(form) or stored.keep(form, html_escaped(orjson.dumps(self.to_version(stored.object))))

    def item(self, stored: Stored) -> bytes:
        # Go leaves kind and apiVersion out of the items of a typed list.
        body = self.body(stored)
        rest = body[len(self._head) :]
        return b"{" + rest[1:] if rest[:1] == b"," else b"{" + rest
