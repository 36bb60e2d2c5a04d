"""The CEL environment of admission: what match conditions and policies may refer to, and what is wrong with them.

    >>> errors = compile_errors("spec.x", "object.nope(1)", environment(params=False), BOOL)
    >>> errors[0].detail.splitlines()[0]
    "compilation failed: ERROR: <input>:1:12: undeclared reference to 'nope' (in container '')"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from clusters.kube.cel import (
    AUTHORIZER,
    BOOL,
    DYN,
    INT,
    RESOURCE_CHECK,
    STRING,
    TIMESTAMP,
    CompileError,
    Environment,
    InstantiationError,
    Type,
    list_of,
    map_of,
)
from clusters.kube.field import FieldError, internal, invalid

__all__ = ["BOOL", "compile_errors", "environment", "with_variables"]


def _struct(name: str, /, **fields: Type) -> Type:
    return Type("struct", f"kubernetes.{name}", fields={field: (type_, field) for field, type_ in fields.items()})


@cache
def _request_type() -> Type:
    kind = _struct("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
    resource = _struct("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
    user = _struct(
        "UserInfo", username=STRING, uid=STRING, groups=list_of(STRING), extra=map_of(STRING, list_of(STRING))
    )
    return _struct(
        "AdmissionRequest", kind=kind, resource=resource, subResource=STRING, requestKind=kind,
        requestResource=resource, requestSubResource=STRING, name=STRING, namespace=STRING, operation=STRING,
        userInfo=user, dryRun=BOOL, options=DYN,
    )  # fmt: skip


@cache
def _namespace_type() -> Type:
    condition = _struct(
        "NamespaceCondition", status=STRING, type=STRING, lastTransitionTime=TIMESTAMP, message=STRING,
        reason=STRING,
    )  # fmt: skip
    metadata = _struct(
        "NamespaceMetadata", name=STRING, generateName=STRING, namespace=STRING, labels=map_of(STRING, STRING),
        annotations=map_of(STRING, STRING), UID=STRING, creationTimestamp=TIMESTAMP,
        deletionGracePeriodSeconds=INT, deletionTimestamp=TIMESTAMP, generation=INT, resourceVersion=STRING,
        finalizers=list_of(STRING),
    )  # fmt: skip
    spec = _struct("NamespaceSpec", finalizers=list_of(STRING))
    status = _struct("NamespaceStatus", conditions=list_of(condition), phase=STRING)
    return _struct("Namespace", metadata=metadata, spec=spec, status=status)


@cache
def environment(*, params: bool, authorizer: bool = True, patch_types: bool = False) -> Environment:
    """What an expression of a webhook or a policy sees; variables of a policy come on top (`with_variables`)."""
    variables: dict[str, Type] = {
        "object": DYN,
        "oldObject": DYN,
        "namespaceObject": _namespace_type(),
        "request": _request_type(),
    }
    if params:
        variables["params"] = DYN
    if authorizer:
        variables |= {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
    return Environment(variables, patch_types=patch_types)


def with_variables(base: Environment, types: Mapping[str, Type]) -> Environment:
    """`base` with the policy's own `variables.name`, as far as they are declared."""
    fields = {name: (type_, name) for name, type_ in types.items()}
    return base.extend({"variables": Type("struct", "kubernetes.variables", fields=fields)})


def compile_errors(
    path: str, text: str, env: Environment, expect: Type | Sequence[Type], shown: str | None = None
) -> list[FieldError]:
    """What stops `text` from being used; `shown` is how the error prints the expression."""
    try:
        env.compile(text, expect)
    except InstantiationError as error:
        return [internal(path, error.detail)]
    except CompileError as error:
        return [invalid(path, text if shown is None else shown, error.detail)]
    return []
