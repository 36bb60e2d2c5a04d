"""NodeDeclaredFeatureValidator: a bound pod's update may need features that its node must declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.objects import Objects
from clusters.kube.gostring import quote


class NodeDeclaredFeatureValidator(AdmissionPlugin):
    name = "NodeDeclaredFeatureValidator"
    operations = frozenset(("UPDATE",))
    resources = frozenset(("pods",))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old_object
        if attributes.subresource not in ("", "resize") or new is None or old is None:
            return
        spec = new.get("spec") or {}
        node_name = spec.get("nodeName")
        if not node_name or new["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        needed = list(_needed(old.get("spec") or {}, spec))
        if not needed:
            return
        node = self._objects.get("nodes", "", node_name)
        if node is None:
            raise forbidden(attributes, f"node {quote(node_name)} not found")
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        missing = [each for each in needed if each not in declared]
        if missing:
            why = (
                f"pod update requires features {', '.join(missing)} which are not available on node {quote(node_name)}"
            )
            raise forbidden(attributes, why)


def _needed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if (old.get("resources") or None) != (new.get("resources") or None):
        yield "InPlacePodLevelResourcesVerticalScaling"
    pairs = zip(old.get("initContainers") or (), new.get("initContainers") or (), strict=False)
    for before, after in pairs:
        if before.get("restartPolicy") != "Always" and (before.get("resources") or {}) != (
            after.get("resources") or {}
        ):
            yield "InPlacePodVerticalScalingInitContainers"
            return
