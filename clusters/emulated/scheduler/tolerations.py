"""Which taints a Pod tolerates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Object = dict[str, Any]

HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def tolerates(tolerations: Sequence[Object], taint: Object) -> bool:
    return any(tolerates_taint(one, taint) for one in tolerations)


def tolerates_taint(toleration: Object, taint: Object) -> bool:
    """An empty effect tolerates every effect; an empty key with Exists tolerates every taint."""
    effect = toleration.get("effect")
    if effect and effect != taint.get("effect"):
        return False
    key = toleration.get("key")
    if key and key != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    if operator == "Equal":
        return bool((toleration.get("value") or "") == (taint.get("value") or ""))
    return False


def untolerated(tolerations: Sequence[Object], taints: Sequence[Object]) -> Object | None:
    """The first of `taints` that the Pod does not tolerate."""
    for taint in taints:
        if not tolerates(tolerations, taint):
            return taint
    return None


def hard_taints(node: Object) -> tuple[Object, ...]:
    taints = (node.get("spec") or {}).get("taints") or ()
    return tuple(taint for taint in taints if taint.get("effect") in HARD_EFFECTS)
