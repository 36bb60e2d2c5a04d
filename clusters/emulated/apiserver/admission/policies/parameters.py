"""Parameters of policies: the objects that a binding's paramRef names or selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from clusters.emulated.apiserver.admission.shapes import Convert, Object
from clusters.emulated.apiserver.objects import Objects
from clusters.kube import selectors
from clusters.kube.selectors import SelectorError


class ParamResource(NamedTuple):
    """Where objects of a kind are found."""

    group_resource: str
    namespaced: bool


ResourceForKind = Callable[[str, str, str], ParamResource | None]
"""Group, version and kind to the resource that serves it; None if nothing does."""


class ConfigurationError(Exception):
    """A policy or binding cannot be used as it is; the failurePolicy decides what that means."""


class Parameters:
    """Finds parameters in the watch cache."""

    def __init__(self, objects: Objects, resource_for_kind: ResourceForKind, convert: Convert) -> None:
        self._objects = objects
        self._resource_for_kind = resource_for_kind
        self._convert = convert

    def resource(self, param_kind: Mapping[str, Any] | None) -> ParamResource | None:
        """Raises ConfigurationError for a kind that is not served."""
        if param_kind is None:
            return None
        group, version, kind = _parts(param_kind)
        found = self._resource_for_kind(group, version, kind)
        if found is None:
            text = f"'{group}/{version}, Kind={kind}'"
            raise ConfigurationError(f"failed to find resource referenced by paramKind: {text}")
        return found

    def collect(
        self,
        param_kind: Mapping[str, Any] | None,
        resource: ParamResource | None,
        param_ref: Mapping[str, Any] | None,
        namespace: str,
    ) -> Sequence[Object | None]:
        """None stands for evaluation without parameters; an empty list for no evaluation at all."""
        if param_kind is None or resource is None or param_ref is None:
            return [None]
        where = ""
        given = param_ref.get("namespace") or ""
        if resource.namespaced:
            where = given or namespace
            if not where:
                raise ConfigurationError(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                )
        elif given:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        found = self._find(resource, where, param_ref)
        if not found and param_ref.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return [self._convert(each, *_parts(param_kind)) for each in found]

    def _find(self, resource: ParamResource, namespace: str, param_ref: Mapping[str, Any]) -> list[Object]:
        name, selector = param_ref.get("name"), param_ref.get("selector")
        if name and selector is not None:
            raise ConfigurationError("paramRef.name and paramRef.selector are mutually exclusive")
        if name:
            one = self._objects.get(resource.group_resource, namespace, name)
            return [] if one is None else [one]
        if selector is None:
            raise ConfigurationError("one of name or selector must be provided")
        try:
            compiled = selectors.from_label_selector(selector)
        except SelectorError as error:
            raise ConfigurationError(str(error)) from error
        return [
            each
            for each in self._objects.list(resource.group_resource, namespace)
            if compiled.matches(each["metadata"].get("labels") or {})
        ]


def _parts(param_kind: Mapping[str, Any]) -> tuple[str, str, str]:
    group, _, version = param_kind.get("apiVersion", "").rpartition("/")
    return group, version, param_kind.get("kind", "")
