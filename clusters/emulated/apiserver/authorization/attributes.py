"""What is asked of an authorizer, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from clusters.emulated.apiserver.request import Request, RequestInfo, UserInfo
from clusters.kube import errors, fieldselectors, selectors
from clusters.kube.gostring import quote


@dataclass(slots=True)
class Attributes:
    """One question: may `user` do `verb` to this resource, or to this path when it is no resource request?"""

    user: UserInfo
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    is_resource: bool = True
    path: str = ""
    #: Unparsed, as the request had them; empty for verbs without selectors.
    field_selector: str = ""
    label_selector: str = ""

    def field_terms(self) -> tuple[fieldselectors.Term, ...]:
        """The terms of the field selector. One that cannot be read restricts nothing, so it grants nothing."""
        try:
            return fieldselectors.parse(self.field_selector).terms
        except selectors.SelectorError:
            return ()

    def label_requirements(self) -> tuple[selectors.Requirement, ...]:
        try:
            return selectors.parse(self.label_selector).requirements
        except selectors.SelectorError:
            return ()


class Decision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is what people see; `error` is what kept an authorizer from a proper answer."""

    decision: Decision
    reason: str = ""
    error: str = ""

    @property
    def allowed(self) -> bool:
        return self.decision is Decision.ALLOW


ALLOWED = Verdict(Decision.ALLOW)
NO_OPINION = Verdict(Decision.NO_OPINION)


def no_opinion(reason: str) -> Verdict:
    return Verdict(Decision.NO_OPINION, reason)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a user may do as far as an authorizer can list it (SelfSubjectRulesReview)."""

    resource_rules: list[dict[str, list[str]]] = field(default_factory=list)
    non_resource_rules: list[dict[str, list[str]]] = field(default_factory=list)
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    """Answers from what this process already knows."""

    def decide(self, attributes: Attributes) -> Verdict: ...

    def rules_for(self, user: UserInfo, namespace: str) -> Rules: ...


class RemoteAuthorizer(Protocol):
    """Has to ask somebody over the network."""

    async def ask(self, attributes: Attributes) -> Verdict: ...

    def rules_for(self, user: UserInfo, namespace: str) -> Rules: ...


def attributes_for(user: UserInfo, info: RequestInfo) -> Attributes:
    """The question a request puts."""
    if not info.is_resource:
        return Attributes(user, info.verb, is_resource=False, path=info.path)
    return Attributes(
        user,
        info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.namespace,
        info.name,
        True,
        info.path,
        info.field_selector,
        info.label_selector,
    )


def attributes_of(request: Request) -> Attributes:
    return attributes_for(request.user, request.info)


def forbidden(attributes: Attributes, reason: str) -> errors.StatusError:
    """The 403 of a request that nobody allowed."""
    message = _message(attributes)
    if reason:
        message = f"{message}: {reason}"
    resource = f"{attributes.resource}.{attributes.group}" if attributes.group else attributes.resource
    return errors.forbidden(resource, attributes.name, message)


def _message(attributes: Attributes) -> str:
    who = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        text = f"{who} path {quote(attributes.path)}"
    else:
        resource = attributes.resource
        if attributes.subresource:
            resource = f"{resource}/{attributes.subresource}"
        scope = f"in the namespace {quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
        text = f"{who} resource {quote(resource)} in API group {quote(attributes.group)} {scope}"
    # The text must never pass for HTML in a browser.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
