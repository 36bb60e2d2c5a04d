"""All resources this api-server serves, found by group, version and name; custom ones come and go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusters.emulated.apiserver.registry.resources import Resource, built_in, kube_version_order
from clusters.emulated.apiserver.registry.served import BuiltIn, Served
from clusters.emulated.apiserver.validation.rules import KindRules
from clusters.kube.apply.compare import UntypableError
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.ownership import Convert
from clusters.kube.apply.validation import text
from clusters.kube.conversion import autoscaling, events
from clusters.kube.schema import Catalogue

Object = dict[str, Any]

# Kinds whose DELETE answers with the object that was deleted, instead of a Status.
_RETURNS_DELETED = frozenset(
    (
        ("", "namespaces"), ("", "persistentvolumeclaims"), ("", "persistentvolumes"), ("", "pods"),
        ("", "podtemplates"), ("", "resourcequotas"), ("", "serviceaccounts"), ("", "services"),
        ("storage.k8s.io", "csidrivers"), ("storage.k8s.io", "csinodes"), ("storage.k8s.io", "storageclasses"),
        ("storage.k8s.io", "volumeattachments"), ("storage.k8s.io", "volumeattributesclasses"),
        ("resource.k8s.io", "deviceclasses"), ("resource.k8s.io", "resourceclaims"),
        ("resource.k8s.io", "resourceclaimtemplates"), ("resource.k8s.io", "resourceslices"),
    )
)  # fmt: skip
# Resources that are asked, not stored: reviews, bindings and the like.
VIRTUAL = frozenset(
    (
        "bindings", "componentstatuses", "tokenreviews", "selfsubjectreviews", "subjectaccessreviews",
        "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews",
    )
)  # fmt: skip


class Registry:
    """Served resources by (group, version, plural)."""

    def __init__(self, version: str, catalogue: Catalogue, rules: dict[tuple[str, str], KindRules]) -> None:
        self.catalogue = catalogue
        #: Grows whenever a resource comes or goes.
        self.generation = 0
        self._resources: dict[tuple[str, str, str], Served] = {}
        self._by_storage: dict[str, list[Served]] = {}
        self._siblings_built_for = -1
        self.virtual: dict[tuple[str, str, str], Resource] = {}
        #: By (group, version): what aggregated api-servers say they have; and those that do not answer.
        self.aggregated: dict[tuple[str, str], tuple[Resource, ...]] = {}
        self.stale: frozenset[str] = frozenset()
        #: Built-in resources in discovery's order, stored and virtual.
        self.built_in: tuple[Resource, ...] = built_in(version)
        for resource in self.built_in:
            if resource.plural in VIRTUAL:
                self.virtual[resource.group, resource.version, resource.plural] = resource
            else:
                served = self._serve(resource, rules)
                self._resources[resource.group, resource.version, resource.plural] = served

    def _serve(self, resource: Resource, rules: dict[tuple[str, str], KindRules]) -> Served:
        struct = self.catalogue.kind(resource.group, resource.version, resource.kind)
        assert struct is not None, f"no shape of {resource.group_version} {resource.kind}"
        if (resource.group, resource.version) == ("autoscaling", "v1"):
            return BuiltIn(
                resource,
                struct,
                rules["autoscaling", resource.kind],
                storage=("autoscaling", resource.plural, "v2"),
                storage_struct=self.catalogue.kind("autoscaling", "v2", resource.kind),
                to_storage=autoscaling.to_v2,
                from_storage=autoscaling.to_v1,
            )
        if resource.group == "events.k8s.io":
            return BuiltIn(
                resource,
                struct,
                rules["events.k8s.io", resource.kind],
                storage=("", "events", "v1"),
                storage_struct=self.catalogue.kind("", "v1", "Event"),
                to_storage=events.to_core,
                from_storage=events.to_events,
            )
        kind_rules = rules.get((resource.group, resource.kind))
        if kind_rules is None:
            kind_rules = type(f"{resource.kind}Rules", (KindRules,), {"group": resource.group, "kind": resource.kind})()
        returns = (resource.group, resource.plural) in _RETURNS_DELETED
        return BuiltIn(resource, struct, kind_rules, returns_deleted_object=returns)

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._resources.get((group, version, plural))

    def add(self, served: Served) -> None:
        resource = served.resource
        self._resources[resource.group, resource.version, resource.plural] = served
        self.generation += 1

    def remove(self, group: str, version: str, plural: str) -> None:
        if self._resources.pop((group, version, plural), None) is not None:
            self.generation += 1

    def resources(self) -> list[Resource]:
        """Everything served, built-in ones first and in discovery's order, then custom ones by their names."""
        custom = [getattr(each, "discovered", each.resource) for each in self if each.resource.custom]
        custom.sort(key=lambda each: (each.group, kube_version_order(each.version), each.plural))
        return [*self.built_in, *custom]

    def is_built_in(self, group: str) -> bool:
        return any(each.group == group for each in self.built_in)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._resources.values())

    def group_resource(self, name: str) -> Served | None:
        """Any version of a resource, by its GroupResource name."""
        for served in self._resources.values():
            if served.storage_resource == name or served.resource.group_resource == name:
                return served
        return None

    def converter(self, served: Served) -> Convert | None:
        """For server-side apply: objects of this version in others of the same resource, to see who owns what."""
        siblings = self._siblings(served.storage_resource)
        if len(siblings) < 2:
            return None

        def convert(obj: Object, api_version: str) -> tuple[Object, ObjectType] | None:
            group, _, version = api_version.rpartition("/")
            for each in siblings:
                resource = each.resource
                if (resource.group, resource.version) == (group, version):
                    if resource.custom:
                        return _renamed(obj, api_version, each.apply_type)
                    return each.to_version(served.to_storage(obj)), each.apply_type
            return None

        return convert

    def _siblings(self, storage_resource: str) -> list[Served]:
        """All versions of one resource; asked at every write."""
        if self._siblings_built_for != self.generation:
            self._siblings_built_for = self.generation
            self._by_storage = {}
            for each in self:
                self._by_storage.setdefault(each.storage_resource, []).append(each)
        return self._by_storage.get(storage_resource, [])

    def groups(self) -> set[str]:
        return {group for group, _, _ in (*self._resources, *self.virtual)}

    def versions(self, group: str) -> set[str]:
        return {version for each, version, _ in (*self._resources, *self.virtual) if each == group}


def _renamed(obj: Object, api_version: str, kind: ObjectType) -> tuple[Object, ObjectType]:
    """A custom resource in another version as server-side apply sees it: unpruned, so that it may not fit."""
    if not obj:
        return obj, kind
    renamed = {**obj, "apiVersion": api_version}
    problem = text(kind.root, renamed)
    if problem is not None:
        raise UntypableError(problem)
    return renamed, kind
