"""The schemas of the built-in kinds, as the real server publishes them.

They come from the `kubernetes_validate` package, which altered them for its own use (every value may be null,
`kind` and `apiVersion` are enumerations, IntOrString and Quantity lost their text); here that is undone. What the
package never had, enumerations and defaults, is added from recorded data and from the kinds' Go types.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from clusters.kube.schema import Catalogue, Field, ListType, MapType, Scalar, Struct, Type

Object = dict[str, Any]

V2_PREFIX, V3_PREFIX = "#/definitions/", "#/components/schemas/"
_PACKAGE_PREFIX = "#/$defs/"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_ZEROS: Object = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0}
# Where the packages of the Go types are named differently in OpenAPI.
_PACKAGES = {
    "apimachinery.pkg.apis.meta": "meta",
    "apiextensions-apiserver.pkg.apis.apiextensions": "apiextensions",
    "kube-aggregator.pkg.apis.apiregistration": "apiregistration",
}


@lru_cache(maxsize=4)
def published(version: str) -> Object:
    """Recorded once from a real server: texts of parameters and enumerations."""
    data: Object = orjson.loads(Path(__file__).with_name(f"published_v{version}.json").read_bytes())
    return data


class Definitions:
    """Schemas by name, in the form of OpenAPI v2 (`v2`) and v3 (`v3`), restored when first asked for."""

    def __init__(self, version: str, catalogue: Catalogue) -> None:
        self._version = version
        self._catalogue = catalogue
        self._published = published(version)
        self._enums: dict[str, list[Any]] = self._published["enums"]
        self._defaults: Object = self._published["defaults"]
        self._v2: dict[str, Object] = {}
        self._v3: dict[str, Object] = {}
        self._by_kind: dict[tuple[str, str, str], str] | None = None

    @property
    def _raw(self) -> dict[str, Object]:
        """Read with the first document: the index needs none of it."""
        return _package_definitions(self._version)

    def name_of(self, group: str, version: str, kind: str) -> str:
        """The schema of a built-in kind, e.g. `io.k8s.api.apps.v1.Deployment`; empty if there is none."""
        if self._by_kind is None:
            self._by_kind = {
                (each["group"], each["version"], each["kind"]): name
                for name, schema in self._raw.items()
                for each in schema.get("x-kubernetes-group-version-kind", ())
            }
        return self._by_kind.get((group, version, kind), "")

    def v2(self, name: str) -> Object:
        schema = self._v2.get(name)
        if schema is None:
            schema = self._v2[name] = self._restored(name)
        return schema

    def v3(self, name: str) -> Object:
        schema = self._v3.get(name)
        if schema is None:
            schema = self._v3[name] = self._as_v3(name)
        return schema

    def _restored(self, name: str) -> Object:
        if name == _QUANTITY:
            return {"description": self._published["descriptions"][name], "type": "string"}
        if name == _INT_OR_STRING:
            text = self._published["descriptions"][name]
            return {"description": text, "type": "string", "format": "int-or-string"}
        schema: Object = _plain(self._raw[name])
        properties = schema.get("properties")
        if properties:
            is_kind = "x-kubernetes-group-version-kind" in schema
            for key, value in properties.items():
                if is_kind and key in ("kind", "apiVersion"):
                    value.pop("enum", None)
                self._enumerate(f"{name}#{key}", value)
        return schema

    def _enumerate(self, place: str, schema: Object) -> None:
        enum = self._enums.get(place)
        if enum is not None:
            schema["enum"] = enum[0]
            schema["description"] = schema.get("description", "") + enum[1]
        of_items = self._enums.get(place + "[]")
        if of_items is not None:
            schema["items"]["enum"] = of_items[0]
        of_values = self._enums.get(place + "{}")
        if of_values is not None:
            schema["additionalProperties"]["enum"] = of_values[0]

    def _as_v3(self, name: str) -> Object:
        schema: Object = v3_form(self.v2(name))
        if name == _QUANTITY:
            del schema["type"]
            schema["oneOf"] = [{"type": "string"}, {"type": "number"}]
        elif name == _INT_OR_STRING:
            del schema["type"]
            schema["oneOf"] = [{"type": "integer"}, {"type": "string"}]
        struct = self._struct(name)
        properties: dict[str, Object] = schema.get("properties", {})
        for key, value in properties.items():
            field = None if struct is None else struct.fields.get(key)
            if field is not None:
                properties[key] = _with_defaults(value, field)
            if f"{name}#{key}" in self._defaults:
                properties[key]["default"] = self._defaults[f"{name}#{key}"]
        return schema

    def _struct(self, name: str) -> Struct | None:
        package, _, kind = name.removeprefix("io.k8s.").rpartition(".")
        package, _, version = package.rpartition(".")
        package = _PACKAGES.get(package, package.removeprefix("api."))
        try:
            return self._catalogue.struct(f"{package}/{version}.{kind}")
        except KeyError:
            return None


@lru_cache(maxsize=4)
def _package_definitions(version: str) -> dict[str, Object]:
    # The package is found and not imported: its validators cost more than its data.
    spec = find_spec("kubernetes_validate")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the OpenAPI documents need the package kubernetes-validate; install it")
    folder = Path(spec.origin).parent / "kubernetes-json-schema" / f"v{version}.0-local"
    definitions: dict[str, Object] = orjson.loads((folder / "_definitions.json").read_bytes())["$defs"]
    return definitions


def _plain(schema: Any) -> Any:
    """A copy without the package's nulls, its references as OpenAPI v2 has them."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {key: _plain(value) for key, value in schema.items()}
    kind = copied.get("type")
    if isinstance(kind, list):
        copied["type"] = next(each for each in kind if each != "null")
    reference = copied.get("$ref")
    if isinstance(reference, str):
        copied["$ref"] = reference.replace(_PACKAGE_PREFIX, V2_PREFIX)
    return copied


def v3_form(schema: Any) -> Any:
    """A v2 schema in v3's form: a reference that says more than the reference becomes `allOf`."""
    if isinstance(schema, list):
        return [v3_form(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        reference = reference.replace(V2_PREFIX, V3_PREFIX)
        rest = {key: v3_form(value) for key, value in schema.items() if key != "$ref"}
        return {**rest, "allOf": [{"$ref": reference}]} if rest else {"$ref": reference}
    return {key: v3_form(value) for key, value in schema.items()}


def _with_defaults(schema: Object, field: Field) -> Object:
    schema = _element_defaults(schema, field.type)
    if field.default is not None:
        return _default(schema, field.default)
    if field.pointer:
        return schema
    if isinstance(field.type, Struct):
        return _default(schema, {})
    if isinstance(field.type, Scalar) and not field.omit_empty and field.type.kind in _ZEROS:
        return _default(schema, _ZEROS[field.type.kind])
    return schema


def _element_defaults(schema: Object, kind: Type) -> Object:
    """Elements of lists and maps are never pointers: each has its type's zero as a default."""
    if isinstance(kind, ListType):
        inner = "items"
    elif isinstance(kind, MapType):
        inner = "additionalProperties"
    else:
        return schema
    element = schema.get(inner)
    if not isinstance(element, dict):
        return schema
    element = _element_defaults(element, kind.element)
    if isinstance(kind.element, Struct):
        element = _default(element, {})
    elif isinstance(kind.element, Scalar) and kind.element.kind in _ZEROS:
        element = _default(element, _ZEROS[kind.element.kind])
    return {**schema, inner: element}


def _default(schema: Object, value: Any) -> Object:
    reference = schema.get("$ref")
    if reference is not None:
        schema = {"allOf": [{"$ref": reference}]}
    return {**schema, "default": value}
