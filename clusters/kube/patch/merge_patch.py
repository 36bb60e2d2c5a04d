"""RFC 7386, JSON merge patch: maps are merged, null removes, everything else replaces.

>>> apply({"data": {"a": "1", "b": "2"}}, {"data": {"a": None, "c": "3"}})
{'data': {'b': '2', 'c': '3'}}
"""

from __future__ import annotations

from typing import Any

from clusters.kube.patch.errors import PatchError, json_kind


def apply(document: dict[str, Any], patch: Any, *, strict: bool = True) -> Any:
    """The patched document; `strict` is whether field validation is Warn or Strict: the words differ."""
    if isinstance(patch, dict):
        return _merged(document, patch)
    if patch is not None and strict:
        kind = json_kind(patch)
        text = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        raise PatchError(f"error decoding patch: {text}", "malformed")
    if isinstance(patch, list):
        return _pruned(patch)  # The whole document is replaced; decoding it is what fails.
    raise PatchError("Invalid JSON Patch", "malformed")


def _merged(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(document)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        current = merged.get(key)
        if isinstance(current, dict):
            merged[key] = _merged(current, value) if isinstance(value, dict) else value
        else:
            merged[key] = _pruned(value)
    return merged


def _pruned(value: Any) -> Any:
    """Nulls in maps go, in lists they stay: a new value must not carry removals with it."""
    if isinstance(value, dict):
        return {key: _pruned(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    return value
