"""DefaultIngressClass: an Ingress that names no class gets the default one."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.mutating.default_classes import default_class
from clusters.emulated.apiserver.objects import Objects

_OLD_ANNOTATION = "kubernetes.io/ingress.class"
_DEFAULT = "ingressclass.kubernetes.io/is-default-class"


class DefaultIngressClass(AdmissionPlugin):
    name = "DefaultIngressClass"
    operations = frozenset(("CREATE",))
    resources = frozenset(("ingresses.networking.k8s.io",))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def admit(self, attributes: Attributes) -> None:
        ingress = attributes.object
        if attributes.subresource or ingress is None:
            return
        spec = ingress.setdefault("spec", {})
        annotations = (ingress.get("metadata") or {}).get("annotations") or {}
        if spec.get("ingressClassName") is not None or _OLD_ANNOTATION in annotations:
            return
        found = default_class(self._objects, "ingressclasses.networking.k8s.io", _DEFAULT)
        if found is not None:
            spec["ingressClassName"] = found["metadata"]["name"]
