"""The strategic merge patch that turns one Pod status into another, as small as a kubelet sends it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Object = dict[str, Any]


def status_patch(uid: str, old: Object, new: Object) -> Object | None:
    """None when there is nothing to say. The uid makes the api-server refuse it for another Pod of that name."""
    changes: Object = {}
    for name in {**old, **new}:
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if name == "conditions":
            _merge_list(changes, name, "type", before or (), after or ())
        elif name == "podIPs":
            _merge_list(changes, name, "ip", before or (), after or ())
        elif isinstance(before, dict) and isinstance(after, dict):
            changes[name] = _map_patch(before, after)
        else:
            changes[name] = after
    return {"metadata": {"uid": uid}, "status": changes} if changes else None


def _map_patch(before: Object, after: Object) -> Object:
    patch: Object = {}
    for name in {**before, **after}:
        left, right = before.get(name), after.get(name)
        if left == right and (name in before) == (name in after):
            continue
        patch[name] = _map_patch(left, right) if isinstance(left, dict) and isinstance(right, dict) else right
    return patch


def _merge_list(changes: Object, name: str, key: str, before: Sequence[Object], after: Sequence[Object]) -> None:
    old = {each[key]: each for each in before}
    new = {each[key]: each for each in after}
    patches: list[Object] = []
    for value, each in new.items():
        known = old.get(value)
        if known is None:
            patches.append(each)
        elif known != each:
            patches.append({**_map_patch(known, each), key: value})
    patches += [{"$patch": "delete", key: value} for value in old if value not in new]
    if patches:
        changes[name] = patches
    if [*old] != [*new]:
        changes[f"$setElementOrder/{name}"] = [{key: value} for value in new]
