"""DaemonSets: one Pod on every node that fits, replaced node by node when the template changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import AlreadyExists, ApiFailure, Conflict, NotFound
from clusters.emulated.client.expectations import ControllerExpectations
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from clusters.emulated.controllers import daemon_placement as placement
from clusters.emulated.controllers import revision_history as history
from clusters.emulated.controllers.daemon_update import (
    HASH_LABEL,
    Changes,
    allows_surge,
    counts_of,
    oldest_first,
    rolling_update,
    template_generation,
)
from clusters.emulated.controllers.failed_pod_back_off import FailedPodBackOff
from clusters.emulated.controllers.ownership import (
    Claims,
    controller_of,
    controller_reference,
    index_orphans,
    orphans_in,
)
from clusters.emulated.controllers.pod_control import (
    PodControl,
    is_namespace_terminating,
    pod_from_template,
    slow_start_batches,
)
from clusters.emulated.controllers.pod_state import is_available, is_deleted, is_ready, is_terminal, phase
from clusters.kube import pod_template_hash, selectors

Object = dict[str, Any]
Objects = list[Object]
Matches = Callable[[dict[str, str]], bool]

BURST_REPLICAS: Final = 250
_STATUS_TRIES: Final = 2
_NODE: Final = "node/"


@dataclass(slots=True)
class _Seen:
    """What one round works on."""

    daemon_set: Object
    nodes: Objects
    hash: str
    by_node: dict[str, Objects] = field(default_factory=dict)


class DaemonSetController(Controller):
    name = "daemonset-controller"
    service_account = "daemon-set-controller"
    workers = 2

    def setup(self) -> None:
        self.sets = self.informer(DAEMON_SETS)
        self.pods = self.informer(PODS)
        self.nodes = self.informer(NODES)
        self.revisions = self.informer(CONTROLLER_REVISIONS)
        self.pod_control = PodControl(self.api, self.recorder)
        self.expectations = ControllerExpectations(self.clock)
        self.back_off = FailedPodBackOff(self.clock, first_s=1.0, max_s=15 * 60.0)
        index_orphans(self.pods.store)
        self.sets.add_handler(self.enqueue, self._set_changed, self._set_deleted)
        self.pods.add_handler(self._pod_added, self._pod_changed, self._pod_deleted)
        self.nodes.add_handler(self._enqueue_node, self._node_changed)
        self.revisions.add_handler(self._revision_changed, lambda _, new: self._revision_changed(new))

    # What happened

    def _set_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["uid"] != new["metadata"]["uid"]:
            self._set_deleted(old, True)
        self.enqueue(new)

    def _set_deleted(self, daemon_set: Object, _: bool) -> None:
        self.expectations.forget(key_of(daemon_set))
        self.enqueue(daemon_set)

    def _owner(self, obj: Object) -> Object | None:
        reference = controller_of(obj)
        if reference is None or reference["kind"] != "DaemonSet":
            return None
        found = self.sets.store.get(f"{obj['metadata']['namespace']}/{reference['name']}")
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _enqueue_matching(self, obj: Object) -> None:
        labels = obj["metadata"].get("labels") or {}
        for each in self.sets.store.list(obj["metadata"]["namespace"]) if labels else ():
            selector = selectors.from_label_selector(each["spec"].get("selector"))
            if not selector.empty and selector.matches(labels):
                self.enqueue(each)

    def _pod_added(self, pod: Object) -> None:
        if is_deleted(pod):
            self._pod_deleted(pod, False)
        elif controller_of(pod) is not None:
            owner = self._owner(pod)
            if owner is not None:
                self.expectations.creation_observed(key_of(owner))
                self.enqueue(owner)
        else:
            self._enqueue_matching(pod)

    def _pod_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        if is_deleted(new):
            self._pod_deleted(new, False)
            return
        handed_over = controller_of(old) != controller_of(new)
        former = self._owner(old) if handed_over else None
        if former is not None:
            self.enqueue(former)
        if controller_of(new) is not None:
            owner = self._owner(new)
            if owner is not None:
                self.enqueue(owner)
                min_ready_s = owner["spec"].get("minReadySeconds") or 0
                if min_ready_s and is_ready(new) and not is_ready(old):
                    self.enqueue_after(owner, min_ready_s + 1)
        elif handed_over or old["metadata"].get("labels") != new["metadata"].get("labels"):
            self._enqueue_matching(new)

    def _pod_deleted(self, pod: Object, _: bool) -> None:
        owner = self._owner(pod)
        if owner is not None:
            self.expectations.deletion_observed(key_of(owner))
            self.enqueue(owner)

    def _enqueue_node(self, node: Object) -> None:
        self.enqueue(_NODE + node["metadata"]["name"])

    def _node_changed(self, old: Object, new: Object) -> None:
        labels = (old["metadata"].get("labels") or {}) == (new["metadata"].get("labels") or {})
        if not labels or (old["spec"].get("taints") or []) != (new["spec"].get("taints") or []):
            self._enqueue_node(new)

    def _revision_changed(self, revision: Object) -> None:
        if controller_of(revision) is None:
            self._enqueue_matching(revision)
        else:
            owner = self._owner(revision)
            if owner is not None:
                self.enqueue(owner)

    def _look_at_node(self, node: Object) -> None:
        """Wakes the DaemonSets that have a Pod too many or too few there."""
        name = node["metadata"]["name"]
        for each in self.sets.store.list():
            scheduled = any(
                pod["spec"].get("nodeName") == name for pod in self.pods.store.owned_by(each["metadata"]["uid"])
            )
            run, go_on = placement.should_run(each, node)
            misscheduled = (each.get("status") or {}).get("numberMisscheduled") or 0
            if (run and not scheduled) or (scheduled and (not go_on or misscheduled)):
                self.enqueue(each)

    # What to do about it

    async def reconcile(self, key: str) -> None:
        if key.startswith(_NODE) and key.count("/") == 1 and key not in self.sets.store:
            node = self.nodes.store.get(key.removeprefix(_NODE))
            if node is not None:
                self._look_at_node(node)
            return
        daemon_set = self.sets.store.get(key)
        if daemon_set is None:
            self.expectations.forget(key)
            return
        if daemon_set["spec"].get("selector") == {}:
            text = "This daemon set is selecting all pods. A non-empty selector is required."
            self.recorder.event(daemon_set, "Warning", "SelectingAll", text)
            return
        if is_deleted(daemon_set):
            return
        matches = selectors.from_label_selector(daemon_set["spec"].get("selector")).matches
        current, old = await self._history(daemon_set, matches)
        seen = _Seen(daemon_set, self.nodes.store.list(), current["metadata"]["labels"][HASH_LABEL])
        if not self.expectations.satisfied(key):
            await self._write_status(seen, matches, observed=False)
            return
        failure: ApiFailure | None = None
        try:
            await self._update(key, seen, matches, old)
        except ApiFailure as failed:
            failure = failed
        try:
            await self._write_status(seen, matches, observed=True)
        except ApiFailure:
            if failure is None:
                raise
        if failure is not None:
            raise failure

    async def _pods_by_node(self, daemon_set: Object, matches: Matches) -> dict[str, Objects]:
        metadata = daemon_set["metadata"]
        pods = [*self.pods.store.owned_by(metadata["uid"]), *orphans_in(self.pods.store, metadata["namespace"])]
        claimed = await Claims(self.api, daemon_set, DAEMON_SETS, PODS, matches).claim(pods)
        by_node: dict[str, Objects] = {}
        for pod in claimed:
            if is_terminal(pod) and is_deleted(pod):
                continue
            node = placement.target_node(pod)
            if node:
                by_node.setdefault(node, []).append(pod)
        return by_node

    async def _update(self, key: str, seen: _Seen, matches: Matches, old: Objects) -> None:
        seen.by_node = await self._pods_by_node(seen.daemon_set, matches)
        changes = Changes()
        for node in seen.nodes:
            self._settle_node(seen, node, changes)
        there = {node["metadata"]["name"] for node in seen.nodes}
        for name, pods in seen.by_node.items():
            if name not in there:
                # Never scheduled, and the node it waits for is gone.
                changes.delete += [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]
        await self._carry_out(key, seen, changes)
        strategy = seen.daemon_set["spec"]["updateStrategy"].get("type")
        if strategy == "RollingUpdate" and self.expectations.satisfied(key):
            seen.by_node = await self._pods_by_node(seen.daemon_set, matches)
            fits = {node["metadata"]["name"]: placement.should_run(seen.daemon_set, node)[0] for node in seen.nodes}
            await self._carry_out(
                key, seen, rolling_update(seen.daemon_set, fits, seen.by_node, seen.hash, self.clock.now_s())
            )
        await self._forget_old_revisions(seen, old)

    def _settle_node(self, seen: _Seen, node: Object, changes: Changes) -> None:
        name = node["metadata"]["name"]
        run, go_on = placement.should_run(seen.daemon_set, node)
        pods = seen.by_node.get(name, [])
        if run and name not in seen.by_node:
            changes.create.append(name)
        elif not go_on:
            changes.delete += [pod["metadata"]["name"] for pod in pods if not is_deleted(pod)]
        else:
            self._settle_pods(seen, name, pods, run, changes)

    def _settle_pods(self, seen: _Seen, node: str, pods: Objects, run: bool, changes: Changes) -> None:
        running = [
            pod for pod in pods if not is_deleted(pod) and not self._is_finished(seen.daemon_set, node, pod, changes)
        ]
        running = oldest_first(running)
        if not allows_surge(seen.daemon_set):
            changes.delete += [pod["metadata"]["name"] for pod in running[1:]]
            return
        if not running and run:
            changes.create.append(node)
        new = [pod for pod in running if (pod["metadata"].get("labels") or {}).get(HASH_LABEL) == seen.hash]
        former = [pod for pod in running if pod not in new]
        changes.delete += [pod["metadata"]["name"] for pod in (*new[1:], *former[1:])]
        min_ready_s = seen.daemon_set["spec"].get("minReadySeconds") or 0
        if new and former and (not is_ready(former[0]) or is_available(new[0], min_ready_s, self.clock.now_s())):
            changes.delete.append(former[0]["metadata"]["name"])

    def _is_finished(self, daemon_set: Object, node: str, pod: Object, changes: Changes) -> bool:
        """Failed and succeeded Pods are replaced, failed ones of one node ever more slowly."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        if phase(pod) == "Succeeded":
            text = f"Found succeeded daemon pod {namespace}/{name} on node {node}, will try to delete it"
            self.recorder.event(daemon_set, "Normal", "SucceededDaemonPod", text)
            changes.delete.append(name)
        elif phase(pod) == "Failed":
            generation = (daemon_set.get("status") or {}).get("observedGeneration") or 0
            key = f"{daemon_set['metadata']['uid']}/{generation}/{node}"
            delay_s = self.back_off.remaining_delay_s(key)
            if delay_s:
                self.enqueue_after(daemon_set, delay_s)
                return True
            self.back_off.fail(key)
            text = f"Found failed daemon pod {namespace}/{name} on node {node}, will try to kill it"
            self.recorder.event(daemon_set, "Warning", "FailedDaemonPod", text)
            changes.delete.append(name)
        else:
            return False
        return True

    async def _carry_out(self, key: str, seen: _Seen, changes: Changes) -> None:
        daemon_set = seen.daemon_set
        create, delete = changes.create[:BURST_REPLICAS], changes.delete[:BURST_REPLICAS]
        self.expectations.set(key, len(create), len(delete))
        reference = controller_reference(daemon_set, DAEMON_SETS)
        template = daemon_set["spec"]["template"]
        metadata = template.get("metadata") or {}
        labels = {**(metadata.get("labels") or {})}
        generation = template_generation(daemon_set)
        if generation is not None:
            labels["pod-template-generation"] = str(generation)
        labels[HASH_LABEL] = seen.hash

        async def make(index: int) -> None:
            spec = placement.pinned_to(template["spec"], create[index])
            wanted = {"metadata": {**metadata, "labels": labels}, "spec": spec}
            try:
                await self.pod_control.create(pod_from_template(wanted, daemon_set, reference), daemon_set)
            except ApiFailure as failure:
                if not is_namespace_terminating(failure):
                    raise

        async def remove(name: str) -> ApiFailure | None:
            try:
                await self.pod_control.delete(name, daemon_set)
            except ApiFailure as failure:
                self.expectations.deletion_observed(key)
                return None if isinstance(failure, NotFound) else failure
            return None

        created, failure = await slow_start_batches(len(create), make)
        if created < len(create):
            self.expectations.lower(key, len(create) - created, 0)
        outcomes = await asyncio.gather(*map(remove, delete))
        failure = failure or next((each for each in outcomes if each is not None), None)
        if failure is not None:
            raise failure

    # Status

    async def _write_status(self, seen: _Seen, matches: Matches, observed: bool) -> None:
        daemon_set = seen.daemon_set
        by_node = await self._pods_by_node(daemon_set, matches)
        counts = counts_of(daemon_set, seen.nodes, by_node, seen.hash, self.clock.now_s())
        before = daemon_set.get("status") or {}
        generation = daemon_set["metadata"].get("generation") or 0
        current = (before.get("observedGeneration") or 0) >= generation
        if not current or any((before.get(name) or 0) != count for name, count in counts.items()):
            await self._put_status(daemon_set, counts, generation if observed else None)
        min_ready_s = daemon_set["spec"].get("minReadySeconds") or 0
        if min_ready_s and counts["numberReady"] != counts["numberAvailable"]:
            self.enqueue_after(daemon_set, min_ready_s)

    async def _put_status(self, daemon_set: Object, counts: dict[str, int], generation: int | None) -> None:
        metadata = daemon_set["metadata"]
        for tries in range(1, _STATUS_TRIES + 1):
            status = {**(daemon_set.get("status") or {}), **counts}
            if generation is not None:
                status["observedGeneration"] = generation
            try:
                await self.api.update(DAEMON_SETS, {**daemon_set, "status": status}, subresource="status")
            except ApiFailure:
                if tries == _STATUS_TRIES:
                    raise
                daemon_set = await self.api.get(DAEMON_SETS, metadata["name"], metadata["namespace"])
            else:
                return

    # History

    async def _history(self, daemon_set: Object, matches: Matches) -> tuple[Object, Objects]:
        """The revision of the template in use, and the others."""
        claims = Claims(self.api, daemon_set, DAEMON_SETS, CONTROLLER_REVISIONS, matches)
        data = history.template_patch(daemon_set)
        same: Objects = []
        old: Objects = []
        for each in await claims.claim(self.revisions.store.list(daemon_set["metadata"]["namespace"])):
            (same if each["data"] == data else old).append(each)
        number = max((each["revision"] for each in old), default=0) + 1
        if not same:
            return await self._snapshot(daemon_set, data, number), old
        current = await self._only_one(daemon_set, same, matches)
        if current["revision"] < number:
            await self.api.update(CONTROLLER_REVISIONS, {**current, "revision": number})
        return current, old

    async def _snapshot(self, daemon_set: Object, data: Object, number: int) -> Object:
        template, metadata = daemon_set["spec"]["template"], daemon_set["metadata"]
        collisions = (daemon_set.get("status") or {}).get("collisionCount")
        hashed = pod_template_hash.template_hash(template, collisions)
        name = f"{metadata['name']}-{hashed}"
        revision = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": name,
                "namespace": metadata["namespace"],
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hashed},
                "annotations": dict(metadata.get("annotations") or {}),
                "ownerReferences": [controller_reference(daemon_set, DAEMON_SETS)],
            },
            "data": data,
            "revision": number,
        }
        try:
            return await self.api.create(CONTROLLER_REVISIONS, revision, metadata["namespace"])
        except AlreadyExists as taken:
            found = await self.api.get(CONTROLLER_REVISIONS, name, metadata["namespace"])
            if found["data"] == data:
                return found
            await self._count_collision(daemon_set, collisions)
            raise taken

    async def _count_collision(self, daemon_set: Object, collisions: int | None) -> None:
        """Another template has the same hash: the next round hashes with a higher count."""
        metadata = daemon_set["metadata"]
        live = await self.api.get(DAEMON_SETS, metadata["name"], metadata["namespace"])
        status = live.get("status") or {}
        if status.get("collisionCount") != collisions:
            raise Conflict(409, f"found a stale collision count of DaemonSet {metadata['name']}")
        status = {**status, "collisionCount": (collisions or 0) + 1}
        await self.api.update(DAEMON_SETS, {**live, "status": status}, subresource="status")

    async def _only_one(self, daemon_set: Object, same: Objects, matches: Matches) -> Object:
        """Of several revisions with the template in use the newest stays, and its label goes to the Pods."""
        if len(same) == 1:
            return same[0]
        kept = same[0]
        for each in same[1:]:
            if each["revision"] >= kept["revision"]:
                kept = each
        label = {HASH_LABEL: kept["metadata"]["labels"][HASH_LABEL]}
        for pods in (await self._pods_by_node(daemon_set, matches)).values():
            for pod in pods:
                if not label.items() <= (pod["metadata"].get("labels") or {}).items():
                    change = {"metadata": {"labels": label}}
                    await self.api.patch(PODS, pod["metadata"]["name"], change, pod["metadata"]["namespace"])
        for each in same:
            if each is not kept:
                metadata = each["metadata"]
                await self.api.delete(CONTROLLER_REVISIONS, metadata["name"], metadata["namespace"])
        return kept

    async def _forget_old_revisions(self, seen: _Seen, old: Objects) -> None:
        surplus = len(old) - seen.daemon_set["spec"].get("revisionHistoryLimit", 10)
        if surplus <= 0:
            return
        pods = self.pods.store.owned_by(seen.daemon_set["metadata"]["uid"])
        live = {(pod["metadata"].get("labels") or {}).get(HASH_LABEL) for pod in pods}
        dead = [each for each in history.in_order(old) if each["metadata"]["labels"].get(HASH_LABEL) not in live]
        for each in dead[:surplus]:
            metadata = each["metadata"]
            await self.api.delete(CONTROLLER_REVISIONS, metadata["name"], metadata["namespace"])
