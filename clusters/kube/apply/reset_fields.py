"""What an endpoint does not let its clients write: `…/deployments` resets the status, `…/status` the spec.

Such fields are not owned by whoever sends them.
"""

from __future__ import annotations

from functools import cache

from clusters.kube.apply.fieldset import FieldSet, from_paths, recursive_difference
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


@cache
def reset_fields(group: str, resource: str, subresource: str) -> Filter | None:
    """The filter of a built-in endpoint, None if it resets nothing."""
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
