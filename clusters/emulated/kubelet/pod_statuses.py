"""The statuses this kubelet reports: what was decided last for each Pod, and its way to the api-server.

A status is sent when it changed, one after the other. A Pod that is being deleted, whose containers are gone and
whose end the api-server knows, is finally removed: DELETE with grace period 0 and its uid.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, Conflict, NotFound
from clusters.emulated.client.resources import PODS
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.kubelet.api_status import TERMINAL
from clusters.emulated.kubelet.container_statuses import LOST
from clusters.emulated.kubelet.phase import is_static
from clusters.emulated.kubelet.pod_conditions import (
    KUBELETS_OWN,
    READY_TO_START,
    condition,
    containers_ready_condition,
    ready_condition,
)
from clusters.emulated.kubelet.status_patch import status_patch

log = logging.getLogger(__name__)

Object = dict[str, Any]

RETRY_S: Final = 10.0
_MESSAGES_BYTES_MAX: Final = 12 * 1024


@dataclass(slots=True)
class _Reported:
    pod: Object
    status: Object
    version: int = 1
    sent_version: int = 0
    finished: bool = False


class PodStatuses:
    """`latest(uid)` is the newest Pod of this uid known from the api-server (for a static Pod: its mirror)."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        latest: Callable[[str], Object | None],
        could_be_running: Callable[[str], bool],
    ) -> None:
        self._api = api
        self._clock = clock
        self._latest = latest
        self._could_be_running = could_be_running
        self._reported: dict[str, _Reported] = {}
        #: The answers to our own patches, until the watch has caught up with them.
        self._written: dict[str, Object] = {}
        self._due: dict[str, None] = {}
        self._wake = asyncio.Event()

    # Reading

    def get(self, uid: str) -> Object | None:
        found = self._reported.get(uid)
        return None if found is None else found.status

    def __contains__(self, uid: str) -> bool:
        return uid in self._reported

    # Deciding

    def set(self, pod: Object, status: Object, *, finished: bool = False, force: bool = False) -> None:
        uid = pod["metadata"]["uid"]
        known = self._reported.get(uid)
        before = known.status if known is not None else (self._latest(uid) or pod).get("status") or {}
        now = rfc3339(self._clock.now_s())
        _keep_transition_times(status, before, now)
        status["startTime"] = before.get("startTime") or now
        if before.get("observedGeneration", 0) > status.get("observedGeneration", 0):
            status["observedGeneration"] = before["observedGeneration"]
        _shorten_messages(pod, status)
        if known is None:
            self._reported[uid] = _Reported(pod, status, finished=finished)
        else:
            if known.status == status and not force:
                return
            known.pod, known.status = pod, status
            known.version += 1
            known.finished = known.finished or finished
        self._send_soon(uid)

    def sandbox_is_ready(self, pod: Object) -> None:
        """Said as soon as there is a sandbox, before any container starts."""
        status = self._reported[pod["metadata"]["uid"]].status
        made = condition(READY_TO_START, True, pod["metadata"].get("generation", 0))
        conditions = [made if each["type"] == READY_TO_START else {**each} for each in status["conditions"]]
        self.set(pod, {**status, "conditions": conditions})

    def set_ready(self, pod: Object, container_id: str, ready: bool) -> None:
        """A readiness probe changed its mind."""
        self._set_flag(pod, container_id, "ready", ready)

    def set_started(self, pod: Object, container_id: str, started: bool) -> None:
        self._set_flag(pod, container_id, "started", started)

    def _set_flag(self, pod: Object, container_id: str, flag: str, value: bool) -> None:
        known = self._reported.get(pod["metadata"]["uid"])
        if known is None:
            return
        status = {**known.status}
        hit = False
        for kind in ("containerStatuses", "initContainerStatuses"):
            statuses = []
            for each in status.get(kind) or ():
                if each.get("containerID") == container_id and each[flag] != value:
                    each, hit = {**each, flag: value}, True
                statuses.append(each)
            if statuses:
                status[kind] = statuses
        if not hit:
            return
        if flag == "ready":
            all_statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
            made = {
                "Ready": ready_condition(pod, all_statuses, status["phase"], status["conditions"]),
                "ContainersReady": containers_ready_condition(pod, all_statuses, status["phase"]),
            }
            status["conditions"] = [made.get(each["type"], {**each}) for each in status["conditions"]]
        self.set(pod, status)

    def terminate(self, pod: Object) -> None:
        """Nothing of the Pod is left: whatever has not ended is lost, and the Pod has ended for good."""
        uid = pod["metadata"]["uid"]
        known = self._reported.get(uid)
        status = {**(known.status if known is not None else pod.get("status") or {})}
        lost = {
            "terminated": {
                "exitCode": 137,
                "reason": LOST,
                "message": "The container could not be located when the pod was terminated",
                "startedAt": None,
                "finishedAt": None,
            }
        }
        for kind in ("containerStatuses", "initContainerStatuses"):
            statuses = status.get(kind) or []
            started = kind == "containerStatuses" and _has_initialized(pod, status)
            if started:
                status[kind] = [each if "terminated" in each["state"] else {**each, "state": lost} for each in statuses]
        status["conditions"] = [{**each} for each in status.get("conditions") or ()]
        if status.get("phase") not in TERMINAL and not is_static(pod):
            status["phase"] = "Failed"
        self.set(pod, status, finished=True, force=True)

    def reconsider(self, uid: str) -> None:
        """The Pod changed at the api-server; perhaps it can be removed now."""
        if uid in self._reported and self._reported[uid].finished:
            self._send_soon(uid)

    def forget(self, uid: str) -> None:
        self._reported.pop(uid, None)
        self._written.pop(uid, None)
        self._due.pop(uid, None)

    # Sending

    def _send_soon(self, uid: str) -> None:
        self._due[uid] = None
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._due:
                uid = next(iter(self._due))
                del self._due[uid]
                try:
                    await self._send(uid)
                except NotFound:
                    log.debug("pod %s is gone; its status is not wanted any more", uid)
                except ApiFailure as failed:
                    log.warning("status of pod %s not sent: %s", uid, failed.message)
                    self._clock.call_later(RETRY_S, lambda uid=uid: self._retry(uid))  # type: ignore[misc]

    def _retry(self, uid: str) -> None:
        if uid in self._reported:
            self._send_soon(uid)

    def _current(self, uid: str) -> Object | None:
        seen, written = self._latest(uid), self._written.get(uid)
        if written is None or seen is None:
            return seen if written is None else None
        if _revision(seen) >= _revision(written):
            del self._written[uid]
            return seen
        return written

    async def _send(self, uid: str) -> None:
        reported = self._reported.get(uid)
        current = self._current(uid)
        if reported is None or current is None:
            return
        metadata = current["metadata"]
        version, finished = reported.version, reported.finished
        merged = merged_status(current, reported.status, self._could_be_running(uid))
        patch = status_patch(metadata["uid"], current.get("status") or {}, merged)
        if patch is not None:
            try:
                current = await self._api.patch(
                    PODS, metadata["name"], patch, metadata["namespace"], type="strategic", subresource="status"
                )
            except Conflict:
                return  # Another Pod of that name: this one is gone.
            if uid in self._reported:
                self._written[uid] = current
        reported.sent_version = version
        if finished and _may_be_removed(current):
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": current["metadata"]["uid"]}}
            await self._api.delete(PODS, metadata["name"], metadata["namespace"], options)
            self.forget(uid)


def merged_status(pod: Object, new: Object, could_be_running: bool) -> Object:
    """What to write: others' conditions stay, and the Pod does not end while anything of it may still run."""
    old = pod.get("status") or {}
    status = {**new}
    ending = old.get("phase") not in TERMINAL and status["phase"] in TERMINAL
    kept = [each for each in old.get("conditions") or () if each["type"] not in KUBELETS_OWN]
    own = [each for each in status.get("conditions") or () if each["type"] in KUBELETS_OWN]
    for each in status.get("conditions") or ():
        if each["type"] == "DisruptionTarget" and ending and not could_be_running:
            kept = [other for other in kept if other["type"] != "DisruptionTarget"] + [each]
    conditions = kept + own
    for name in ("resourceClaimStatuses", "extendedResourceClaimStatus", "nominatedNodeName"):
        if name in old:
            status[name] = old[name]
    if ending and could_be_running:
        status["phase"] = old.get("phase", "Pending")
        for name in ("reason", "message"):
            status.pop(name, None)
            if old.get(name):
                status[name] = old[name]
    if status["phase"] in TERMINAL:
        reason = "PodFailed" if status["phase"] == "Failed" else "PodCompleted"
        conditions = [
            {**_without_message(each), "status": "False", "reason": reason}
            if each["type"] in ("Ready", "ContainersReady") and each["status"] == "True"
            else each
            for each in conditions
        ]
    if conditions:
        status["conditions"] = conditions
    return status


def _without_message(made: Object) -> Object:
    return {name: value for name, value in made.items() if name != "message"}


def _keep_transition_times(status: Object, before: Object, now: str) -> None:
    known = {each["type"]: each for each in before.get("conditions") or ()}
    for each in status.get("conditions") or ():
        old = known.get(each["type"])
        if each["type"] not in KUBELETS_OWN and each.get("lastTransitionTime"):
            continue
        same = old is not None and old["status"] == each["status"] and old.get("lastTransitionTime")
        each["lastTransitionTime"] = old["lastTransitionTime"] if old is not None and same else now


def _shorten_messages(pod: Object, status: Object) -> None:
    """The termination messages of all containers together fit into 12 KiB."""
    spec = pod["spec"]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    share = _MESSAGES_BYTES_MAX // max(sum(len(spec.get(kind) or ()) for kind in kinds), 1)
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for each in status.get(kind) or ():
            for name in ("state", "lastState"):
                ended = (each.get(name) or {}).get("terminated")
                if ended and len(ended.get("message", "")) > share:
                    each[name] = {"terminated": {**ended, "message": ended["message"][:share]}}


def _has_initialized(pod: Object, status: Object) -> bool:
    inits = status.get("initContainerStatuses") or ()
    return not pod["spec"].get("initContainers") or all(
        each.get("started") or (each["state"].get("terminated") or {}).get("exitCode") == 0 for each in inits
    )


def _may_be_removed(pod: Object) -> bool:
    annotations = pod["metadata"].get("annotations") or {}
    if not pod["metadata"].get("deletionTimestamp") or "kubernetes.io/config.mirror" in annotations:
        return False
    return (pod.get("status") or {}).get("phase") in TERMINAL


def _revision(pod: Object) -> int:
    text = pod["metadata"].get("resourceVersion", "")
    return int(text) if text.isdigit() else 0
