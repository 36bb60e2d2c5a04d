"""Does a webhook or a policy look at this request? Rules, scope, namespaceSelector, objectSelector.

A rule is asked about the resource as the request names it; with matchPolicy Equivalent it is also asked
about the other versions and groups under which the same object can be had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.objects import Objects
from clusters.kube import errors, selectors
from clusters.kube.selectors import Selector

_EXEMPT_KINDS = frozenset(
    (
        "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
    )
)  # fmt: skip


class Resource(NamedTuple):
    """A resource in one version, with the kind that it (or its subresource) has there."""

    group: str
    version: str
    resource: str
    kind: str
    kind_group: str
    kind_version: str


Equivalents = Callable[[str, str, str, str], Sequence[Resource]]
"""Group, version, resource, subresource: all ways to name the same objects, the given one included."""


def no_equivalents(group: str, version: str, resource: str, subresource: str) -> Sequence[Resource]:
    """For api-servers that serve everything in one version."""
    return ()


def is_exempt(attributes: Attributes) -> bool:
    """Configurations of admission itself are never intercepted, or a bad one could not be removed."""
    return attributes.group == "admissionregistration.k8s.io" and attributes.kind in _EXEMPT_KINDS


def namespace_of(attributes: Attributes) -> str:
    """Admission sees a Namespace as being in itself."""
    if attributes.resource == "namespaces" and not attributes.group:
        # With generateName there is no name yet when the request is taken apart, so it stays empty.
        generated = ((attributes.object or {}).get("metadata") or {}).get("generateName")
        return attributes.name or attributes.namespace or ("" if generated else _object_name(attributes))
    return attributes.namespace


def _object_name(attributes: Attributes) -> str:
    name: str = ((attributes.object or {}).get("metadata") or {}).get("name", "")
    return name


def requested(attributes: Attributes) -> Resource:
    """The resource as the request named it. Subresources may have a kind of another group
    (`deployments/scale` is an autoscaling Scale); the object itself says so."""
    group, version, kind = attributes.group, attributes.version, attributes.kind
    if attributes.subresource:
        api_version = (attributes.object or {}).get("apiVersion")
        if api_version and (attributes.object or {}).get("kind") == kind:
            group, _, version = api_version.rpartition("/")
    return Resource(attributes.group, attributes.version, attributes.resource, kind, group, version)


class Rule:
    """One entry of `rules`, ready to be asked."""

    __slots__ = ("any_operation", "groups", "names", "operations", "resources", "scope", "versions")

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self.groups = frozenset(rule.get("apiGroups") or ())
        self.versions = frozenset(rule.get("apiVersions") or ())
        self.operations = frozenset(rule.get("operations") or ())
        self.any_operation = "*" in self.operations
        self.scope = rule.get("scope") or "*"
        self.resources = tuple(_split(each) for each in rule.get("resources") or ())
        self.names = frozenset(rule.get("resourceNames") or ())

    def matches(self, attributes: Attributes, resource: Resource) -> bool:
        if not self.any_operation and attributes.operation not in self.operations:
            return False
        if resource.group not in self.groups and "*" not in self.groups:
            return False
        if resource.version not in self.versions and "*" not in self.versions:
            return False
        if self.scope != "*":
            is_namespace = resource.resource == "namespaces" and not resource.group
            namespaced = bool(attributes.namespace) and not is_namespace
            if namespaced != (self.scope == "Namespaced"):
                return False
        return self._names_resource(resource.resource, attributes.subresource)

    def _names_resource(self, resource: str, subresource: str) -> bool:
        return any((name in ("*", resource)) and (sub in ("*", subresource)) for name, sub in self.resources)

    def allows_name(self, name: str) -> bool:
        """`resourceNames` of policies: empty means any."""
        return not self.names or name in self.names


def _split(text: str) -> tuple[str, str]:
    name, _, sub = text.partition("/")
    return name, sub


def find_rule(
    rules: Sequence[Rule],
    attributes: Attributes,
    equivalent: bool,
    equivalents: Equivalents,
    *,
    check_names: bool = False,
) -> Resource | None:
    """The resource under which the first rule matches; None if none does."""
    as_requested = requested(attributes)
    name = attributes.name or _object_name(attributes)
    for rule in rules:
        if (not check_names or rule.allows_name(name)) and rule.matches(attributes, as_requested):
            return as_requested
    if not equivalent:
        return None
    ways = equivalents(attributes.group, attributes.version, attributes.resource, attributes.subresource)
    for rule in rules:
        if check_names and not rule.allows_name(name):
            continue
        for way in ways:
            if way[:3] != as_requested[:3] and rule.matches(attributes, way):
                return way
    return None


class Selectors:
    """namespaceSelector and objectSelector of one webhook or policy."""

    __slots__ = ("_namespace", "_object")

    def __init__(self, holder: Mapping[str, Any]) -> None:
        self._namespace = _compiled(holder.get("namespaceSelector"))
        self._object = _compiled(holder.get("objectSelector"))

    def match_object(self, attributes: Attributes) -> bool:
        if self._object is None:
            return True
        return _labelled(attributes.object, self._object) or _labelled(attributes.old_object, self._object)

    async def match_namespace(self, attributes: Attributes, objects: Objects) -> bool:
        """Cluster-scoped objects always match, but for namespaces. Raises 404 for a missing namespace."""
        if self._namespace is None:
            return True
        namespace = namespace_of(attributes)
        if not namespace and attributes.resource != "namespaces":
            return True
        labels = await _namespace_labels(attributes, namespace, objects)
        return self._namespace.matches(labels)


def _compiled(selector: Mapping[str, Any] | None) -> Selector | None:
    """None stands for everything; an absent selector is defaulted to that before it is stored."""
    if not selector:
        return None
    compiled = selectors.from_label_selector(selector)
    return None if compiled.empty else compiled


def _labelled(obj: Mapping[str, Any] | None, selector: Selector) -> bool:
    if obj is None or obj.get("metadata") is None:
        return False
    return selector.matches(obj["metadata"].get("labels") or {})


async def _namespace_labels(attributes: Attributes, namespace: str, objects: Objects) -> Mapping[str, str]:
    if (
        attributes.resource == "namespaces"
        and not attributes.subresource
        and attributes.operation in ("CREATE", "UPDATE")
        and attributes.object is not None
    ):
        # The cache does not know the labels yet that this very request sets.
        found = attributes.object
    else:
        cached = objects.get("namespaces", "", namespace)
        if cached is None:
            cached = await objects.get_live("namespaces", "", namespace)
        if cached is None:
            raise errors.not_found("namespaces", namespace)
        found = cached
    labels: Mapping[str, str] = found["metadata"].get("labels") or {}
    return labels
