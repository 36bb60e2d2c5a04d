"""PodResizeValidator: a pod may not grow in place beyond what its node has at all."""

from __future__ import annotations

from clusters.emulated.apiserver.admission import pod_resources
from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.objects import Objects
from clusters.kube.errors import StatusError
from clusters.kube.gostring import quote
from clusters.kube.quantity import ZERO


class PodResizeValidator(AdmissionPlugin):
    name = "PodResizeValidator"
    operations = frozenset(("UPDATE",))
    resources = frozenset(("pods",))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old_object
        if attributes.subresource != "resize" or new is None or old is None:
            return
        spec = new.get("spec") or {}
        node_name = spec.get("nodeName")
        if not node_name or new["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        node = self._objects.get("nodes", "", node_name)
        if node is None:
            raise forbidden(attributes, f"node {quote(node_name)} not found")
        system = (node["metadata"].get("labels") or {}).get("kubernetes.io/os", "linux")
        if system != "linux":
            where = f"node {quote(node_name)} is {quote(system)}"
            why = f"pod resize is only supported on linux nodes, {where}"
            raise _with_cause(forbidden(attributes, why), "UnsupportedPlatform")
        allocatable = pod_resources.parsed((node.get("status") or {}).get("allocatable"))
        requests = pod_resources.of_pod(spec, "requests")
        cpu, cpu_most = requests.get("cpu", ZERO), allocatable.get("cpu", ZERO)
        memory, memory_most = requests.get("memory", ZERO), allocatable.get("memory", ZERO)
        lacking = []
        if cpu > cpu_most:
            lacking.append(f"cpu, requested: {cpu.milli_value()}, allocatable: {cpu_most.milli_value()}")
        if memory > memory_most:
            lacking.append(f"memory, requested: {memory.value()}, allocatable: {memory_most.value()}")
        if lacking:
            why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
            raise _with_cause(forbidden(attributes, why), "NodeCapacity")


def _with_cause(error: StatusError, reason: str) -> StatusError:
    error.details = {**(error.details or {}), "causes": [{"reason": reason}]}
    return error
