"""Deletes what has lost its last owner, and carries out orphan and foreground deletion.

Every decision is made on the live object, never on the graph alone: the graph only says what to look at.
"""

from __future__ import annotations

import logging
from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.discovery import discover
from clusters.emulated.client.errors import ApiFailure, Conflict, NotFound
from clusters.emulated.client.resources import Resource
from clusters.emulated.controllers.ownership_graph import FOREGROUND, ORPHAN, Node, OwnershipGraph

log = logging.getLogger(__name__)

Object = dict[str, Any]

RESYNC_S = 30.0
_NEEDED = frozenset(("delete", "list", "watch"))
# Nothing depends on these, and there are many of them.
_IGNORED = frozenset((("", "events"), ("events.k8s.io", "events")))


class GarbageCollector(Controller):
    name = "garbage-collector-controller"
    service_account = "generic-garbage-collector"

    def setup(self) -> None:
        self._graph = OwnershipGraph()
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._monitored: set[Resource] = set()
        self.periodic(RESYNC_S, self._follow_all_resources)

    async def _follow_all_resources(self) -> None:
        """Watches what can be deleted; new kinds are noticed at the next round."""
        found = await discover(self.api)
        for resource, verbs in found.resources.items():
            self._kinds[resource.group, resource.kind] = resource
            if verbs >= _NEEDED and (resource.group, resource.plural) not in _IGNORED:
                self._follow(resource)
        await self.context.informers.start_all()

    def _follow(self, resource: Resource) -> None:
        if resource in self._monitored:
            return
        self._monitored.add(resource)

        def put(obj: Object) -> None:
            self._attend(self._graph.put(resource, obj))
            node = self._graph.nodes[obj["metadata"]["uid"]]
            if node.orphaning:
                self.enqueue(node.uid)

        def replaced(old: Object, new: Object) -> None:
            if old["metadata"]["uid"] != new["metadata"]["uid"]:  # Recreated while nobody was looking.
                self._attend(self._graph.remove(old["metadata"]["uid"]))
            put(new)

        def gone(obj: Object, _: bool) -> None:
            self._attend(self._graph.remove(obj["metadata"]["uid"]))

        self.informer(resource).add_handler(put, replaced, gone)

    def _attend(self, uids: list[str]) -> None:
        for uid in uids:
            self.enqueue(uid)

    async def reconcile(self, key: str) -> None:
        node = self._graph.nodes.get(key)
        if node is None or node.resource is None:
            return
        try:
            live = await self.api.get(node.resource, node.name, node.namespace)
        except NotFound:
            self._attend(self._graph.remove(key))
            return
        if live["metadata"]["uid"] != key:
            self._attend(self._graph.remove(key))
            return
        if node.orphaning:
            await self._orphan_dependents(node, live)
        elif node.deleting_dependents:
            await self._go_on_with_foreground(node, live)
        elif not node.being_deleted:
            await self._check_owners(node, live)

    # Orphan: dependents lose their reference, then the owner may go.

    async def _orphan_dependents(self, node: Node, live: Object) -> None:
        for dependent in list(node.dependents.values()):
            await self._drop_references(dependent, {node.uid})
        await self._drop_finalizer(node, live, ORPHAN)

    # Foreground: the owner goes when no dependent holds it any more.

    async def _go_on_with_foreground(self, node: Node, live: Object) -> None:
        holding = [each for each in node.dependents.values() if each.blocks(node.uid)]
        if not holding:
            await self._drop_finalizer(node, live, FOREGROUND)
            return
        for each in holding:
            if not each.being_deleted:
                self.enqueue(each.uid)

    # Everything else lives as long as one of its owners.

    async def _check_owners(self, node: Node, live: Object) -> None:
        references = live["metadata"].get("ownerReferences") or []
        if not references:
            return
        solid, waiting, dangling = [], [], []
        for reference in references:
            owner = await self._live_owner(node, reference)
            if owner is None:
                dangling.append(reference)
            elif owner["metadata"].get("deletionTimestamp") and FOREGROUND in (
                owner["metadata"].get("finalizers") or ()
            ):
                waiting.append(reference)
            else:
                solid.append(reference)
        if solid:
            lost = {reference["uid"] for reference in (*waiting, *dangling)}
            if lost:
                await self._drop_references(node, lost)
            return
        finalizers = live["metadata"].get("finalizers") or ()
        if waiting and node.dependents:
            policy = "Foreground"
        elif ORPHAN in finalizers:
            policy = "Orphan"
        else:
            policy = "Foreground" if FOREGROUND in finalizers else "Background"
        options = {"propagationPolicy": policy, "preconditions": {"uid": node.uid}}
        assert node.resource is not None
        try:
            await self.api.delete(node.resource, node.name, node.namespace, options)
        except NotFound:
            self._attend(self._graph.remove(node.uid))
        except Conflict:
            self.queue.add_rate_limited(node.uid)  # Another incarnation, or it changed: look again.

    async def _live_owner(self, node: Node, reference: Object) -> Object | None:
        """The owner as it is now; None when it is gone, was replaced, or can never be (another namespace)."""
        group = reference["apiVersion"].rpartition("/")[0]
        resource = self._kinds.get((group, reference["kind"]))
        if resource is None:
            raise ApiFailure(0, f"no resource serves {reference['apiVersion']} {reference['kind']}")
        if resource.namespaced and not node.namespace:
            self._report_impossible_owner(node, reference)
            return None
        try:
            owner = await self.api.get(resource, reference["name"], node.namespace if resource.namespaced else "")
        except NotFound:
            return None
        return owner if owner["metadata"]["uid"] == reference["uid"] else None

    def _report_impossible_owner(self, node: Node, reference: Object) -> None:
        assert node.resource is not None
        about = {
            "apiVersion": node.resource.api_version,
            "kind": node.resource.kind,
            "metadata": {"name": node.name, "namespace": node.namespace, "uid": node.uid},
        }
        text = (
            f"ownerRef [{reference['apiVersion']}/{reference['kind']}, namespace: {node.namespace}, "
            f'name: {reference["name"]}, uid: {reference["uid"]}] does not exist in namespace "{node.namespace}"'
        )
        self.recorder.event(about, "Warning", "OwnerRefInvalidNamespace", text)

    async def _drop_references(self, node: Node, uids: set[str]) -> None:
        if node.resource is None:
            return
        try:
            live = await self.api.get(node.resource, node.name, node.namespace)
            metadata = live["metadata"]
            if metadata["uid"] != node.uid:
                return
            kept = [owner for owner in metadata.get("ownerReferences") or () if owner["uid"] not in uids]
            change = {
                "metadata": {
                    "ownerReferences": kept or None,
                    "resourceVersion": metadata["resourceVersion"],
                    "uid": node.uid,
                }
            }
            await self.api.patch(node.resource, node.name, change, node.namespace)
        except NotFound:
            return  # Nothing left to free.

    async def _drop_finalizer(self, node: Node, live: Object, finalizer: str) -> None:
        assert node.resource is not None
        kept = [name for name in live["metadata"].get("finalizers") or () if name != finalizer]
        change = {"metadata": {"finalizers": kept or None, "resourceVersion": live["metadata"]["resourceVersion"]}}
        try:
            await self.api.patch(node.resource, node.name, change, node.namespace)
        except NotFound:
            return  # Somebody else let it go.
