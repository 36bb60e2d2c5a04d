"""What one object uses of a quota: counts for most kinds, compute and storage for pods and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.pod_resources import ResourceList, parsed
from clusters.emulated.apiserver.admission.quota import pods
from clusters.kube.quantity import ZERO, Quantity, parse

Object = Mapping[str, Any]
ONE = parse("1")
_CLASS_SUFFIX = ".storageclass.storage.k8s.io/"
_DEVICES_SUFFIX = ".deviceclass.resource.k8s.io/devices"
_CLAIM_RESOURCES = ("persistentvolumeclaims", "requests.storage")
_STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_SERVICES = frozenset(("count/services", "services", "services.loadbalancers", "services.nodeports"))
# Kinds that could be counted by their plain name before there was `count/…`.
_PLAIN_NAMES = frozenset(("configmaps", "resourcequotas", "replicationcontrollers", "secrets"))


class Evaluator:
    """Counts objects of one kind; subclasses know more about theirs."""

    def __init__(self, resource: str) -> None:
        self.names = frozenset((f"count/{resource}", resource) if resource in _PLAIN_NAMES else (f"count/{resource}",))
        self._usage = dict.fromkeys(self.names, ONE)

    def handles(self, attributes: Attributes) -> bool:
        """Whether the operation can change what the quota counts."""
        return attributes.operation == "CREATE" and not attributes.subresource

    def matching(self, hard: Iterable[str]) -> list[str]:
        """Those of a quota's resources that this kind uses, sorted."""
        return sorted(name for name in hard if name in self.names)

    def matches_scope(self, selector: Mapping[str, Any], obj: Object) -> bool:
        return False

    def missing(self, required: Iterable[str], obj: Object) -> str:
        """What the object must say but does not, in words."""
        return ""

    def usage(self, obj: Object, now_s: float) -> ResourceList:
        return self._usage


class ServiceEvaluator(Evaluator):
    def __init__(self) -> None:
        self.names = _SERVICES

    def handles(self, attributes: Attributes) -> bool:
        return not attributes.subresource

    def usage(self, obj: Object, now_s: float) -> ResourceList:
        spec = obj.get("spec") or {}
        ports = spec.get("ports") or ()
        node_ports, balancers = ZERO, ZERO
        if spec.get("type") == "NodePort":
            node_ports = Quantity(len(ports))
        elif spec.get("type") == "LoadBalancer":
            balancers = ONE
            if spec.get("allocateLoadBalancerNodePorts") is False:
                ports = [port for port in ports if port.get("nodePort")]
            node_ports = Quantity(len(ports))
        return {
            "count/services": ONE,
            "services": ONE,
            "services.loadbalancers": balancers,
            "services.nodeports": node_ports,
        }


class ClaimEvaluator(Evaluator):
    def __init__(self) -> None:
        self.names = frozenset(("count/persistentvolumeclaims", *_CLAIM_RESOURCES))

    def handles(self, attributes: Attributes) -> bool:
        if attributes.subresource == "status":
            new, old = (each or {} for each in (attributes.object, attributes.old_object))
            return _allocated(new) != _allocated(old)
        return not attributes.subresource

    def matching(self, hard: Iterable[str]) -> list[str]:
        by_class = tuple(_CLASS_SUFFIX + name for name in _CLAIM_RESOURCES)
        return sorted(name for name in hard if name in self.names or name.endswith(by_class))

    def matches_scope(self, selector: Mapping[str, Any], obj: Object) -> bool:
        if selector.get("scopeName") != "VolumeAttributesClass":
            return False
        status, spec = obj.get("status") or {}, obj.get("spec") or {}
        names = {
            spec.get("volumeAttributesClassName"),
            status.get("currentVolumeAttributesClassName"),
            (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
        }
        present = sorted(name for name in names if name)
        if not present:
            return selector.get("operator") in ("DoesNotExist", "NotIn")
        return any(pods.selects(selector, name) for name in present)

    def usage(self, obj: Object, now_s: float) -> ResourceList:
        spec = obj.get("spec") or {}
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        class_name = annotations.get(_STORAGE_CLASS_ANNOTATION) or spec.get("storageClassName") or ""
        used: ResourceList = {"persistentvolumeclaims": ONE, "count/persistentvolumeclaims": ONE}
        storage = parsed((spec.get("resources") or {}).get("requests")).get("storage")
        if storage is not None:
            allocated = parsed(_allocated(obj)).get("storage")
            if allocated is not None and allocated > storage:
                storage = allocated
            used["requests.storage"] = _whole(storage)
        if class_name:
            for name in _CLAIM_RESOURCES:
                if name in used:
                    used[f"{class_name}{_CLASS_SUFFIX}{name}"] = used[name]
        return used


def _allocated(claim: Object) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (claim.get("status") or {}).get("allocatedResources") or {}
    return found


def _whole(amount: Quantity) -> Quantity:
    return amount if amount.nanos % 10**9 == 0 else Quantity(amount.value(), 0, amount.format)


class ResourceClaimEvaluator(Evaluator):
    def __init__(self) -> None:
        super().__init__("resourceclaims.resource.k8s.io")

    def matching(self, hard: Iterable[str]) -> list[str]:
        return sorted(name for name in hard if name in self.names or name.endswith(_DEVICES_SUFFIX))

    def usage(self, obj: Object, now_s: float) -> ResourceList:
        used: ResourceList = dict(self._usage)
        for request in ((obj.get("spec") or {}).get("devices") or {}).get("requests") or ():
            exact = request.get("exactly") or request
            class_name = exact.get("deviceClassName")
            if class_name:
                name = f"{class_name}{_DEVICES_SUFFIX}"
                used[name] = used.get(name, ZERO) + Quantity(int(exact.get("count") or 1))
        return used


class PodEvaluator(Evaluator):
    def __init__(self) -> None:
        self.names = pods.RESOURCES

    def handles(self, attributes: Attributes) -> bool:
        if attributes.subresource == "resize":
            return attributes.operation == "UPDATE"
        if attributes.subresource:
            return False
        if attributes.operation == "UPDATE":
            return pods.has_deadline(attributes.object or {}) != pods.has_deadline(attributes.old_object or {})
        return True

    def matching(self, hard: Iterable[str]) -> list[str]:
        return sorted(name for name in hard if pods.is_pod_resource(name))

    def matches_scope(self, selector: Mapping[str, Any], obj: Object) -> bool:
        return pods.matches_scope(selector, obj)

    def missing(self, required: Iterable[str], obj: Object) -> str:
        return pods.missing(required, obj)

    def usage(self, obj: Object, now_s: float) -> ResourceList:
        return pods.usage(obj, now_s)


_SPECIAL: dict[str, Callable[[], Evaluator]] = {
    "pods": PodEvaluator,
    "services": ServiceEvaluator,
    "persistentvolumeclaims": ClaimEvaluator,
    "resourceclaims.resource.k8s.io": ResourceClaimEvaluator,
}


@cache
def evaluator_for(resource: str) -> Evaluator:
    """The evaluator of a GroupResource; the quota controller asks the same ones."""
    special = _SPECIAL.get(resource)
    return Evaluator(resource) if special is None else special()
