"""What happened in the cluster, in the grain in which it may help a Pod that waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any

from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.resource_requests import amounts, pod_request

Object = dict[str, Any]


class Action(Flag):
    ADD = auto()
    DELETE = auto()
    UPDATE = auto()  # Something else changed than the following.
    NODE_ALLOCATABLE = auto()
    NODE_LABEL = auto()
    NODE_TAINT = auto()
    NODE_CONDITION = auto()
    NODE_ANNOTATION = auto()
    NODE_FEATURE = auto()
    POD_LABEL = auto()
    POD_SCALE_DOWN = auto()
    POD_TOLERATION = auto()
    POD_GATES_GONE = auto()
    POD_CLAIMS_GENERATED = auto()


UPDATES = ~(Action.ADD | Action.DELETE)


@dataclass(frozen=True, slots=True)
class Event:
    """`resource` is a kind, or `*`: the Pod has waited long enough and is tried whatever happened."""

    resource: str
    action: Action


TIMEOUT = Event("*", Action.UPDATE)

# Called with the Pod that waits and the object before and after; True: worth another attempt.
Hint = Callable[[PodInfo, Object | None, Object | None], bool]


def always(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    return True


def never(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Registration:
    """A plugin asks to hear of these events; its hint tells whether a certain Pod profits."""

    resource: str
    actions: Action
    hint: Hint = always


def pod_changes(old: Object, new: Object) -> list[Event]:
    """Never empty: when nothing of interest changed it is a plain update."""
    actions = []
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        actions.append(Action.POD_LABEL)
    if _scaled_down(old, new):
        actions.append(Action.POD_SCALE_DOWN)
    if old["spec"].get("schedulingGates") and not new["spec"].get("schedulingGates"):
        actions.append(Action.POD_GATES_GONE)
    if len(old["spec"].get("tolerations") or ()) != len(new["spec"].get("tolerations") or ()):
        actions.append(Action.POD_TOLERATION)
    old_status, new_status = old.get("status") or {}, new.get("status") or {}
    if old_status.get("resourceClaimStatuses") != new_status.get("resourceClaimStatuses"):
        actions.append(Action.POD_CLAIMS_GENERATED)
    return [Event("Pod", action) for action in actions or [Action.UPDATE]]


def _scaled_down(old: Object, new: Object) -> bool:
    if old["spec"]["containers"] == new["spec"]["containers"] and not (new.get("status") or {}).get("resize"):
        old_statuses = (old.get("status") or {}).get("containerStatuses")
        if old_statuses is None or old_statuses == (new.get("status") or {}).get("containerStatuses"):
            return False
    before, after = pod_request(old), pod_request(new)
    return (
        after.cpu_milli < before.cpu_milli
        or after.memory < before.memory
        or after.ephemeral_storage < before.ephemeral_storage
        or any(after.scalar.get(name, 0) < number for name, number in before.scalar.items())
    )


def node_changes(old: Object, new: Object) -> list[Event]:
    """Empty for a mere heartbeat."""
    old_spec, new_spec = old.get("spec") or {}, new.get("spec") or {}
    old_status, new_status = old.get("status") or {}, new.get("status") or {}
    actions = []
    if old_spec.get("unschedulable") and not new_spec.get("unschedulable"):
        actions.append(Action.NODE_TAINT)
    if amounts(old_status.get("allocatable")) != amounts(new_status.get("allocatable")):
        actions.append(Action.NODE_ALLOCATABLE)
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        actions.append(Action.NODE_LABEL)
    if (old_spec.get("taints") or []) != (new_spec.get("taints") or []):
        actions.append(Action.NODE_TAINT)
    if _conditions(old_status) != _conditions(new_status):
        actions.append(Action.NODE_CONDITION)
    if (old["metadata"].get("annotations") or {}) != (new["metadata"].get("annotations") or {}):
        actions.append(Action.NODE_ANNOTATION)
    if (old_status.get("declaredFeatures") or []) != (new_status.get("declaredFeatures") or []):
        actions.append(Action.NODE_FEATURE)
    return [Event("Node", action) for action in dict.fromkeys(actions)]


def _conditions(status: Object) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status.get("conditions") or ()}
