"""What operations refer to: parameters and schemas; it notes which schemas a document has to carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.openapi.definitions import V2_PREFIX, V3_PREFIX, Definitions, v3_form
from clusters.emulated.apiserver.registry.resources import Resource

Object = dict[str, Any]

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
# These belong to every group version; a document names its own only.
_IN_EVERY_GROUP = (f"{META}.DeleteOptions", f"{META}.WatchEvent")


class Schemas:
    """The schemas of one document. `custom` are those of custom resources, by name, in v2's form."""

    def __init__(
        self,
        definitions: Definitions,
        parameters: Mapping[str, list[str]],
        *,
        group_version: tuple[str, str],
        returns_deleted: frozenset[tuple[str, str]],
        custom: Mapping[str, Object],
        custom_names: Mapping[tuple[str, str, str], str],
        v2: bool = False,
    ) -> None:
        self._definitions = definitions
        self._parameters = parameters
        self._group_version = group_version
        self._returns_deleted = returns_deleted
        self._custom = custom
        self._custom_names = custom_names
        self._is_v2 = v2
        self._used: dict[str, None] = {}

    def refer(self, name: str) -> Object:
        self._used[name] = None
        return {"$ref": V3_PREFIX + name}

    def kind(self, group: str, version: str, kind: str) -> Object:
        name = self._custom_names.get((group, version, kind)) or self._definitions.name_of(group, version, kind)
        return self.refer(name) if name else {"type": "object"}

    def parameter(self, name: str) -> Object:
        kind, description = self._parameters[name]
        short = name.rpartition(".")[2]
        if name.startswith("path."):
            short = "path"
        in_path = name in ("namespace", "path.url")
        parameter: Object = {"name": short, "in": "path" if in_path else "query", "description": description}
        if in_path:
            parameter["required"] = True
        parameter["schema"] = {"type": kind, "uniqueItems": True}
        return parameter

    def returns_deleted(self, resource: Resource) -> bool:
        """Namespaces come back too, once they are finally gone; their document does not say so."""
        key = (resource.group, resource.plural)
        return key in self._returns_deleted and key != ("", "namespaces")

    @property
    def _is_custom_document(self) -> bool:
        return any((group, version) == self._group_version for group, version, _ in self._custom_names)

    def is_custom(self, resource: Resource) -> bool:
        return (resource.group, resource.version, resource.kind) in self._custom_names

    def has_watch_paths(self, resource: Resource) -> bool:
        """Custom resources have no `/watch/` paths: those were deprecated before there were any."""
        return not self.is_custom(resource)

    def used(self) -> dict[str, Object]:
        """Every schema that was referred to, and those they refer to, by name."""
        found: dict[str, Object] = {}
        waiting = list(self._used)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            schema = self._schema(name)
            found[name] = schema
            waiting += _references(schema)
        return {name: found[name] for name in sorted(found)}

    def _schema(self, name: str) -> Object:
        custom = self._custom.get(name)
        if custom is not None:
            return custom if self._is_v2 else v3_form(custom)
        if self._is_v2:
            return self._definitions.v2(name)
        schema = self._definitions.v3(name)
        if name in _IN_EVERY_GROUP and not self._is_custom_document:
            wanted = (("", "v1"), self._group_version)
            kinds = schema["x-kubernetes-group-version-kind"]
            own = [each for each in kinds if (each["group"], each["version"]) in wanted]
            schema = {**schema, "x-kubernetes-group-version-kind": own}
        return schema


def _references(schema: Any) -> list[str]:
    """The names a schema refers to, in either form."""
    found: list[str] = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str):
                found.append(reference.removeprefix(V2_PREFIX).removeprefix(V3_PREFIX))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found
