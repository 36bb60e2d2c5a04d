"""The environment of admission policies and webhook match conditions, and their lazy ``variables``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.kube.cel import types as t
from clusters.kube.cel.environment import Environment
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.types import Type
from clusters.kube.cel.values import ABSENT


def _object(name: str, /, **fields: Type) -> Type:
    return t.struct(f"kubernetes.{name}", {field: (type_, field) for field, type_ in fields.items()})


_STRINGS = t.list_of(t.STRING)
_STRING_MAP = t.map_of(t.STRING, t.STRING)
_GVK = _object("GroupVersionKind", group=t.STRING, version=t.STRING, kind=t.STRING)
_GVR = _object("GroupVersionResource", group=t.STRING, version=t.STRING, resource=t.STRING)
_USER = _object("UserInfo", username=t.STRING, uid=t.STRING, groups=_STRINGS, extra=t.map_of(t.STRING, _STRINGS))
REQUEST = _object(
    "AdmissionRequest",
    kind=_GVK,
    resource=_GVR,
    subResource=t.STRING,
    requestKind=_GVK,
    requestResource=_GVR,
    requestSubResource=t.STRING,
    name=t.STRING,
    namespace=t.STRING,
    operation=t.STRING,
    userInfo=_USER,
    dryRun=t.BOOL,
    options=t.DYN,
)
_CONDITION = _object(
    "NamespaceCondition",
    status=t.STRING,
    type=t.STRING,
    lastTransitionTime=t.TIMESTAMP,
    message=t.STRING,
    reason=t.STRING,
)
_NAMESPACE_METADATA = _object(
    "NamespaceMetadata",
    name=t.STRING,
    generateName=t.STRING,
    namespace=t.STRING,
    labels=_STRING_MAP,
    annotations=_STRING_MAP,
    UID=t.STRING,
    creationTimestamp=t.TIMESTAMP,
    deletionGracePeriodSeconds=t.INT,
    deletionTimestamp=t.TIMESTAMP,
    generation=t.INT,
    resourceVersion=t.STRING,
    finalizers=_STRINGS,
)
NAMESPACE = _object(
    "Namespace",
    metadata=_NAMESPACE_METADATA,
    spec=_object("NamespaceSpec", finalizers=_STRINGS),
    status=_object("NamespaceStatus", conditions=t.list_of(_CONDITION), phase=t.STRING),
)


def environment(*, params: bool = True, authorizer: bool = True, patch_types: bool = False) -> Environment:
    """object, oldObject, request, namespaceObject; params and authorizer where they are allowed."""
    variables: dict[str, Type] = {
        "object": t.DYN,
        "oldObject": t.DYN,
        "namespaceObject": NAMESPACE,
        "request": REQUEST,
    }
    if params:
        variables["params"] = t.DYN
    if authorizer:
        variables["authorizer"] = t.AUTHORIZER
        variables["authorizer.requestResource"] = t.RESOURCE_CHECK
    return Environment(variables, patch_types=patch_types)


def with_variables(base: Environment, declared: Mapping[str, Type]) -> Environment:
    """``base`` plus ``variables.<name>`` of these types: the composited variables of a policy."""
    fields = {name: (type_, name) for name, type_ in declared.items()}
    return base.extend({"variables": t.struct("kubernetes.variables", fields)})


class LazyVariables:
    """The value of ``variables``: each is computed at its first use, and its error is remembered too.

    >>> variables = LazyVariables({"two": lambda: 1 + 1})
    >>> variables.cel_lookup("two")
    2
    """

    __slots__ = ("_known", "_thunks")
    cel_type = t.struct("kubernetes.variables", {})

    def __init__(self, thunks: Mapping[str, Callable[[], Any]]) -> None:
        self._thunks = thunks
        self._known: dict[str, Any] = {}

    def cel_lookup(self, key: Any) -> Any:
        known = self._known.get(key, ABSENT)
        if known is ABSENT:
            thunk = self._thunks.get(key)
            if thunk is None:
                return ABSENT
            try:
                known = thunk()
            except EvaluationError as error:
                known = EvaluationError(f'composited variable "{key}" fails to evaluate: {error}')
            self._known[key] = known
        if isinstance(known, EvaluationError):
            raise known
        return known

    def cel_has(self, field: str) -> bool:
        return field in self._thunks
