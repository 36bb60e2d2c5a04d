"""status.containerStatuses from what the runtime has, what was said before, and why the last start failed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.kubelet.cri import CREATED, EXITED, RUNNING, ContainerState, PodState
from clusters.emulated.kubelet.pod_actions import any_regular_created
from clusters.emulated.kubelet.restarts import is_sidecar, should_be_restarted

Object = dict[str, Any]
#: Why the last start of a container failed: reason and message.
Reason = Callable[[str], tuple[str, str] | None]

LOST: Final = "ContainerStatusUnknown"


def container_statuses(
    pod: Object,
    state: PodState,
    containers: Sequence[Object],
    old: Sequence[Object],
    reason_of: Reason,
    *,
    init: bool = False,
) -> list[Object]:
    waiting = "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"
    old_by_name = {status["name"]: status for status in old}
    statuses: dict[str, Object] = {}
    for container in containers:
        name = container["name"]
        status = _of_runtime(pod, state, container, old_by_name.get(name))
        if status is None:
            status = _without_runtime(pod, container, old_by_name.get(name), waiting)
        statuses[name] = status
        if init and _completed_unseen(pod, state, container, status):
            continue
        _explain(pod, state, container, status, reason_of(name), init)
    if init:
        return [statuses[container["name"]] for container in containers]
    return [statuses[name] for name in sorted(statuses)]


def _of_runtime(pod: Object, state: PodState, container: Object, old: Object | None) -> Object | None:
    """The youngest container of the name, and the one before it as the last state."""
    found = [each for each in state.containers if each.name == container["name"]][:2]
    if not found:
        return None
    youngest = found[0]
    status: Object = {
        "name": youngest.name,
        "state": _state(youngest),
        "lastState": {},
        "ready": False,
        "restartCount": youngest.attempt,
        "image": youngest.image,
        "imageID": youngest.image_ref,
        "containerID": youngest.id,
        "started": bool((old or {}).get("started")) if youngest.state == RUNNING and _same(old, youngest) else False,
    }
    requests = (container.get("resources") or {}).get("requests")
    if requests:
        status["allocatedResources"] = dict(requests)
    status["resources"] = _resources(container)
    mounts = _mounts(container, old)
    if mounts:
        status["volumeMounts"] = mounts
    if len(found) > 1:
        status["lastState"] = _state(found[1])
    elif old is not None:
        before = old["state"].get("terminated") if old.get("containerID") != youngest.id else None
        before = before or (old.get("lastState") or {}).get("terminated")
        if before and before.get("containerID") != youngest.id:
            status["lastState"] = {"terminated": before}
    return status


def _same(old: Object | None, container: ContainerState) -> bool:
    return old is not None and old.get("containerID") == container.id


def _resources(container: Object) -> Object:
    given = container.get("resources") or {}
    return {kind: dict(given[kind]) for kind in ("limits", "requests") if given.get(kind)}


def _state(container: ContainerState) -> Object:
    if container.state == RUNNING:
        return {"running": {"startedAt": rfc3339(container.started_s)}}
    if container.state == EXITED:
        ended: Object = {"exitCode": container.exit_code, "reason": container.reason}
        if container.message:
            ended["message"] = container.message
        ended |= {
            "startedAt": rfc3339(container.started_s),
            "finishedAt": rfc3339(container.finished_s),
            "containerID": container.id,
        }
        return {"terminated": ended}
    assert container.state == CREATED, container.state
    return {"waiting": {}}


def _without_runtime(pod: Object, container: Object, old: Object | None, waiting: str) -> Object:
    """Nothing there yet, or nothing left."""
    if old is not None and "terminated" in old["state"]:
        return {**old}
    status: Object = {
        "name": container["name"],
        "state": {"waiting": {"reason": waiting}},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": container.get("image", ""),
        "imageID": "",
        "started": False,
    }
    mounts = _mounts(container, None)
    if mounts:
        status["volumeMounts"] = mounts
    if old is None:
        return status
    status["restartCount"] = old.get("restartCount", 0)
    status["lastState"] = old.get("lastState") or {}
    if "running" in old["state"] and not status["lastState"].get("terminated"):
        status["lastState"] = {
            "terminated": {
                "exitCode": 137,
                "reason": LOST,
                "message": "The container could not be located when the pod was deleted.  "
                "The container used to be Running",
                "startedAt": None,
                "finishedAt": None,
            }
        }
        if not pod["metadata"].get("deletionTimestamp"):
            status["restartCount"] += 1
    return status


def _mounts(container: Object, old: Object | None) -> list[Object]:
    if old is not None and old.get("volumeMounts"):
        kept: list[Object] = old["volumeMounts"]
        return kept
    mounts = []
    for mount in container.get("volumeMounts") or ():
        shown = {"name": mount["name"], "mountPath": mount["mountPath"]}
        if mount.get("readOnly"):
            shown |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
        mounts.append(shown)
    return mounts


def _completed_unseen(pod: Object, state: PodState, container: Object, status: Object) -> bool:
    """An init container that ended well needs no explanation; one whose traces are gone counts as such."""
    found = state.find(container["name"])
    if found is not None:
        return found.state == EXITED and found.exit_code == 0
    if is_sidecar(container) or "waiting" not in status["state"] or not any_regular_created(pod, state):
        return False
    status["state"] = {
        "terminated": {
            "exitCode": 0,
            "reason": "Completed",
            "message": "Unable to get init container status from container runtime and pod has been initialized, "
            "treat it as exited normally",
            "startedAt": None,
            "finishedAt": None,
        }
    }
    return True


def _explain(
    pod: Object, state: PodState, container: Object, status: Object, reason: tuple[str, str] | None, init: bool
) -> None:
    """A container that is to be started again waits, for the reason why its last start failed."""
    if reason is None or not should_be_restarted(container, pod, state):
        return
    if "terminated" in status["state"]:
        status["lastState"] = status["state"]
    waiting: Object = {"reason": reason[0]}
    if reason[1]:
        waiting["message"] = reason[1]
    status["state"] = {"waiting": waiting}
