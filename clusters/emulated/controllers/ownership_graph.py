"""Who owns whom, by uid, kept up to date from watch events of every deletable resource.

    web (Deployment)  ←  web-5d4 (ReplicaSet)  ←  web-5d4-x7k (Pod)

An owner that some object names but nobody has seen is a node too, marked `virtual`: whether it exists is found
out by asking, and until then nothing that depends on it is touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.client.resources import Resource

Object = dict[str, Any]

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


@dataclass(slots=True)
class Node:
    uid: str
    #: None while the node is virtual: what kind of object it is, only its dependents say.
    resource: Resource | None
    namespace: str
    name: str
    owners: list[Object] = field(default_factory=list)
    dependents: dict[str, Node] = field(default_factory=dict)
    being_deleted: bool = False
    deleting_dependents: bool = False
    orphaning: bool = False
    virtual: bool = False

    def blocks(self, owner_uid: str) -> bool:
        """Whether this dependent keeps a foreground deletion of that owner waiting."""
        return any(owner["uid"] == owner_uid and owner.get("blockOwnerDeletion") for owner in self.owners)


class OwnershipGraph:
    """`put` and `remove` return the uids that are now worth looking at."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def put(self, resource: Resource, obj: Object) -> list[str]:
        """An object was added or changed."""
        metadata = obj["metadata"]
        uid: str = metadata["uid"]
        node = self.nodes.get(uid)
        if node is None:
            node = self.nodes[uid] = Node(uid, resource, metadata.get("namespace", ""), metadata["name"])
        node.resource, node.virtual = resource, False
        node.namespace, node.name = metadata.get("namespace", ""), metadata["name"]
        attention = self._set_owners(node, metadata.get("ownerReferences") or [])
        return attention + self._note_deletion(node, metadata)

    def _set_owners(self, node: Node, owners: list[Object]) -> list[str]:
        attention: list[str] = []
        before = {owner["uid"]: owner for owner in node.owners}
        after = {owner["uid"]: owner for owner in owners}
        for uid in before.keys() - after.keys():
            owner = self.nodes.get(uid)
            if owner is not None:
                owner.dependents.pop(node.uid, None)
                if owner.deleting_dependents:
                    attention.append(uid)  # Perhaps this was the one it waited for.
        for uid, reference in after.items():
            owner = self.nodes.get(uid)
            if owner is None:
                owner = self.nodes[uid] = Node(uid, None, node.namespace, reference["name"], virtual=True)
                attention.append(node.uid)  # Its owner may be gone: ask.
            owner.dependents[node.uid] = node
            if uid in before and before[uid].get("blockOwnerDeletion") and not reference.get("blockOwnerDeletion"):
                attention.append(uid)
            if owner.deleting_dependents:
                attention.append(node.uid)
        node.owners = owners
        return attention

    def _note_deletion(self, node: Node, metadata: Object) -> list[str]:
        if not metadata.get("deletionTimestamp"):
            return []
        node.being_deleted = True
        finalizers = metadata.get("finalizers") or ()
        node.orphaning = ORPHAN in finalizers
        if FOREGROUND not in finalizers:
            node.deleting_dependents = False
            return []
        if node.deleting_dependents:
            return [node.uid]
        node.deleting_dependents = True
        return [*node.dependents, node.uid]

    def remove(self, uid: str) -> list[str]:
        """An object is gone."""
        node = self.nodes.pop(uid, None)
        if node is None:
            return []
        attention = list(node.dependents)
        for reference in node.owners:
            owner = self.nodes.get(reference["uid"])
            if owner is not None:
                owner.dependents.pop(uid, None)
                if owner.deleting_dependents:
                    attention.append(owner.uid)
                elif owner.virtual and not owner.dependents:
                    del self.nodes[owner.uid]
        return attention
