"""NamespaceLifecycle: nothing is created in a namespace that is missing or going away.

The watch cache answers first; a namespace that is not in it, or that this api-server itself began to
delete within the last half minute, is looked up in the store.
"""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.clock.clock import Clock
from clusters.kube import errors

_IMMORTAL = frozenset(("default", "kube-system", "kube-public"))
_FORCE_LIVE_LOOKUP_S = 30.0
_FORCED_MAX = 100


class NamespaceLifecycle(AdmissionPlugin):
    name = "NamespaceLifecycle"
    operations = frozenset(("CREATE", "UPDATE", "DELETE"))

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._forced: dict[str, float] = {}

    async def admit(self, attributes: Attributes) -> None:
        if attributes.kind == "Namespace" and not attributes.group:
            self._admit_namespace(attributes)
            return
        operation = attributes.operation
        name = attributes.namespace
        if not name or operation == "DELETE" or attributes.resource == "localsubjectaccessreviews":
            return
        namespace = self._objects.get("namespaces", "", name)
        if namespace is None or (self._forced and self._is_suspect(name, namespace)):
            namespace = await self._objects.get_live("namespaces", "", name)
            if namespace is None:
                raise errors.not_found("namespaces", name)
        if operation != "CREATE":
            return
        status = namespace.get("status")
        if status is not None and status.get("phase") == "Terminating":
            why = f"unable to create new content in namespace {name} because it is being terminated"
            error = forbidden(attributes, why)
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {name} is being terminated",
                "field": "metadata.namespace",
            }
            error.details = {**(error.details or {}), "causes": [cause]}
            raise error

    def _admit_namespace(self, attributes: Attributes) -> None:
        if attributes.operation != "DELETE":
            return
        if attributes.name in _IMMORTAL:
            raise errors.forbidden("namespaces", attributes.name, "this namespace may not be deleted")
        if len(self._forced) >= _FORCED_MAX:
            del self._forced[next(iter(self._forced))]
        self._forced[attributes.name] = self._clock.monotonic_s() + _FORCE_LIVE_LOOKUP_S

    def _is_suspect(self, name: str, namespace: dict[str, object]) -> bool:
        until = self._forced.get(name)
        if until is None:
            return False
        if until < self._clock.monotonic_s():
            del self._forced[name]
            return False
        status = namespace.get("status")
        return isinstance(status, dict) and status.get("phase") == "Active"
