"""Short ways to write the nodes, Pods and volumes that the tests of the scheduler need."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
NAMESPACE = "default"


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    labels: dict[str, str] | None = None,
    taints: list[str] | None = None,
    unschedulable: bool = False,
    images: dict[str, int] | None = None,
    **more: str,
) -> Object:
    """Taints are written `key=value:Effect`; `more` are further resources, with `_` for `/`, `.` and `-`."""
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    amounts |= {_RESOURCES[name]: number for name, number in more.items()}
    spec: Object = {"taints": [taint(text) for text in taints or []]}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
        },
    }


_RESOURCES = {"gpu": "example.com/gpu", "storage": "ephemeral-storage", "hugepages": "hugepages-2Mi"}


def taint(text: str) -> Object:
    what, _, effect = text.rpartition(":")
    key, _, value = what.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def pod(
    name: str,
    *,
    cpu: str = "",
    memory: str = "",
    labels: dict[str, str] | None = None,
    on: str = "",
    ports: list[Object] | None = None,
    claims: list[str] | None = None,
    requests: dict[str, str] | None = None,
    init: dict[str, str] | None = None,
    image: str = "registry.test/web:1",
    owner: Object | None = None,
    **spec: Any,
) -> Object:
    """`on` places it on a node from the start, past the scheduler."""
    wanted = {**({"cpu": cpu} if cpu else {}), **({"memory": memory} if memory else {}), **(requests or {})}
    container: Object = {"name": "c", "image": image, "resources": {"requests": wanted} if wanted else {}}
    extended = {name: amount for name, amount in wanted.items() if "/" in name or name.startswith("hugepages")}
    if extended:
        container["resources"]["limits"] = extended
    if ports:
        container["ports"] = ports
    body: Object = {"containers": [container], **spec}
    if on:
        body["nodeName"] = on
    if claims:
        body["volumes"] = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": c}} for i, c in enumerate(claims)]
    if init:
        body["initContainers"] = [{"name": "i", "image": image, "resources": {"requests": init}}]
    metadata: Object = {"name": name, "namespace": NAMESPACE, "labels": labels or {}}
    if owner:
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def port(number: int, protocol: str = "TCP", ip: str = "") -> Object:
    return {"containerPort": number, "hostPort": number, "protocol": protocol, **({"hostIP": ip} if ip else {})}


def required_nodes(*expressions: Object, fields: list[Object] | None = None) -> Object:
    term: Object = {}
    if expressions:
        term["matchExpressions"] = list(expressions)
    if fields:
        term["matchFields"] = fields
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def preferred_nodes(weight: int, key: str, value: str) -> Object:
    term = {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def near(app: str, key: str = "kubernetes.io/hostname", *, anti: bool = False, weight: int = 0, **more: Any) -> Object:
    """Pod (anti-)affinity to Pods labelled app=`app`; with a weight it is only preferred."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}
    kind = "podAntiAffinity" if anti else "podAffinity"
    if weight:
        preferred = [{"weight": weight, "podAffinityTerm": term}]
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(
    app: str, key: str = "kubernetes.io/hostname", *, skew: int = 1, soft: bool = False, **more: Any
) -> list[Object]:
    return [
        {
            "maxSkew": skew,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
            **more,
        }
    ]


def priority_class(name: str, value: int, **more: Any) -> Object:
    meta = {"name": name}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value, **more}


def storage_class(name: str, *, wait: bool = False, provisioner: str = "kubernetes.io/no-provisioner") -> Object:
    mode = "WaitForFirstConsumer" if wait else "Immediate"
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def claim(
    name: str,
    *,
    size: str = "1Gi",
    storage: str = "",
    volume: str = "",
    bound: bool = False,
    mode: str = "ReadWriteOnce",
) -> Object:
    metadata: Object = {"name": name, "namespace": NAMESPACE}
    if bound:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    spec: Object = {
        "accessModes": [mode],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage,
    }
    if volume:
        spec["volumeName"] = volume
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def volume(
    name: str,
    *,
    size: str = "5Gi",
    storage: str = "",
    nodes: list[str] | None = None,
    labels: dict[str, str] | None = None,
    csi: str = "",
    reserved_for: str = "",
    mode: str = "ReadWriteOnce",
) -> Object:
    spec: Object = {"capacity": {"storage": size}, "accessModes": [mode], "storageClassName": storage}
    spec |= {"csi": {"driver": csi, "volumeHandle": name}} if csi else {"hostPath": {"path": f"/data/{name}"}}
    if nodes:
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    if reserved_for:
        spec["claimRef"] = {"namespace": NAMESPACE, "name": reserved_for}
    meta = {"name": name, "labels": labels or {}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": meta,
        "spec": spec,
        "status": {"phase": "Available"},
    }
