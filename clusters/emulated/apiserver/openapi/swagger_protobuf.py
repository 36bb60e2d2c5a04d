"""OpenAPI v2 as protobuf, the form in which client-go asks for it (gnostic's `openapi.v2.Document`).

Only what our own document has is written: the field numbers are those of gnostic's OpenAPIv2.proto.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from clusters.kube.protobuf.wire import delimited, varint

Object = dict[str, Any]

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_INTEGERS = {"maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17, "minProperties": 18}
# By where a parameter is: its place in NonBodyParameter, then its own fields.
_PARAMETERS = {
    "query": (3, {"required": 1, "in": 2, "description": 3, "name": 4, "type": 6, "format": 7, "uniqueItems": 20}),
    "path": (4, {"required": 1, "in": 2, "description": 3, "name": 4, "type": 5, "format": 6, "uniqueItems": 19}),
}


def encode(document: Object) -> bytes:
    """`document` is a whole OpenAPI v2 document."""
    info = document["info"]
    paths = b"".join(_named(2, path, _path_item(item)) for path, item in document["paths"].items())
    definitions = b"".join(_named(1, name, _schema(schema)) for name, schema in document["definitions"].items())
    schemes = document["securityDefinitions"].items()
    security = b"".join(_named(1, name, delimited(2, _api_key(each))) for name, each in schemes)
    return b"".join(
        (
            _text(1, document["swagger"]),
            delimited(2, _text(1, info["title"]) + _text(2, info["version"])),
            delimited(8, paths),
            delimited(9, definitions),
            *(delimited(12, b"".join(_named(1, name, b"") for name in each)) for each in document["security"]),
            delimited(13, security),
        )
    )


def _path_item(item: Object) -> bytes:
    operations = [delimited(number, _operation(item[method])) for method, number in _METHODS.items() if method in item]
    return b"".join(operations) + b"".join(delimited(9, _parameter(each)) for each in item.get("parameters", ()))


def _operation(operation: Object) -> bytes:
    return b"".join(
        (
            _texts(1, operation["tags"]),
            _text(3, operation["description"]),
            _text(5, operation["operationId"]),
            _texts(6, operation.get("produces", ())),
            _texts(7, operation.get("consumes", ())),
            *(delimited(8, _parameter(each)) for each in operation.get("parameters", ())),
            delimited(9, b"".join(_named(1, code, _response(each)) for code, each in operation["responses"].items())),
            _texts(10, operation.get("schemes", ())),
            *_extensions(13, operation),
        )
    )


def _parameter(parameter: Object) -> bytes:
    """ParametersItem > Parameter > the message of its kind."""
    if parameter["in"] == "body":
        required = _flag(4) if parameter.get("required") else b""
        body = _text(2, parameter["name"]) + _text(3, "body") + required + delimited(5, _schema(parameter["schema"]))
        return delimited(1, delimited(1, body))
    place, numbers = _PARAMETERS[parameter["in"]]
    written = b"".join(
        _flag(number) if parameter[name] is True else _text(number, parameter[name])
        for name, number in numbers.items()
        if parameter.get(name)
    )
    return delimited(1, delimited(2, delimited(place, written)))


def _response(response: Object) -> bytes:
    schema = response.get("schema")
    body = _text(1, response["description"])
    if schema is not None:
        body += delimited(2, delimited(1, _schema(schema)))
    return delimited(1, body)


def _schema(schema: Object) -> bytes:
    parts: list[bytes] = []
    for name, number in (("$ref", 1), ("format", 2), ("title", 3), ("description", 4), ("pattern", 13)):
        if name in schema:
            parts.append(_text(number, schema[name]))
    if "default" in schema:
        parts.append(delimited(5, _any(schema["default"])))
    for name, number in _INTEGERS.items():
        if name in schema:
            parts.append(varint(number << 3) + varint(schema[name]))
    if schema.get("uniqueItems"):
        parts.append(_flag(16))
    parts.append(_texts(19, schema.get("required", ())))
    parts += [delimited(20, _any(each)) for each in schema.get("enum", ())]
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        parts.append(delimited(21, delimited(1, _schema(more))))
    elif more:
        parts.append(delimited(21, _flag(2)))
    if "type" in schema:
        parts.append(delimited(22, _text(1, schema["type"])))
    if isinstance(schema.get("items"), dict):
        parts.append(delimited(23, delimited(1, _schema(schema["items"]))))
    parts += [delimited(24, _schema(each)) for each in schema.get("allOf", ())]
    if "properties" in schema:
        listed = (_named(1, name, _schema(each)) for name, each in schema["properties"].items())
        parts.append(delimited(25, b"".join(listed)))
    parts += _extensions(31, schema)
    return b"".join(parts)


def _api_key(scheme: Object) -> bytes:
    numbers = {"type": 1, "name": 2, "in": 3, "description": 4}
    return b"".join(_text(number, scheme[name]) for name, number in numbers.items())


def _extensions(number: int, owner: Object) -> list[bytes]:
    return [_named(number, name, _any(value)) for name, value in owner.items() if name.startswith("x-")]


def _any(value: Any) -> bytes:
    """As YAML text; JSON is YAML."""
    return _text(2, orjson.dumps(value).decode() + "\n")


def _named(number: int, name: str, value: bytes) -> bytes:
    return delimited(number, _text(1, name) + delimited(2, value))


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_text(number, each) for each in values)


def _text(number: int, value: str) -> bytes:
    return delimited(number, value.encode())


def _flag(number: int) -> bytes:
    return varint(number << 3) + b"\x01"
