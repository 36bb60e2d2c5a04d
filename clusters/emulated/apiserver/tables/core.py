"""Rows of the core group, but for Pods and Services."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.durations import since
from clusters.emulated.apiserver.tables.texts import NONE, UNSET, age, condition, containers, labels, name_of

Object = dict[str, Any]
Cells = list[Any]

_ROLE_PREFIX, _ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP",
}  # fmt: skip
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def config_map(obj: Object, now_s: float) -> Cells:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [name_of(obj), count, age(obj, now_s)]


def secret(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now_s)]


def namespace(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now_s)]


def service_account(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), age(obj, now_s)]


def component_status(obj: Object, now_s: float) -> Cells:
    healthy = condition(obj.get("conditions"), "Healthy")
    if healthy is None:
        return [name_of(obj), "Unknown", "", ""]
    status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name_of(obj), status, healthy.get("message", ""), healthy.get("error", "")]


def pod_template(obj: Object, now_s: float) -> Cells:
    template = obj.get("template") or {}
    pod_labels = (template.get("metadata") or {}).get("labels")
    return [name_of(obj), *containers(template.get("spec")), labels(pod_labels)]


def replication_controller(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    template = spec.get("template") or {}
    return [
        name_of(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj, now_s),
        *containers(template.get("spec")),
        labels(spec.get("selector")),
    ]


def resource_quota(obj: Object, now_s: float) -> Cells:
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {used.get(resource, '0')}/{hard[resource]}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age(obj, now_s)]


def node(obj: Object, now_s: float) -> Cells:
    status = obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = condition(status.get("conditions"), "Ready")
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if (obj.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    kernel = info.get("kernelVersion") or "<unknown>"
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name_of(obj),
        ",".join(words),
        ",".join(_roles(obj["metadata"].get("labels") or {})) or NONE,
        age(obj, now_s),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _roles(node_labels: dict[str, str]) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in node_labels if key.startswith(_ROLE_PREFIX)}
    roles.add(node_labels.get(_ROLE, ""))
    return sorted(roles - {""})


def _address(status: Object, type: str) -> str:
    for each in status.get("addresses") or ():
        if each.get("type") == type:
            return str(each.get("address", ""))
    return NONE


def persistent_volume(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        (spec.get("capacity") or {}).get("storage", "0"),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        status.get("reason", ""),
        age(obj, now_s),
        spec.get("volumeMode", UNSET),
    ]


def persistent_volume_claim(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    volume = spec.get("volumeName", "")
    return [
        name_of(obj),
        _phase(obj),
        volume,
        (status.get("capacity") or {}).get("storage", "0") if volume else "",
        access_modes(status.get("accessModes")) if volume else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        age(obj, now_s),
        spec.get("volumeMode", UNSET),
    ]


def access_modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in (modes or ()))


def _phase(obj: Object) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str((obj.get("status") or {}).get("phase", ""))


def _storage_class(obj: Object) -> str:
    annotated = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    return str(annotated if annotated is not None else (obj.get("spec") or {}).get("storageClassName", ""))


def event(obj: Object, now_s: float) -> Cells:
    """Of a core Event; those of events.k8s.io are stored as such."""
    first = since(obj.get("firstTimestamp") or obj.get("eventTime"), now_s)
    last = since(obj["lastTimestamp"], now_s) if obj.get("lastTimestamp") else first
    series = obj.get("series")
    count = obj.get("count", 0) or 1
    if series is not None:
        last = since(series.get("lastObservedTime"), now_s)
        count = series.get("count", 0)
    involved, source = obj.get("involvedObject") or {}, obj.get("source") or {}
    target = involved.get("kind", "").lower()
    if involved.get("name"):
        target += f"/{involved['name']}"
    component = source.get("component") or obj.get("reportingComponent", "")
    instance = source.get("host") or obj.get("reportingInstance", "")
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        target,
        involved.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        obj.get("message", "").strip(),
        first,
        count,
        name_of(obj),
    ]


CELLS = {
    ("", "ConfigMap"): config_map,
    ("", "Secret"): secret,
    ("", "Namespace"): namespace,
    ("", "ServiceAccount"): service_account,
    ("", "ComponentStatus"): component_status,
    ("", "PodTemplate"): pod_template,
    ("", "ReplicationController"): replication_controller,
    ("", "ResourceQuota"): resource_quota,
    ("", "Node"): node,
    ("", "PersistentVolume"): persistent_volume,
    ("", "PersistentVolumeClaim"): persistent_volume_claim,
    ("", "Event"): event,
    ("events.k8s.io", "Event"): event,
}
