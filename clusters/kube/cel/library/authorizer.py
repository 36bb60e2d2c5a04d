"""``authorizer``: asking, from an expression, whether the user may do something.

The caller injects ``authorize(attributes) -> (decision, reason, error)``; the builder values here only
collect the attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from clusters.kube.cel import types as t
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.values import Opaque

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")


@dataclass(frozen=True)
class Attributes:
    """What is asked. ``user`` is what the authorizer was made with, or the (namespace, name) of a ServiceAccount."""

    user: object
    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""

    @property
    def is_resource_request(self) -> bool:
        return not self.path and bool(self.resource)


@dataclass(frozen=True)
class ServiceAccountUser:
    """The user that ``authorizer.serviceAccount(namespace, name)`` asks for."""

    namespace: str
    name: str

    @property
    def username(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def groups(self) -> tuple[str, ...]:
        return ("system:serviceaccounts", f"system:serviceaccounts:{self.namespace}", "system:authenticated")


# "allow", "deny" or "noOpinion"; the reason; what went wrong, or "".
Answer = tuple[str, str, str]
Authorize = Callable[[Attributes], Answer]


class _Builder(Opaque):
    """Two builder values are never comparable."""

    __slots__ = ()

    def equals(self, other: object) -> bool:
        raise EvaluationError("no such overload")


class Authorizer(_Builder):
    """The root: who is asked about, and how to ask."""

    __slots__ = ("authorize", "user")
    cel_type = t.AUTHORIZER

    def __init__(self, user: object, authorize: Authorize) -> None:
        self.user = user
        self.authorize = authorize

    def path(self, path: str) -> PathCheck:
        if not path:
            raise EvaluationError("path must not be empty")
        return PathCheck(self, path)

    def group(self, group: str) -> GroupCheck:
        return GroupCheck(self, group)

    def service_account(self, namespace: str, name: str) -> Authorizer:
        if len(name) > 253 or not _DNS_SUBDOMAIN.match(name):
            raise EvaluationError("Invalid service account name")
        if len(namespace) > 63 or not _DNS_LABEL.match(namespace):
            raise EvaluationError("Invalid service account namespace")
        return Authorizer(ServiceAccountUser(namespace, name), self.authorize)

    def resource_check(
        self, group: str, resource: str, subresource: str = "", namespace: str = "", name: str = ""
    ) -> ResourceCheck:
        """The value of ``authorizer.requestResource``."""
        attributes = Attributes(
            self.user, "", group=group, resource=resource, subresource=subresource, namespace=namespace, name=name
        )
        return ResourceCheck(self, attributes)


class PathCheck(_Builder):
    __slots__ = ("_path", "authorizer")
    cel_type = t.PATH_CHECK

    def __init__(self, authorizer: Authorizer, path: str) -> None:
        self.authorizer = authorizer
        self._path = path

    def check(self, verb: str) -> Decision:
        return Decision(*self.authorizer.authorize(Attributes(self.authorizer.user, verb, path=self._path)))


class GroupCheck(_Builder):
    __slots__ = ("_group", "authorizer")
    cel_type = t.GROUP_CHECK

    def __init__(self, authorizer: Authorizer, group: str) -> None:
        self.authorizer = authorizer
        self._group = group

    def resource(self, resource: str) -> ResourceCheck:
        if not resource.strip():
            raise EvaluationError("resource must not be empty")
        return ResourceCheck(
            self.authorizer, Attributes(self.authorizer.user, "", group=self._group, resource=resource)
        )


class ResourceCheck(_Builder):
    __slots__ = ("attributes", "authorizer")
    cel_type = t.RESOURCE_CHECK

    def __init__(self, authorizer: Authorizer, attributes: Attributes) -> None:
        self.authorizer = authorizer
        self.attributes = attributes

    def changed(self, **fields: str) -> ResourceCheck:
        return ResourceCheck(self.authorizer, replace(self.attributes, **fields))

    def namespace(self, namespace: str) -> ResourceCheck:
        return self.changed(namespace=namespace)

    def name(self, name: str) -> ResourceCheck:
        return self.changed(name=name)

    def check(self, verb: str) -> Decision:
        return Decision(*self.authorizer.authorize(replace(self.attributes, verb=verb)))


class Decision(_Builder):
    __slots__ = ("decision", "error", "reason")
    cel_type = t.DECISION

    def __init__(self, decision: str, reason: str, error: str) -> None:
        self.decision = decision
        self.reason = reason
        self.error = error


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "path": [("authorizer_path", "Authorizer.(string): PathCheck", Authorizer.path)],
    "group": [("authorizer_group", "Authorizer.(string): GroupCheck", Authorizer.group)],
    "serviceAccount": [
        ("authorizer_serviceaccount", "Authorizer.(string, string): Authorizer", Authorizer.service_account)
    ],
    "resource": [("groupcheck_resource", "GroupCheck.(string): ResourceCheck", GroupCheck.resource)],
    "subresource": [
        ("resourcecheck_subresource", "ResourceCheck.(string): ResourceCheck",
         lambda check, value: check.changed(subresource=value)),
    ],
    "namespace": [("resourcecheck_namespace", "ResourceCheck.(string): ResourceCheck", ResourceCheck.namespace)],
    "name": [("resourcecheck_name", "ResourceCheck.(string): ResourceCheck", ResourceCheck.name)],
    "fieldSelector": [
        ("authorizer_fieldselector", "ResourceCheck.(string): ResourceCheck",
         lambda check, value: check.changed(field_selector=value)),
    ],
    "labelSelector": [
        ("authorizer_labelselector", "ResourceCheck.(string): ResourceCheck",
         lambda check, value: check.changed(label_selector=value)),
    ],
    "check": [
        ("pathcheck_check", "PathCheck.(string): Decision", PathCheck.check),
        ("resourcecheck_check", "ResourceCheck.(string): Decision", ResourceCheck.check),
    ],
    "errored": [("decision_errored", "Decision.(): bool", lambda decision: bool(decision.error))],
    "error": [("decision_error", "Decision.(): string", lambda decision: decision.error)],
    "allowed": [("decision_allowed", "Decision.(): bool", lambda decision: decision.decision == "allow")],
    "reason": [("decision_reason", "Decision.(): string", lambda decision: decision.reason)],
}  # fmt: skip
