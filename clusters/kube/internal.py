"""How Kubernetes prints its internal Go structs: `{"Name":"c","Image":"x",…}`, every field, zero values too.

Some messages show a whole object ("Invalid value: {…}: field is immutable"). What they show is json.Marshal of
the *internal* type, which has no JSON tags: Go's field names, Go's order, `null` for what is not set. The
table `internal_types.json` holds, per struct, rows of (printed name, API field name, type, flag).

    >>> print(printed("rbac.RoleRef", {"kind": "Role", "name": "a"}))
    {"APIGroup":"","Kind":"Role","Name":"a"}
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from clusters.kube.gostring import Verbatim, to_json

_ZERO: dict[str, object] = {"string": "", "int": 0, "bool": False, "float": 0, "quantity": "0", "intstr": 0}
# Fields that the API has in the Pod's spec and the internal type in its security context.
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


@cache
def _table() -> dict[str, list[tuple[str, str, str, str]]]:
    loaded: dict[str, list[tuple[str, str, str, str]]] = json.loads(
        Path(__file__).with_name("internal_types.json").read_bytes()
    )
    return loaded


def printed(type_name: str, value: Any) -> Verbatim:
    """`value` (as the API has it) as json.Marshal prints the internal type; maps sorted, fields in Go's order."""
    return Verbatim(_dump(tree(type_name, value, keep_empty=True)))


def tree(type_name: str, value: Any, *, keep_empty: bool = False) -> Any:
    """The same as plain values: dicts ordered as Go's struct fields. Empty lists and maps are `null` unless
    `keep_empty`: Go prints `[]` for what was given as `[]`."""
    if type_name.startswith("*"):
        return None if value is None else tree(type_name[1:], value, keep_empty=keep_empty)
    if type_name.startswith(("[]", "map:")):
        if value is None or (not value and not keep_empty):
            return None
        if type_name == "[]byte":
            return value
        if type_name.startswith("[]"):
            return [tree(type_name[2:], each, keep_empty=keep_empty) for each in value]
        return {name: tree(type_name[4:], value[name], keep_empty=keep_empty) for name in sorted(value)}
    rows = _table().get(type_name)
    if rows is None:
        return _ZERO.get(type_name) if value is None else value
    return _struct(type_name, rows, value or {}, keep_empty)


def _struct(
    type_name: str, rows: list[tuple[str, str, str, str]], value: dict[str, Any], keep_empty: bool
) -> dict[str, Any]:
    if type_name == "core.PodSpec":
        host = {name: value[name] for name in _HOST_FIELDS if name in value}
        if host:
            value = value | {"securityContext": (value.get("securityContext") or {}) | host}
    fields: dict[str, Any] = {}
    for name, api_name, field_type, flag in rows:
        if flag == "i":
            inlined = value.get("metadata") if field_type == "meta.ObjectMeta" else value
            fields |= tree(field_type, inlined, keep_empty=keep_empty)
            continue
        shown = tree(field_type, value.get(api_name), keep_empty=keep_empty)
        if flag != "o" or shown not in (None, "", 0, False, {}, []):
            fields[name] = shown
    return fields


def _dump(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{to_json(name)}:{_dump(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_dump(each) for each in value) + "]"
    return to_json(value)
