"""What makes Pods of a StatefulSet its own: ordinals, names, labels, and claims of their own. All pure."""

from __future__ import annotations

import re
from typing import Any, Final

from clusters.emulated.client.resources import PODS, STATEFUL_SETS, Resource
from clusters.emulated.controllers.ownership import controller_reference
from clusters.emulated.controllers.pod_control import pod_from_template
from clusters.emulated.controllers.pod_state import is_available, is_deleted, is_ready, phase

Object = dict[str, Any]

POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
REVISION_LABEL: Final = "controller-revision-hash"
_POD_NAME: Final = re.compile(r"(.*)-([0-9]+)")
_ORDINAL_MAX: Final = (1 << 31) - 1


# Names


def parent_and_ordinal(pod: Object) -> tuple[str, int]:
    """`db-3` is number 3 of `db`; an ordinal of -1 belongs to none."""
    found = _POD_NAME.fullmatch(pod["metadata"]["name"])
    if found is None:
        return "", -1
    ordinal = int(found[2])
    return found[1], ordinal if ordinal <= _ORDINAL_MAX else -1


def ordinal_of(pod: Object) -> int:
    return parent_and_ordinal(pod)[1]


def start_of(stateful_set: Object) -> int:
    return (stateful_set["spec"].get("ordinals") or {}).get("start") or 0


def replicas_of(stateful_set: Object) -> int:
    return stateful_set["spec"].get("replicas") or 0


def in_range(pod: Object, stateful_set: Object) -> bool:
    start = start_of(stateful_set)
    return start <= ordinal_of(pod) < start + replicas_of(stateful_set)


def claim_name(stateful_set: Object, template: Object, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{stateful_set['metadata']['name']}-{ordinal}"


def claims_of(stateful_set: Object, ordinal: int) -> list[tuple[str, Object]]:
    """The claims of one Pod, each with the name of its volume."""
    found = []
    selected = (stateful_set["spec"].get("selector") or {}).get("matchLabels") or {}
    for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
        metadata = {
            **template["metadata"],
            "name": claim_name(stateful_set, template, ordinal),
            "namespace": stateful_set["metadata"]["namespace"],
            "labels": {**(template["metadata"].get("labels") or {}), **selected},
        }
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **template, "metadata": metadata}
        claim.pop("status", None)
        found.append((template["metadata"]["name"], claim))
    return found


# Pods


def revision_of(pod: Object) -> str:
    found: str = (pod["metadata"].get("labels") or {}).get(REVISION_LABEL, "")
    return found


def identity_matches(stateful_set: Object, pod: Object) -> bool:
    parent, ordinal = parent_and_ordinal(pod)
    name, namespace = stateful_set["metadata"]["name"], stateful_set["metadata"]["namespace"]
    metadata = pod["metadata"]
    return (
        ordinal >= 0
        and parent == name
        and metadata["name"] == f"{name}-{ordinal}"
        and metadata.get("namespace") == namespace
        and (metadata.get("labels") or {}).get(POD_NAME_LABEL) == metadata["name"]
    )


def storage_matches(stateful_set: Object, pod: Object) -> bool:
    ordinal = ordinal_of(pod)
    if ordinal < 0:
        return False
    volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
    for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
        claim = (volumes.get(template["metadata"]["name"]) or {}).get("persistentVolumeClaim")
        if claim is None or claim.get("claimName") != claim_name(stateful_set, template, ordinal):
            return False
    return True


def with_identity(stateful_set: Object, pod: Object) -> Object:
    ordinal = ordinal_of(pod)
    name = f"{stateful_set['metadata']['name']}-{ordinal}"
    labels = {
        **(pod["metadata"].get("labels") or {}),
        POD_NAME_LABEL: name,
        POD_INDEX_LABEL: str(ordinal),
    }
    metadata = {
        **pod["metadata"],
        "name": name,
        "namespace": stateful_set["metadata"]["namespace"],
        "labels": labels,
    }
    return {**pod, "metadata": metadata}


def with_storage(stateful_set: Object, pod: Object) -> Object:
    """Volumes of the claims come first, and replace those of the same name."""
    claims = claims_of(stateful_set, ordinal_of(pod))
    names = {name for name, _ in claims}
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}} for name, claim in claims
    ]
    volumes += [each for each in pod["spec"].get("volumes") or () if each["name"] not in names]
    return {**pod, "spec": {**pod["spec"], "volumes": volumes}} if volumes else pod


def new_pod(stateful_set: Object, ordinal: int, revision: str) -> Object:
    reference = controller_reference(stateful_set, STATEFUL_SETS)
    pod = pod_from_template(stateful_set["spec"]["template"], stateful_set, reference)
    pod["metadata"]["name"] = f"{stateful_set['metadata']['name']}-{ordinal}"
    pod = with_storage(stateful_set, with_identity(stateful_set, pod))
    pod["metadata"]["labels"][REVISION_LABEL] = revision
    network = {"hostname": pod["metadata"]["name"], "subdomain": stateful_set["spec"].get("serviceName") or ""}
    return {**pod, "spec": {**pod["spec"], **{name: value for name, value in network.items() if value}}}


# States


def is_created(pod: Object) -> bool:
    return bool(phase(pod))


def is_running_and_ready(pod: Object) -> bool:
    return phase(pod) == "Running" and is_ready(pod)


def is_unavailable(pod: Object, min_ready_s: int, now_s: float) -> bool:
    return is_deleted(pod) or not is_available(pod, min_ready_s, now_s)


# Whom a claim goes with


def _is_about(reference: Object, obj: Object, resource: Resource) -> bool:
    named = (reference["apiVersion"], reference["kind"], reference["name"])
    return named == (resource.api_version, resource.kind, obj["metadata"]["name"])


def _owned_by(claim: Object, obj: Object) -> bool:
    uid = obj["metadata"].get("uid")
    return any(each["uid"] == uid for each in claim["metadata"].get("ownerReferences") or ())


def has_stale_owner(claim: Object, obj: Object, resource: Resource) -> bool:
    """It goes with a former incarnation of the object, and will soon."""
    for each in claim["metadata"].get("ownerReferences") or ():
        if _is_about(each, obj, resource):
            return bool(each["uid"] != obj["metadata"].get("uid"))
    return False


def retention_of(stateful_set: Object) -> tuple[bool, bool]:
    """Whether claims are deleted when the set is, and when it is scaled down."""
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenDeleted") == "Delete", policy.get("whenScaled") == "Delete"


def has_unexpected_controller(claim: Object, stateful_set: Object, pod: Object) -> bool:
    """Somebody else decides about the claim."""
    if not any(retention_of(stateful_set)):
        return False
    for each in claim["metadata"].get("ownerReferences") or ():
        about = next(
            (obj for obj, resource in ((stateful_set, STATEFUL_SETS), (pod, PODS)) if _is_about(each, obj, resource)),
            None,
        )
        if about is not None:
            if each["uid"] != about["metadata"].get("uid"):
                return True
        elif each.get("controller"):
            return True
    return False


def wanted_owners(claim: Object, stateful_set: Object, pod: Object) -> list[Object]:
    """The claim's owner references as the retention policy wants them."""
    rest = [
        each
        for each in claim["metadata"].get("ownerReferences") or ()
        if not _is_about(each, stateful_set, STATEFUL_SETS) and not _is_about(each, pod, PODS)
    ]
    if has_unexpected_controller(claim, stateful_set, pod):
        return rest
    when_deleted, when_scaled = retention_of(stateful_set)
    if when_scaled and not in_range(pod, stateful_set):
        return [*rest, controller_reference(pod, PODS)]
    return [*rest, controller_reference(stateful_set, STATEFUL_SETS)] if when_deleted else rest


def owners_up_to_date(claim: Object, stateful_set: Object, pod: Object) -> bool:
    if has_stale_owner(claim, stateful_set, STATEFUL_SETS) or has_stale_owner(claim, pod, PODS):
        return True
    by_set, by_pod = _owned_by(claim, stateful_set), _owned_by(claim, pod)
    if has_unexpected_controller(claim, stateful_set, pod):
        return not by_set and not by_pod
    uids = {stateful_set["metadata"]["uid"], pod["metadata"].get("uid")}
    for each in claim["metadata"].get("ownerReferences") or ():
        if each["uid"] in uids and not each.get("controller"):
            return False
    when_deleted, when_scaled = retention_of(stateful_set)
    scaled_down = when_scaled and not in_range(pod, stateful_set)
    return by_pod == scaled_down and by_set == (when_deleted and not scaled_down)
