"""PodTopologyLabels: a pod learns the zone and region of its node when it is bound."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.objects import Objects

_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


class PodTopologyLabels(AdmissionPlugin):
    name = "PodTopologyLabels"
    operations = frozenset(("CREATE",))
    resources = frozenset(("pods",))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def admit(self, attributes: Attributes) -> None:
        obj = attributes.object
        if obj is None:
            return
        if attributes.subresource == "binding":
            target = obj.get("target") or {}
            node_name = target.get("name") if target.get("kind") == "Node" else None
        elif attributes.subresource:
            return
        else:
            node_name = (obj.get("spec") or {}).get("nodeName")
        node = self._objects.get("nodes", "", node_name) if node_name else None
        if node is None:
            return
        labels = node["metadata"].get("labels") or {}
        copied = {name: labels[name] for name in _LABELS if name in labels}
        if copied:
            metadata = obj.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **copied}
