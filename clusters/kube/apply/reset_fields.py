"""What an endpoint does not let its clients write: `…/deployments` resets the status, `…/status` the spec.

Such fields are not owned by whoever sends them.
"""

from __future__ import annotations

from functools import cache

from clusters.kube.apply.fieldset import SELF, FieldSet, from_paths, recursive_difference
from clusters.kube.apply.ownership import Filter

_STATUS = (("f:status",),)
_SPEC = (("f:spec",),)
_METADATA_AND_SPEC = (("f:metadata",), ("f:spec",))

#: (group, resource) with a status: what the main endpoint and `status` reset.
_PLAIN = (
    ("apps", "daemonsets"), ("apps", "replicasets"), ("apps", "statefulsets"),
    ("autoscaling", "horizontalpodautoscalers"), ("batch", "cronjobs"), ("batch", "jobs"),
    ("", "namespaces"), ("", "nodes"), ("", "persistentvolumes"), ("", "persistentvolumeclaims"),
    ("", "replicationcontrollers"), ("", "resourcequotas"), ("", "services"),
    ("networking.k8s.io", "ingresses"), ("policy", "poddisruptionbudgets"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
)  # fmt: skip
_WITH_METADATA = (
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("internal.apiserver.k8s.io", "storageversions"), ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"), ("networking.k8s.io", "servicecidrs"),
    ("resource.k8s.io", "resourceclaims"), ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourcepoolstatusrequests"), ("scheduling.k8s.io", "podgroups"),
    ("storage.k8s.io", "volumeattachments"), ("storagemigration.k8s.io", "storageversionmigrations"),
    ("apiregistration.k8s.io", "apiservices"),
)  # fmt: skip
_CERTIFICATES = "certificates.k8s.io"
_OTHERS: dict[tuple[str, str, str], tuple[tuple[str, ...], ...]] = {
    ("apps", "deployments", ""): _STATUS,
    ("apps", "deployments", "status"): (*_SPEC, ("f:metadata", "f:labels")),
    ("", "pods", ""): _STATUS,
    ("", "pods", "status"): (
        *_SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")
    ),
    ("", "namespaces", "finalize"): _STATUS,
    (_CERTIFICATES, "certificatesigningrequests", ""): (*_SPEC, *_STATUS),
    (_CERTIFICATES, "certificatesigningrequests", "status"): (*_SPEC, ("f:status", "f:conditions")),
    (_CERTIFICATES, "certificatesigningrequests", "approval"): (*_SPEC, ("f:status", "f:certificate")),
    (_CERTIFICATES, "podcertificaterequests", "status"): _SPEC,
}  # fmt: skip


def excluding(fields: FieldSet) -> Filter:
    """Takes these paths, and all below them, out of a set."""
    return lambda found: recursive_difference(found, fields) if found else found


#: Stands for every element of a list.
_EACH = "*"


def only(pattern: FieldSet) -> Filter:
    """Leaves only what the pattern leads to: `only({"f:spec": {"f:ephemeralContainers": {}}})`."""
    return lambda found: _only(found, pattern)


def _only(found: FieldSet, pattern: FieldSet) -> FieldSet:
    if not pattern:
        return found
    kept: FieldSet = {}
    for element, node in found.items():
        below = pattern.get(element, pattern.get(_EACH))
        if element == SELF or (below is not None and not node):
            kept[element] = node
        elif below is not None:
            rest = _only(node, below)
            if rest:
                kept[element] = {} if len(rest) == 1 and SELF in rest else rest
    return kept


_RESIZED: FieldSet = {_EACH: {"f:resources": {}, "f:resizePolicy": {}}}
_ONLY: dict[tuple[str, str, str], FieldSet] = {
    ("", "pods", "ephemeralcontainers"): {"f:spec": {"f:ephemeralContainers": {}}},
    ("", "pods", "resize"): {"f:spec": {"f:containers": _RESIZED, "f:initContainers": _RESIZED}},
}


@cache
def reset_fields(group: str, resource: str, subresource: str) -> Filter | None:
    """The filter of a built-in endpoint, None if it resets nothing."""
    pattern = _ONLY.get((group, resource, subresource))
    if pattern is not None:
        return only(pattern)
    paths = _OTHERS.get((group, resource, subresource), ())
    if (group, resource) in _PLAIN or (group, resource) in _WITH_METADATA:
        of_status = _SPEC if (group, resource) in _PLAIN else _METADATA_AND_SPEC
        paths = {"": _STATUS, "status": of_status}.get(subresource, paths)
    return excluding(from_paths(*paths)) if paths else None


@cache
def custom_reset_fields(subresource: str, has_status: bool) -> Filter | None:
    """The filter of a custom resource's endpoint; without a status subresource nothing is reset."""
    if not has_status:
        return None
    return excluding(from_paths(*(_METADATA_AND_SPEC if subresource == "status" else _STATUS)))
