"""Priority: a pod's number comes from its PriorityClass, or from the cluster's default class."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.objects import Object, Objects

_CLASSES = "priorityclasses.scheduling.k8s.io"


class Priority(AdmissionPlugin):
    name = "Priority"
    operations = frozenset(("CREATE", "UPDATE", "DELETE"))
    resources = frozenset(("pods", _CLASSES))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._default: Object | None = None
        self._default_revision = -1

    async def admit(self, attributes: Attributes) -> None:
        if attributes.resource != "pods" or attributes.subresource or attributes.object is None:
            return
        spec = attributes.object.setdefault("spec", {})
        if attributes.operation == "UPDATE":
            old = (attributes.old_object or {}).get("spec") or {}
            for field in ("priority", "preemptionPolicy"):
                if spec.get(field) is None and old.get(field) is not None:
                    spec[field] = old[field]
        elif attributes.operation == "CREATE":
            self._resolve(attributes, spec)

    def _resolve(self, attributes: Attributes, spec: Object) -> None:
        class_name = spec.get("priorityClassName")
        priority, policy = 0, "PreemptLowerPriority"
        found = self._objects.get(_CLASSES, "", class_name) if class_name else self._default_class()
        if found is not None:
            priority, policy = found.get("value", 0), found.get("preemptionPolicy", "")
            if not class_name:
                spec["priorityClassName"] = found["metadata"]["name"]
        elif class_name:
            raise forbidden(attributes, f"no PriorityClass with name {class_name} was found")
        given = spec.get("priority")
        ending = "from the given PriorityClass name"
        if given is not None and given != priority:
            why = (
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {priority} {ending}"
            )
            raise forbidden(attributes, why)
        spec["priority"] = priority
        if policy:
            given_policy = spec.get("preemptionPolicy")
            if given_policy is not None and given_policy != policy:
                why = (
                    f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod spec; "
                    f"priority admission controller computed {policy} {ending}"
                )
                raise forbidden(attributes, why)
            spec["preemptionPolicy"] = policy

    async def validate(self, attributes: Attributes) -> None:
        if attributes.group != "scheduling.k8s.io" or attributes.subresource or attributes.object is None:
            return
        if attributes.operation == "DELETE" or not attributes.object.get("globalDefault"):
            return
        default = self._default_class()
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation == "CREATE" or name != attributes.object["metadata"].get("name"):
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise forbidden(attributes, why)

    def _default_class(self) -> Object | None:
        """Of several (two api-servers may race) the one with the lowest value."""
        revision = self._objects.revision_of(_CLASSES)
        if revision != self._default_revision:
            marked = [each for each in self._objects.list(_CLASSES) if each.get("globalDefault")]
            self._default = min(marked, key=lambda each: int(each.get("value", 0)), default=None)
            self._default_revision = revision
        return self._default
