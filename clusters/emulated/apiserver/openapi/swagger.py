"""OpenAPI v2 of the same operations, for clients that do not know v3."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.openapi.definitions import V2_PREFIX, V3_PREFIX

Object = dict[str, Any]

_FORM_ORDER = (
    "*/*", "text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch",
    "application/jwk-set+json", "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml",
)  # fmt: skip


def v2_path_item(item: Object) -> Object:
    """A path of OpenAPI v3 as v2 says it: bodies are parameters, content types are lists."""
    converted: Object = {method: _operation(operation) for method, operation in item.items() if method != "parameters"}
    if "parameters" in item:
        converted["parameters"] = [_parameter(each) for each in item["parameters"]]
    return converted


def _operation(operation: Object) -> Object:
    body = operation.get("requestBody")
    parameters = [_parameter(each) for each in operation.get("parameters", ())]
    converted: Object = {"description": operation["description"]}
    if body is not None:
        converted["consumes"] = sorted(body["content"], key=_FORM_ORDER.index)
        schema = next(iter(body["content"].values()))["schema"]
        required = {"required": True} if body.get("required") else {}
        parameters.insert(0, {"name": "body", "in": "body", **required, "schema": _schema(schema)})
    elif "x-kubernetes-action" in operation:
        converted["consumes"] = ["*/*"]
    elif len(operation["responses"]["200"]["content"]) > 1:
        converted["consumes"] = list(_FORM_ORDER[2:5])
    converted["produces"] = sorted(operation["responses"]["200"]["content"], key=_FORM_ORDER.index)
    converted["schemes"] = ["https"]
    converted["tags"] = operation["tags"]
    converted["operationId"] = operation["operationId"]
    if parameters:
        converted["parameters"] = parameters
    converted["responses"] = {code: _response(response) for code, response in operation["responses"].items()}
    for extension in ("x-kubernetes-action", "x-kubernetes-group-version-kind"):
        if extension in operation:
            converted[extension] = operation[extension]
    return converted


def _parameter(parameter: Object) -> Object:
    rest = {key: value for key, value in parameter.items() if key != "schema"}
    return {**parameter["schema"], **rest}


def _response(response: Object) -> Object:
    content = response.get("content")
    if not content:
        return {"description": response["description"]}
    schema = next(iter(content.values()))["schema"]
    return {"description": response["description"], "schema": _schema(schema)}


def _schema(schema: Object) -> Object:
    reference = schema.get("$ref")
    return schema if reference is None else {"$ref": reference.replace(V3_PREFIX, V2_PREFIX)}
