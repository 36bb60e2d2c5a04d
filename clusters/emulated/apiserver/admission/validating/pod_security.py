"""PodSecurity: pods keep to the level their namespace is labelled with; workloads are warned early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import requested_name
from clusters.emulated.apiserver.admission.podsecurity.evaluation import evaluate
from clusters.emulated.apiserver.admission.podsecurity.levels import (
    LevelVersion,
    Policy,
    policy_of,
    strictness,
)
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.kube import errors
from clusters.kube.field import FieldError, aggregate
from clusters.kube.gostring import quote

_AUDIT = "pod-security.kubernetes.io/"
_TEMPLATE = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_IGNORED_SUBRESOURCES = frozenset(("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"))
_PODS_TO_CHECK_MAX = 3000


@dataclass(frozen=True)
class Exemptions:
    """Who is never checked; a cluster's static configuration, empty by default."""

    users: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()


class PodSecurity(AdmissionPlugin):
    name = "PodSecurity"
    operations = frozenset(("CREATE", "UPDATE"))
    resources = frozenset(("pods", "namespaces", *_TEMPLATE))

    def __init__(self, objects: Objects, exemptions: Exemptions | None = None) -> None:
        self._objects = objects
        self._exempt = exemptions or Exemptions()
        # Labels change rarely: the parsed policy is kept beside the namespace object it was read from.
        self._policies: dict[str, tuple[Object, Policy, list[FieldError]]] = {}

    async def validate(self, attributes: Attributes) -> None:
        resource = attributes.group_resource
        if resource == "namespaces":
            self._validate_namespace(attributes)
        elif resource == "pods":
            if attributes.subresource not in _IGNORED_SUBRESOURCES:
                await self._validate_pod(attributes)
        elif not attributes.subresource:
            await self._validate_workload(attributes, _TEMPLATE[resource])

    async def _policy(self, namespace: str) -> tuple[Policy, list[FieldError]]:
        found = self._objects.get("namespaces", "", namespace)
        if found is None:
            found = await self._objects.get_live("namespaces", "", namespace)
        if found is None:
            raise errors.internal(f"failed to lookup namespace {quote(namespace)}")
        kept = self._policies.get(namespace)
        if kept is not None and kept[0] is found:
            return kept[1], kept[2]
        policy, problems = policy_of(found["metadata"].get("labels"))
        self._policies[namespace] = (found, policy, problems)
        return policy, problems

    def _is_exempt(self, attributes: Attributes) -> bool:
        reason = ""
        if attributes.namespace in self._exempt.namespaces:
            reason = "namespace"
        elif attributes.user.name in self._exempt.users:
            reason = "user"
        if reason:
            attributes.request.audit_annotations[f"{_AUDIT}exempt"] = reason
        return bool(reason)

    async def _validate_pod(self, attributes: Attributes) -> None:
        if self._is_exempt(attributes):
            return
        policy, problems = await self._policy(attributes.namespace)
        if not problems and policy.is_fully_privileged():
            attributes.request.audit_annotations[f"{_AUDIT}enforce-policy"] = "privileged:latest"
            return
        pod = attributes.object or {}
        spec = pod.get("spec") or {}
        if attributes.operation == "UPDATE":
            old = (attributes.old_object or {}).get("spec") or {}
            if not _is_significant(spec, old):
                return
        self._evaluate(attributes, policy, problems, pod.get("metadata"), spec, enforce=True)

    async def _validate_workload(self, attributes: Attributes, path: tuple[str, ...]) -> None:
        if self._is_exempt(attributes):
            return
        policy, problems = await self._policy(attributes.namespace)
        if not problems and policy.warn.level == "privileged" and policy.audit.level == "privileged":
            return
        template: Any = attributes.object
        for part in path:
            template = (template or {}).get(part)
        if template is not None:
            spec = template.get("spec") or {}
            self._evaluate(attributes, policy, problems, template.get("metadata"), spec, enforce=False)

    def _evaluate(
        self,
        attributes: Attributes,
        policy: Policy,
        problems: list[FieldError],
        metadata: Mapping[str, Any] | None,
        spec: Mapping[str, Any],
        *,
        enforce: bool,
    ) -> None:
        notes = attributes.request.audit_annotations
        if spec.get("runtimeClassName") in self._exempt.runtime_classes:
            notes[f"{_AUDIT}exempt"] = "runtimeClass"
            return
        if problems:
            notes[f"{_AUDIT}error"] = f"Failed to parse policy: {aggregate(problems)}"
        results: dict[LevelVersion, str] = {}

        def violations(mode: LevelVersion) -> str:
            if mode not in results:
                results[mode] = ", ".join(str(each) for each in evaluate(mode, metadata, spec))
            return results[mode]

        denial = ""
        if enforce:
            notes[f"{_AUDIT}enforce-policy"] = str(policy.enforce)
            denial = violations(policy.enforce)
        found = violations(policy.audit)
        if found:
            notes[f"{_AUDIT}audit-violations"] = f'would violate PodSecurity "{policy.audit}": {found}'
        if denial:
            why = f'violates PodSecurity "{policy.enforce}": {denial}'
            raise errors.forbidden(attributes.group_resource, requested_name(attributes), why)
        found = violations(policy.warn)
        if found:
            attributes.request.warn(f'would violate PodSecurity "{policy.warn}": {found}')

    def _validate_namespace(self, attributes: Attributes) -> None:
        namespace = attributes.object
        if attributes.subresource or namespace is None:
            return
        labels = namespace["metadata"].get("labels")
        policy, problems = policy_of(labels)
        name = requested_name(attributes)
        if attributes.operation == "CREATE":
            if problems:
                raise errors.invalid("Namespace", name, problems)
            self._warn_if_exempt(attributes, name, policy, labels)
            return
        old_policy, old_problems = policy_of((attributes.old_object or {})["metadata"].get("labels"))
        if problems and problems != old_problems:
            raise errors.invalid("Namespace", name, problems)
        enforce, before = policy.enforce, old_policy.enforce
        if enforce == before or enforce.level == "privileged":
            return
        if enforce.minor == before.minor and strictness(enforce.level) <= strictness(before.level):
            return
        if name in self._exempt.namespaces:
            self._warn_if_exempt(attributes, name, policy, labels)
            return
        for warning in self._existing_pods(name, enforce):
            attributes.request.warn(warning)

    def _warn_if_exempt(
        self, attributes: Attributes, name: str, policy: Policy, labels: Mapping[str, str] | None
    ) -> None:
        if name not in self._exempt.namespaces or policy.is_fully_privileged():
            return
        parts = [
            f"{mode}={chosen}"
            for mode, chosen in zip(("enforce", "audit", "warn"), policy, strict=True)
            if chosen.level != "privileged"
            and not {f"{_AUDIT}{mode}", f"{_AUDIT}{mode}-version"}.isdisjoint(labels or ())
        ]
        attributes.request.warn(
            f"namespace {quote(name)} is exempt from Pod Security, and the policy ({', '.join(parts)}) will be ignored"
        )

    def _existing_pods(self, namespace: str, enforce: LevelVersion) -> list[str]:
        pods = self._one_of_each_controller_first(namespace)
        checked = pods[:_PODS_TO_CHECK_MAX]
        violating: dict[str, list[str]] = {}
        for pod in checked:
            found = evaluate(enforce, pod["metadata"], pod.get("spec") or {})
            if found:
                reasons = ", ".join(each.reason for each in found)
                violating.setdefault(reasons, []).append(pod["metadata"]["name"])
        warnings = []
        if len(checked) < len(pods):
            warnings.append(
                "new PodSecurity enforce level only checked against the first "
                f"{len(checked)} of {len(pods)} existing pods"
            )
        if violating:
            warnings.append(
                f'existing pods in namespace {quote(namespace)} violate the new PodSecurity enforce level "{enforce}"'
            )
        return warnings + sorted(_decorated(reasons, names) for reasons, names in violating.items())

    def _one_of_each_controller_first(self, namespace: str) -> list[Object]:
        first: list[Object] = []
        rest: list[Object] = []
        seen: set[str] = set()
        for pod in self._objects.list("pods", namespace):
            if (pod.get("spec") or {}).get("runtimeClassName") in self._exempt.runtime_classes:
                continue
            owners = pod["metadata"].get("ownerReferences") or ()
            controller = next((each.get("uid", "") for each in owners if each.get("controller")), None)
            if controller is not None and controller in seen:
                rest.append(pod)
                continue
            if controller is not None:
                seen.add(controller)
            first.append(pod)
        return first + rest


def _decorated(reasons: str, names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return f"{names[0]}: {reasons}"
    return f"{min(names)} (and {others} other pod{'s' if others > 1 else ''}): {reasons}"


def _is_significant(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Only images can change in a way that matters; ephemeral containers can also be added."""
    for field in ("containers", "initContainers"):
        images = [each.get("image") for each in new.get(field) or ()]
        if images != [each.get("image") for each in old.get(field) or ()]:
            return True
    before = {each.get("name"): each.get("image") for each in old.get("ephemeralContainers") or ()}
    return any(
        each.get("name") not in before or before[each.get("name")] != each.get("image")
        for each in new.get("ephemeralContainers") or ()
    )
