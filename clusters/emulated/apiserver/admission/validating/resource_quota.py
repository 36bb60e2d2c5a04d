"""ResourceQuota: a namespace uses no more than its quotas allow, and every use is written down.

The usage is written with compare-and-swap before the object is stored; an object that then fails to be
stored leaves the usage too high until the quota controller counts again, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.admission.pod_resources import ResourceList, parsed
from clusters.emulated.apiserver.admission.quota.usage import Evaluator, evaluator_for
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.emulated.clock.clock import Clock
from clusters.kube.quantity import ZERO

_QUOTAS = "resourcequotas"
_IGNORED = frozenset(
    (
        "bindings", "componentstatuses", "events", "events.events.k8s.io", "tokenreviews.authentication.k8s.io",
        "selfsubjectreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io", "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
    )
)  # fmt: skip


class ResourceQuota(AdmissionPlugin):
    name = "ResourceQuota"
    operations = frozenset(("CREATE", "UPDATE"))

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._revision = -1
        self._namespaces: frozenset[str] = frozenset()
        # What this api-server wrote itself and the watch cache may not show yet.
        self._written: dict[tuple[str, str], Object] = {}

    async def validate(self, attributes: Attributes) -> None:
        revision = self._objects.revision_of(_QUOTAS)
        if revision != self._revision:
            quotas = self._objects.list(_QUOTAS)
            self._namespaces = frozenset(each["metadata"]["namespace"] for each in quotas)
            self._revision = revision
        namespace = attributes.namespace
        if namespace not in self._namespaces or attributes.group_resource in _IGNORED:
            return
        if attributes.kind == "Namespace" and not attributes.group:
            return
        evaluator = evaluator_for(attributes.group_resource)
        if not evaluator.handles(attributes):
            return
        charges = self._charges(attributes, evaluator, self._current(namespace))
        for quota, delta in charges:
            _judge(attributes, quota, delta)
        if attributes.dry_run:
            return
        for quota, delta in charges:
            await self._charge(attributes, quota["metadata"]["name"], delta)

    def _current(self, namespace: str) -> list[Object]:
        quotas = []
        for cached in self._objects.list(_QUOTAS, namespace):
            key = (namespace, cached["metadata"]["name"])
            written = self._written.get(key)
            if written is not None:
                if _version(written) > _version(cached) and _uid(written) == _uid(cached):
                    cached = written
                else:
                    del self._written[key]
            quotas.append(cached)
        return quotas

    def _charges(
        self, attributes: Attributes, evaluator: Evaluator, quotas: list[Object]
    ) -> list[tuple[Object, ResourceList]]:
        """Which quotas the object falls under, and how much more of each it would use."""
        obj = attributes.object or {}
        interesting = []
        for quota in quotas:
            if not _matches(evaluator, quota, obj):
                continue
            name = quota["metadata"]["name"]
            restricted = evaluator.matching(_status(quota, "hard"))
            lacking = evaluator.missing(restricted, obj)
            if lacking:
                raise forbidden(attributes, f"failed quota: {name}: {lacking}")
            used = _status(quota, "used")
            if any(resource not in used for resource in restricted):
                names = ",".join(sorted(restricted))
                raise forbidden(attributes, f"status unknown for quota: {name}, resources: {names}")
            interesting.append(quota)
        if not interesting:
            return []
        now_s = self._clock.now_s()
        usage = evaluator.usage(obj, now_s)
        negative = sorted(name for name, amount in usage.items() if amount.sign() < 0)
        if negative:
            why = f"quota usage is negative for resource(s): {','.join(negative)}"
            raise forbidden(attributes, why)
        old = attributes.old_object
        before: ResourceList = {}
        if attributes.operation == "UPDATE":
            if old is None:
                why = "unable to get previous usage since prior version of object was not found"
                raise forbidden(attributes, why)
            if old["metadata"].get("resourceVersion"):
                before = evaluator.usage(old, now_s)
        charges = []
        for quota in interesting:
            counted = bool(before) and old is not None and _matches(evaluator, quota, old)
            delta = {name: amount - before.get(name, ZERO) if counted else amount for name, amount in usage.items()}
            delta = {name: amount for name, amount in delta.items() if amount.sign() > 0}
            if delta:
                charges.append((quota, delta))
        return charges

    async def _charge(self, attributes: Attributes, name: str, delta: ResourceList) -> None:
        def change(quota: Object) -> Object | None:
            new_used = _judge(attributes, quota, delta)
            if new_used is None:
                return None
            status = quota["status"]
            status["used"] = {**(status.get("used") or {}), **new_used}
            return quota

        namespace = attributes.namespace
        written = await self._objects.modify(_QUOTAS, namespace, name, change)
        if written is not None:
            self._written[(namespace, name)] = written


def _version(obj: Object) -> int:
    return int(obj["metadata"].get("resourceVersion") or 0)


def _uid(obj: Object) -> object:
    return obj["metadata"].get("uid")


def _status(quota: Object, part: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (quota.get("status") or {}).get(part) or {}
    return found


def _matches(evaluator: Evaluator, quota: Object, obj: Object) -> bool:
    if not evaluator.matching(_status(quota, "hard")):
        return False
    return all(evaluator.matches_scope(selector, obj) for selector in scope_selectors(quota))


def scope_selectors(quota: Object) -> list[Mapping[str, Any]]:
    """`scopes` and `scopeSelector` as one list."""
    spec = quota.get("spec") or {}
    plain = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return plain + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def _judge(attributes: Attributes, quota: Object, delta: ResourceList) -> dict[str, str] | None:
    """The quota's new usage, None if it does not change; 403 if that is more than the quota allows."""
    hard = parsed(_status(quota, "hard"))
    used = parsed(_status(quota, "used"))
    requested = {name: amount for name, amount in delta.items() if name in hard}
    if not requested:
        return None
    new = {name: used[name] + amount if name in used else amount for name, amount in requested.items()}
    if attributes.subresource != "status":
        exceeded = sorted(name for name in new if new[name] > hard[name])
        if exceeded:
            why = (
                f"exceeded quota: {quota['metadata']['name']}, requested: {_listed(requested, exceeded)}, "
                f"used: {_listed(used, exceeded)}, limited: {_listed(hard, exceeded)}"
            )
            raise forbidden(attributes, why)
    return {name: str(amount) for name, amount in new.items()}


def _listed(amounts: ResourceList, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)
