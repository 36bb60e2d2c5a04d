"""ControllerRevisions: what StatefulSets and DaemonSets remember of their former templates.

A revision holds the patch that brings an object back to that template, and a number that is highest for the
template in use: going back to an old one renumbers its revision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import AlreadyExists, ApiFailure, Conflict
from clusters.emulated.client.indexer import Indexer
from clusters.emulated.client.resources import CONTROLLER_REVISIONS, Resource
from clusters.emulated.controllers.ownership import controller_of, controller_reference
from clusters.emulated.controllers.pod_state import seconds_of
from clusters.kube.gostring import to_json
from clusters.kube.pod_template_hash import encoded, fnv_32

Object = dict[str, Any]

HASH_LABEL: Final = "controller.kubernetes.io/hash"
_PREFIX_MAX: Final = 223
_TRIES_MAX: Final = 5


def template_patch(obj: Object) -> Object:
    """What a revision of this object's template holds."""
    return {"spec": {"template": {**obj["spec"]["template"], "$patch": "replace"}}}


def with_template_of(obj: Object, revision: Object) -> Object:
    """The object as it was at this revision."""
    template = dict(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return {**obj, "spec": {**obj["spec"], "template": template}}


def revision_hash(data: Object, collision_count: int) -> str:
    return encoded(fnv_32(to_json(data).encode() + str(collision_count).encode()))


def new_revision(owner: Object, resource: Resource, number: int, collision_count: int) -> Object:
    data = template_patch(owner)
    hashed = revision_hash(data, collision_count)
    labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": _name(owner, hashed),
            "namespace": owner["metadata"]["namespace"],
            "labels": {**labels, HASH_LABEL: hashed},
            "annotations": dict(owner["metadata"].get("annotations") or {}),
            "ownerReferences": [controller_reference(owner, resource)],
        },
        "data": data,
        "revision": number,
    }


def _name(owner: Object, hashed: str) -> str:
    return f"{owner['metadata']['name'][:_PREFIX_MAX]}-{hashed}"


def in_order(revisions: list[Object]) -> list[Object]:
    """Oldest first: by number, then by age, then by name."""

    def order(revision: Object) -> tuple[int, float, str]:
        metadata = revision["metadata"]
        return revision["revision"], seconds_of(metadata.get("creationTimestamp")), metadata["name"]

    return sorted(revisions, key=order)


def own_or_free(store: Indexer, owner: Object, matches: Callable[[dict[str, str]], bool]) -> list[Object]:
    """The revisions that the selector matches and that are the owner's or nobody's."""
    uid = owner["metadata"]["uid"]
    found = []
    for each in store.list(owner["metadata"]["namespace"]):
        reference = controller_of(each)
        if (reference is None or reference["uid"] == uid) and matches(each["metadata"].get("labels") or {}):
            found.append(each)
    return found


async def create(api: Api, owner: Object, revision: Object, collision_count: int) -> tuple[Object, int]:
    """The stored revision and the count of collisions after it: a name that is taken by another is avoided."""
    namespace = owner["metadata"]["namespace"]
    while True:
        name = _name(owner, revision_hash(revision["data"], collision_count))
        wanted = {**revision, "metadata": {**revision["metadata"], "name": name}}
        try:
            return await api.create(CONTROLLER_REVISIONS, wanted, namespace), collision_count
        except AlreadyExists:
            found = await api.get(CONTROLLER_REVISIONS, name, namespace)
            if found["data"] == revision["data"]:
                return found, collision_count
            collision_count += 1


async def renumber(api: Api, revision: Object, number: int) -> Object:
    metadata = revision["metadata"]
    for tries in range(1, _TRIES_MAX + 1):
        if revision["revision"] == number:
            return revision
        try:
            return await api.update(CONTROLLER_REVISIONS, {**revision, "revision": number})
        except Conflict:
            if tries == _TRIES_MAX:
                raise
            revision = await api.get(CONTROLLER_REVISIONS, metadata["name"], metadata["namespace"])
    raise ApiFailure(0, f"revision {metadata['name']} could not be renumbered")
