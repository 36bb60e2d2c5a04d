"""The webhooks of all configurations, in the order in which they are asked, compiled once per change."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.expressions import (
    Activation,
    Conditions,
    ConditionsError,
    environment,
)
from clusters.emulated.apiserver.admission.matching import Equivalents, Resource, Rule, Selectors, find_rule
from clusters.emulated.apiserver.admission.review import object_name
from clusters.emulated.apiserver.admission.shapes import Versioned
from clusters.emulated.apiserver.objects import Objects
from clusters.kube import errors


class Webhook:
    """One entry of `webhooks`, with what is derived from it."""

    def __init__(self, configuration: str, position: int, entry: Mapping[str, Any]) -> None:
        self.name: str = entry.get("name", "")
        self.configuration = configuration
        # Equal names may stand in several configurations, and more than once in one.
        self.uid = f"{configuration}/{self.name}/{position}"
        self.ignores_failures = entry.get("failurePolicy") == "Ignore"
        self.timeout_s: int = entry.get("timeoutSeconds") or 10
        self.side_effects: str = entry.get("sideEffects") or ""
        self.reinvocation_policy: str = entry.get("reinvocationPolicy") or "Never"
        self.review_versions: list[str] = entry.get("admissionReviewVersions") or []
        client = entry.get("clientConfig") or {}
        self.url: str = client.get("url") or ""
        self.service: Mapping[str, Any] | None = client.get("service")
        self.ca_pem = base64.b64decode(client["caBundle"]) if client.get("caBundle") else None
        self._rules = tuple(Rule(rule) for rule in entry.get("rules") or ())
        self._equivalent = entry.get("matchPolicy", "Equivalent") == "Equivalent"
        self._selectors = Selectors(entry)
        self._failure_policy: str = entry.get("failurePolicy") or "Fail"
        self._match_conditions = entry.get("matchConditions") or ()
        self._conditions: Conditions | None = None

    async def match(
        self, versioned: Versioned, objects: Objects, equivalents: Equivalents, authorize: Authorize
    ) -> Resource | None:
        """The resource under which the webhook is to be asked; None when it is not concerned."""
        attributes = versioned.attributes
        found = find_rule(self._rules, attributes, self._equivalent, equivalents)
        if found is None or not self._selectors.match_object(attributes):
            return None
        if not await self._selectors.match_namespace(attributes, objects):
            return None
        if self._match_conditions and not await self._conditions_hold(versioned, found, authorize):
            return None
        return found

    async def _conditions_hold(self, versioned: Versioned, resource: Resource, authorize: Authorize) -> bool:
        if self._conditions is None:
            env = environment(params=False, authorizer=True)
            self._conditions = Conditions(env, self._match_conditions, self._failure_policy)
        attributes = versioned.attributes
        try:
            return await self._conditions.hold(Activation(versioned, resource, authorize))
        except ConditionsError as failed:
            name = object_name(attributes)
            raise errors.forbidden(attributes.group_resource, name, str(failed)) from failed


class WebhookSource:
    """All webhooks of one kind of configuration: by configuration name, then as listed."""

    def __init__(self, objects: Objects, resource: str) -> None:
        self._objects = objects
        self._resource = resource
        self._revision = -1
        self._webhooks: tuple[Webhook, ...] = ()

    def webhooks(self) -> tuple[Webhook, ...]:
        revision = self._objects.revision_of(self._resource)
        if revision != self._revision:
            configurations = sorted(self._objects.list(self._resource), key=lambda each: str(each["metadata"]["name"]))
            self._webhooks = tuple(
                Webhook(each["metadata"]["name"], position, entry)
                for each in configurations
                for position, entry in enumerate(each.get("webhooks") or ())
            )
            self._revision = revision
        return self._webhooks


def note(attributes: Attributes, key: str, value: str) -> None:
    """An audit annotation; the first value stays, as in Kubernetes."""
    attributes.request.audit_annotations.setdefault(key, value)
