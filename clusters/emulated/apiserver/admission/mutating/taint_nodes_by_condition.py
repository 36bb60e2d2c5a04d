"""TaintNodesByCondition: a new node gets no pods until somebody has seen it ready."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes

_KEY = "node.kubernetes.io/not-ready"


class TaintNodesByCondition(AdmissionPlugin):
    name = "TaintNodesByCondition"
    operations = frozenset(("CREATE",))
    resources = frozenset(("nodes",))

    async def admit(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.object is None:
            return
        spec = attributes.object.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(each.get("key") == _KEY and each.get("effect") == "NoSchedule" for each in taints):
            spec["taints"] = [*taints, {"key": _KEY, "effect": "NoSchedule"}]
