"""Plays a situation on any api-server with any scheduler, and says what became of its Pods after every step."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import AlreadyExists, NotFound
from clusters.emulated.client.resources import (
    CSI_NODES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    SERVICES,
    STORAGE_CLASSES,
    Resource,
)

Object = dict[str, Any]
Run = Callable[[Coroutine[Any, Any, Any]], Any]

BY_KIND: dict[str, Resource] = {
    resource.kind: resource
    for resource in (
        CSI_NODES,
        NAMESPACES,
        NODES,
        PERSISTENT_VOLUME_CLAIMS,
        PERSISTENT_VOLUMES,
        POD_DISRUPTION_BUDGETS,
        PODS,
        PRIORITY_CLASSES,
        REPLICA_SETS,
        SERVICES,
        STORAGE_CLASSES,
    )
}
Step = tuple[str, Any]


@dataclass(frozen=True)
class Situation:
    """`steps` are ("create", object), ("patch", (kind, name, change)), ("delete", (kind, name)) or ("leave", None):
    Pods that are being deleted go away, as their kubelet would have it."""

    name: str
    given: tuple[Object, ...]
    steps: tuple[Step, ...]


class Player:
    """`run` carries out a coroutine; `settle` waits until the scheduler has nothing more to do."""

    def __init__(self, api: Api, run: Run, settle: Callable[[], None]) -> None:
        self._api = api
        self._run = run
        self._settle = settle

    def play(self, situation: Situation) -> list[dict[str, str]]:
        """After every step: what became of each Pod."""
        created: list[Object] = []
        outcomes = []
        try:
            for obj in situation.given:
                self._create(obj, created)
            self._settle()
            for verb, what in situation.steps:
                self._do(verb, what, created)
                self._settle()
                outcomes.append(self.outcomes())
        finally:
            self._clean(created)
            self._settle()
        return outcomes

    def _do(self, verb: str, what: Any, created: list[Object]) -> None:
        if verb == "create":
            self._create(what, created)
        elif verb == "patch":
            kind, name, change = what
            resource = BY_KIND[kind]
            subresource = "status" if "status" in change else ""
            self._run(self._api.patch(resource, name, change, _namespace(resource), subresource=subresource))
        elif verb == "delete":
            kind, name = what
            self._delete(BY_KIND[kind], name)
        else:
            assert verb == "leave", verb
            for pod in self._run(self._api.list(PODS, "default")).items:
                if "deletionTimestamp" in pod["metadata"]:
                    self._delete(PODS, pod["metadata"]["name"])

    def _create(self, obj: Object, created: list[Object]) -> None:
        resource = BY_KIND[obj["kind"]]
        namespace = _namespace(resource)
        try:
            stored = self._run(self._api.create(resource, {**obj}, namespace))
        except AlreadyExists:
            assert obj["kind"] == "Namespace", obj["metadata"]["name"]
            return
        created.append(obj)
        name = obj["metadata"]["name"]
        if resource is NODES:
            # Admission taints every new node as not ready; here they are ready from the start.
            change = {"spec": {"taints": obj["spec"].get("taints") or None}}
            self._run(self._api.patch(NODES, name, change))
        elif resource is PERSISTENT_VOLUMES:
            status = {"status": {"phase": "Available"}}
            self._run(self._api.patch(PERSISTENT_VOLUMES, name, status, subresource="status"))
        elif resource is PERSISTENT_VOLUME_CLAIMS and obj["spec"].get("volumeName"):
            status = {"status": {"phase": "Bound"}}
            self._run(self._api.patch(resource, name, status, namespace, subresource="status"))
        elif resource is POD_DISRUPTION_BUDGETS:
            given = {"status": obj["status"]}
            self._run(self._api.patch(resource, name, given, namespace, subresource="status"))
        assert stored["metadata"]["name"] == name

    def _delete(self, resource: Resource, name: str) -> None:
        try:
            self._run(self._api.delete(resource, name, _namespace(resource), {"gracePeriodSeconds": 0}))
        except NotFound:
            return
        if resource in (PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS):
            try:
                change = {"metadata": {"finalizers": None}}
                self._run(self._api.patch(resource, name, change, _namespace(resource)))
            except NotFound:
                return

    def _clean(self, created: list[Object]) -> None:
        for obj in sorted(created, key=lambda one: one["kind"] != "Pod"):
            if obj["kind"] != "Namespace":
                self._delete(BY_KIND[obj["kind"]], obj["metadata"]["name"])

    def outcomes(self) -> dict[str, str]:
        pods = self._run(self._api.list(PODS, "default")).items
        return {pod["metadata"]["name"]: outcome(pod) for pod in pods}


def _namespace(resource: Resource) -> str:
    return "default" if resource.namespaced else ""


def outcome(pod: Object) -> str:
    """`node-a`, or `Unschedulable: 0/1 nodes are available: …`, and what else the scheduler wrote."""
    status = pod.get("status") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    scheduled = conditions.get("PodScheduled")
    if pod["spec"].get("nodeName"):
        text = str(pod["spec"]["nodeName"])
    elif scheduled is None:
        text = "undecided"
    else:
        text = f"{scheduled.get('reason')}: {scheduled.get('message')}"
    if status.get("nominatedNodeName"):
        text += f" [nominated {status['nominatedNodeName']}]"
    target = conditions.get("DisruptionTarget")
    if target is not None:
        text += f" [{target['reason']}: {target['message']}]"
    if "deletionTimestamp" in pod["metadata"]:
        text += " [terminating]"
    return text
