"""DefaultTolerationSeconds: pods stay on a node that fell silent for five minutes, unless they say otherwise."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes

_KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


class DefaultTolerationSeconds(AdmissionPlugin):
    name = "DefaultTolerationSeconds"
    operations = frozenset(("CREATE", "UPDATE"))
    resources = frozenset(("pods",))

    async def admit(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.object is None:
            return
        spec = attributes.object.setdefault("spec", {})
        tolerations = spec.get("tolerations") or []
        tolerated = {each.get("key", "") for each in tolerations if each.get("effect", "") in ("", "NoExecute")}
        if "" in tolerated:
            return
        missing = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
            for key in _KEYS
            if key not in tolerated
        ]
        if missing:
            spec["tolerations"] = [*tolerations, *missing]
