"""RuntimeClass: a pod that names one gets its overhead, node selector and tolerations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.admission import pod_resources
from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.kube.gostring import quote

_CLASSES = "runtimeclasses.node.k8s.io"
_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(AdmissionPlugin):
    name = "RuntimeClass"
    operations = frozenset(("CREATE",))
    resources = frozenset(("pods",))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def admit(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.object is None:
            return
        spec = attributes.object.setdefault("spec", {})
        runtime_class = await self._class_of(attributes, spec)
        if runtime_class is None:
            return
        overhead = runtime_class.get("overhead")
        if overhead is not None:
            fixed = overhead.get("podFixed") or {}
            if spec.get("overhead") and not _same_amounts(spec["overhead"], fixed):
                raise forbidden(attributes, _MISMATCH)
            spec["overhead"] = dict(fixed)
        scheduling = runtime_class.get("scheduling")
        if scheduling is not None:
            _schedule(attributes, spec, scheduling)

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.object is None:
            return
        spec = attributes.object.get("spec") or {}
        runtime_class = await self._class_of(attributes, spec)
        overhead = None if runtime_class is None else runtime_class.get("overhead")
        if overhead is not None:
            if not _same_amounts(spec.get("overhead"), overhead.get("podFixed")):
                raise forbidden(attributes, _MISMATCH)
        elif spec.get("overhead") is not None:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise forbidden(attributes, why)

    async def _class_of(self, attributes: Attributes, spec: Mapping[str, Any]) -> Object | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        found = self._objects.get(_CLASSES, "", name)
        if found is None:
            found = await self._objects.get_live(_CLASSES, "", name)
        if found is None:
            raise forbidden(attributes, f"pod rejected: RuntimeClass {quote(name)} not found")
        return found


def _same_amounts(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    return pod_resources.parsed(one) == pod_resources.parsed(other)


def _schedule(attributes: Attributes, spec: Object, scheduling: Mapping[str, Any]) -> None:
    wanted = scheduling.get("nodeSelector") or {}
    own = spec.get("nodeSelector") or {}
    for key in sorted(wanted):
        if key in own and own[key] != wanted[key]:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted[key]}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
            raise forbidden(attributes, why)
    if wanted:
        spec["nodeSelector"] = {**own, **wanted}
    tolerations = scheduling.get("tolerations") or []
    merged = merge_tolerations([*(spec.get("tolerations") or []), *tolerations])
    if merged:
        spec["tolerations"] = merged


def merge_tolerations(tolerations: list[Object]) -> list[Object]:
    """Without those that another one covers; of equal ones the first stays."""
    merged: list[Object] = []
    for position, one in enumerate(tolerations):
        later = tolerations[position + 1 :]
        if any(_covers(kept, one) for kept in merged):
            continue
        if any(other != one and _covers(other, one) for other in later):
            continue
        merged.append(one)
    return merged


def _covers(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> bool:
    if wide == narrow:
        return True
    operator = wide.get("operator", "")
    if narrow.get("key", "") != wide.get("key", "") and (wide.get("key") or operator != "Exists"):
        return False
    effect = wide.get("effect", "")
    if effect and narrow.get("effect", "") != effect:
        return False
    if effect == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if operator in ("", "Equal"):
        return bool(narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", ""))
    return bool(operator == "Exists")
