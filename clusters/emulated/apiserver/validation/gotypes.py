"""Objects as Go's own structs: printed in messages, compared as Kubernetes compares them, diffed.

    >>> shown("SeccompProfile", {"type": "Unconfined"}).text
    '{"Type":"Unconfined","LocalhostProfile":null}'

Only errors and updates come here, so the tables are read on first use.
"""

from __future__ import annotations

import difflib
import json
from functools import lru_cache
from typing import Any, NamedTuple

from clusters.kube.gostring import Verbatim
from clusters.kube.quantity import QuantityError, parse

_ZERO: dict[str, Any] = {"s": "", "i": 0, "b": False, "q": "0", "x": 0, "t": None, "y": None}
# In the API these stand in the spec; inside they belong to the pod's security context.
_MOVED_TO_SECURITY_CONTEXT = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


class _Field(NamedTuple):
    go_name: str
    json_name: str
    code: str
    omit_empty: bool


@lru_cache(maxsize=1)
def _types() -> dict[str, tuple[_Field, ...]]:
    from clusters.emulated.apiserver.validation.internal_core_types import CORE_TYPES

    types: dict[str, tuple[_Field, ...]] = {}
    for entry in CORE_TYPES.replace("\n    ", " ").splitlines():
        name, _, rest = entry.partition(": ")
        fields = []
        for item in rest.split():
            names, _, code = item.partition(":")
            go_name, _, json_name = names.partition("=")
            fields.append(_Field(go_name, json_name, code.rstrip("~"), code.endswith("~")))
        types[name] = tuple(fields)
    return types


def internal(code: str, value: Any) -> Any:
    """`value` (from the API) as the internal type `code` ("SPodSpec", "[SToleration", …) has it."""
    kind, rest = code[0], code[1:]
    if kind == "?":
        return None if value is None else internal(rest, value)
    if kind == "[":
        return None if value is None else [internal(rest, item) for item in value]
    if kind == "{":
        return None if value is None else {name: internal(rest, value[name]) for name in sorted(value)}
    if kind == "S":
        return _struct(rest, value or {})
    return _ZERO[kind] if value is None else value


def _converted_pod_spec(spec: dict[str, Any]) -> dict[str, Any]:
    moved = {field: spec[field] for field in _MOVED_TO_SECURITY_CONTEXT if field in spec}
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or ""
    context = (spec.get("securityContext") or {}) | moved
    return spec | {"securityContext": context, "serviceAccountName": account}


def _struct(name: str, value: dict[str, Any]) -> dict[str, Any]:
    if name == "PodSpec":
        value = _converted_pod_spec(value)
    printed: dict[str, Any] = {}
    for go_name, json_name, code, omit_empty in _types()[name]:
        if go_name == "+":
            printed |= _struct(code[1:], value.get("metadata") or {} if code == "SObjectMeta" else value)
            continue
        item = internal(code, value.get(json_name))
        if not omit_empty or item not in (None, "", 0, False, [], {}):
            printed[go_name] = item
    return printed


def _escape(text: str) -> str:
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shown(type_name: str, value: Any) -> Verbatim:
    """What json.Marshal prints for `value` as that internal struct; a code such as "[SPodIP" is taken too."""
    code = type_name if type_name[0] in "[{?" else f"S{type_name}"
    printed = json.dumps(internal(code, value), separators=(",", ":"), ensure_ascii=False)
    return Verbatim(_escape(printed))


def diff(type_name: str, old: Any, new: Any) -> str:
    """The unified diff of two structs' indented JSON, as Kubernetes appends it to "is immutable" messages."""
    texts = [
        [f"{line}\n" for line in _escape(_pretty(f"S{type_name}", value)).split("\n")] for value in (old, new)
    ]
    return "".join(list(difflib.unified_diff(texts[0], texts[1], n=3))[2:])


def _pretty(code: str, value: Any) -> str:
    return json.dumps(internal(code, value), indent=1, ensure_ascii=False)


def equal(type_name: str, one: Any, other: Any) -> bool:
    """Semantic equality: absent and empty lists and maps are the same, quantities compare by amount."""
    if one == other:
        return True
    code = type_name if type_name[0] in "[{?" else f"S{type_name}"
    return bool(_normal(code, one) == _normal(code, other))


def _normal(code: str, value: Any) -> Any:
    kind, rest = code[0], code[1:]
    if kind == "?":
        return None if value is None else (_normal(rest, value),)
    if kind == "[":
        return [_normal(rest, item) for item in value] if value else None
    if kind == "{":
        return {name: _normal(rest, item) for name, item in value.items()} if value else None
    if kind == "S":
        return _normal_struct(rest, value or {})
    if kind == "q":
        try:
            return parse(str(value or "0")).nanos
        except QuantityError:
            return value
    return _ZERO[kind] if value is None else value


def _normal_struct(name: str, value: dict[str, Any]) -> dict[str, Any]:
    if name == "PodSpec":
        value = _converted_pod_spec(value)
    normal: dict[str, Any] = {}
    for go_name, json_name, code, _ in _types()[name]:
        if go_name == "+":
            normal |= _normal_struct(code[1:], value.get("metadata") or {} if code == "SObjectMeta" else value)
        else:
            normal[go_name] = _normal(code, value.get(json_name))
    return normal
