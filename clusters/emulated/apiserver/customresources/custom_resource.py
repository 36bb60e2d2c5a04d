"""One version of a custom resource, served like a built-in one.

Unlike built-in kinds a custom resource is worked on in the version of the request: its schema there prunes, defaults
and validates. Only what is stored is in the storage version (see `conversion`).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from clusters.emulated.apiserver.customresources.columns import printer
from clusters.emulated.apiserver.customresources.go_numbers import as_go_reads
from clusters.emulated.apiserver.customresources.object_meta import coerce_embedded, read_metadata
from clusters.emulated.apiserver.customresources.rules import custom_resource_rules
from clusters.emulated.apiserver.customresources.scale import CustomScale
from clusters.emulated.apiserver.customresources.structural import Structural, apply_defaults, drop_nulls, prune
from clusters.emulated.apiserver.registry.resources import Resource, Subresource, kube_version_order
from clusters.emulated.apiserver.registry.served import Conversion
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.validation.rules import KindRules
from clusters.emulated.store.keys import resource_prefix
from clusters.kube import errors
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.ownership import Filter
from clusters.kube.apply.reset_fields import custom_reset_fields
from clusters.kube.schema import DecodeError, Struct, shape

Object = dict[str, Any]

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")


class CustomResource:
    """`crd` is the definition as it is now; another one is built when it changes."""

    struct: Struct | None = None
    is_converted = False
    returns_deleted_object = False

    def __init__(
        self, crd: Object, version: Mapping[str, Any], object_meta: Struct, conversion: Conversion | None = None
    ) -> None:
        spec, names = crd["spec"], crd["status"]["acceptedNames"]
        self.group: str = spec["group"]
        self._spec: Object = spec
        self.version = version
        self._object_meta = object_meta
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        self._schema: Object | None = schema
        namespaced = spec["scope"] == "Namespaced"
        rules = custom_resource_rules(self.group, names["kind"], schema, version, namespaced=namespaced)
        self.rules: KindRules = rules
        self._scale, self._has_status = rules.scale, rules.has_status
        self.structural: Structural | None = rules.structural
        self.preserves = bool(spec.get("preserveUnknownFields"))
        self.resource = _resource(spec, names, version, VERBS)
        self.is_terminating = is_true(crd, "Terminating")
        #: What discovery says: nothing new while the definition goes away, though POST is still answered.
        self.discovered = _resource(spec, names, version, _TERMINATING_VERBS) if self.is_terminating else self.resource
        self.storage_prefix = resource_prefix(self.group, names["plural"], custom=True)
        self.storage_resource = f"{names['plural']}.{self.group}"
        self.conversion = conversion
        self.api_version = f"{self.group}/{version['name']}"
        self.printer = printer(version.get("additionalPrinterColumns"))
        self.warnings = _deprecation(spec, version)
        self._apply_type: ObjectType | None = None

    @property
    def apply_type(self) -> ObjectType:
        if self._apply_type is None:
            self._apply_type = ObjectType.of_schema(self._schema, self._object_meta)
        return self._apply_type

    @property
    def scalable(self) -> CustomScale | None:
        return None if self._scale is None else CustomScale(self._spec, self._scale)

    def openapi_schema(self) -> Object | None:
        """The schema as the definition has it, for publishing."""
        return self._schema

    def reset_filter(self, endpoint: str) -> Filter | None:
        return custom_reset_fields(endpoint, self._has_status)

    # Shapes

    def decode(self, raw: Any) -> tuple[Object, list[str]]:
        return self.coerce(as_go_reads(raw))

    def coerce(self, obj: Object) -> tuple[Object, list[str]]:
        """Takes `obj` over: what the schema does not know is gone, what it defaults is there."""
        problems = self._coerce_types(obj)
        if self.structural is not None and obj.get("kind") == self.resource.kind:
            apply_defaults(obj, self.structural)
        obj.setdefault("metadata", {})
        return obj, problems

    def _coerce_types(self, obj: Object) -> list[str]:
        head: Object = {name: obj[name] for name in ("kind", "apiVersion") if name in obj}
        problems: list[str] = []
        metadata: Object | None = None
        if "metadata" in obj:
            metadata, problems = read_metadata(obj["metadata"], self._object_meta)
        if head.get("kind") == self.resource.kind:
            if not self.preserves:
                problems += [f'unknown field "{path}"' for path in prune(obj, self.structural)]
                drop_nulls(obj, self.structural)
            coerce_embedded(obj, self.structural, self._object_meta, "", problems)
        obj.update(head)
        if metadata is not None:
            obj["metadata"] = metadata
        return problems

    def from_store(self, obj: Object) -> Object:
        """What was stored, seen with the schema of today."""
        try:
            return self.coerce(obj)[0]
        except DecodeError:
            return obj  # Stored before it could be refused; it is shown as it is.

    def finish(self, obj: Object) -> Object:
        metadata = shape(self._object_meta, obj["metadata"])
        return {**obj, "metadata": metadata}

    def to_storage(self, obj: Object) -> Object:
        return obj

    def to_version(self, obj: Object) -> Object:
        if obj.get("apiVersion") == self.api_version:
            return obj
        renamed = orjson.loads(orjson.dumps(obj))
        renamed["apiVersion"] = self.api_version
        return self.coerced(renamed)

    def coerced(self, obj: Object) -> Object:
        """Takes over an object that was converted to this version."""
        try:
            self._coerce_types(obj)
        except DecodeError as error:
            raise errors.unknown(error.text) from None
        return self.finish(obj)

    def body(self, stored: Stored) -> bytes:
        form = self.api_version
        return stored.cached(form) or stored.keep(form, self.encoded(stored.object))

    def encoded(self, obj: Object) -> bytes:
        """Go writes custom resources as maps: keys in alphabetical order."""
        return orjson.dumps(self.to_version(obj), option=orjson.OPT_SORT_KEYS)

    item = body

    # Requests

    def verb(self, request: Request) -> str:
        """The verb this request asks for, refused as the handler of custom resources refuses."""
        info = request.info
        for warning in self.warnings:
            request.warn(warning)
        group_resource = self.resource.group_resource
        if info.subresource and self.resource.subresource(info.subresource) is None:
            raise errors.not_found(group_resource, info.name)
        allowed = _SUBRESOURCE_VERBS if info.subresource else VERBS
        if info.verb not in allowed:
            raise errors.method_not_supported(group_resource, info.verb)
        if info.verb in ("update", "patch") and not info.name:
            raise errors.bad_request("name must be provided")
        return info.verb

    def check_claimed_kind(self, group_version: str, kind: str) -> None:
        """The version must be the URL's; a wrong kind is left to validation."""
        if group_version != self.api_version:
            raise errors.bad_request(
                f"the API version in the data ({group_version}) does not match the expected API version "
                f"({self.api_version})"
            )


def is_true(crd: Object, condition: str) -> bool:
    for each in (crd.get("status") or {}).get("conditions") or ():
        if each.get("type") == condition:
            return bool(each.get("status") == "True")
    return False


def _resource(spec: Object, names: Object, version: Mapping[str, Any], verbs: tuple[str, ...]) -> Resource:
    group, kind = spec["group"], names["kind"]
    subresources: list[Subresource] = []
    declared = version.get("subresources") or {}
    if declared.get("status") is not None:
        subresources.append(Subresource("status", _SUBRESOURCE_VERBS, ("", "", kind)))
    if declared.get("scale") is not None:
        subresources.append(Subresource("scale", _SUBRESOURCE_VERBS, ("autoscaling", "v1", "Scale")))
    stored = next(each["name"] for each in spec["versions"] if each.get("storage"))
    digest = hashlib.sha256(f"{group}/{stored}/{spec['names']['kind']}".encode()).digest()
    return Resource(
        group=group,
        version=version["name"],
        plural=names["plural"],
        kind=kind,
        singular=names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        verbs=verbs,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(subresources),
        storage_version_hash=base64.b64encode(digest[:8]).decode(),
        list_kind=names.get("listKind") or f"{kind}List",
        custom=True,
    )


def _deprecation(spec: Object, version: Mapping[str, Any]) -> tuple[str, ...]:
    if not version.get("deprecated"):
        return ()
    if version.get("deprecationWarning") is not None:
        return (version["deprecationWarning"],)
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    text = f"{group}/{name} {kind} is deprecated"
    newer = [
        each["name"]
        for each in spec["versions"]
        if each.get("served")
        and not each.get("deprecated")
        and kube_version_order(each["name"]) < kube_version_order(name)
    ]
    if newer:
        text += f"; use {group}/{min(newer, key=kube_version_order)} {kind}"
    return (text,)
