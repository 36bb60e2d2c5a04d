"""The chain: authorizers are asked in order until one allows or denies; silence of all is a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from clusters.emulated.apiserver.authorization.attributes import (
    ALLOWED,
    NO_OPINION,
    Attributes,
    Authorizer,
    Decision,
    RemoteAuthorizer,
    Rules,
    Verdict,
    attributes_of,
    forbidden,
)
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.kube import errors
from clusters.kube.gostring import quote

PRIVILEGED_GROUP = "system:masters"
#: The message quotes what the client sent: no browser may take it for anything but what it is.
NOT_SNIFFED = ("X-Content-Type-Options", "nosniff")
ALWAYS_ALLOWED_PATHS = ("/healthz", "/readyz", "/livez")


class PrivilegedGroups:
    """Members of these groups may do everything; no policy can take it from them."""

    def __init__(self, groups: Sequence[str] = (PRIVILEGED_GROUP,)) -> None:
        self._groups = frozenset(groups)

    def decide(self, attributes: Attributes) -> Verdict:
        return NO_OPINION if self._groups.isdisjoint(attributes.user.groups) else ALLOWED

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        return Rules()


class AlwaysAllowPaths:
    """Paths anybody may ask for, e.g. a load balancer's probe. A trailing `*` matches every continuation."""

    def __init__(self, paths: Sequence[str] = ALWAYS_ALLOWED_PATHS) -> None:
        stripped = [path.lstrip("/") for path in paths]
        self._exact = frozenset(path for path in stripped if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in stripped if path.endswith("*"))

    def decide(self, attributes: Attributes) -> Verdict:
        if attributes.is_resource:
            return NO_OPINION
        path = attributes.path.lstrip("/")
        if path in self._exact or (self._prefixes and path.startswith(self._prefixes)):
            return ALLOWED
        return NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        return Rules()


class AlwaysAllow:
    """`--authorization-mode=AlwaysAllow`: everybody may do everything."""

    def decide(self, attributes: Attributes) -> Verdict:
        return ALLOWED

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        return Rules(
            [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        )


class AlwaysDeny:
    """`--authorization-mode=AlwaysDeny`: only the privileged group gets through."""

    def decide(self, attributes: Attributes) -> Verdict:
        return Verdict(Decision.NO_OPINION, "Everything is forbidden.")

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        return Rules()


class AuthorizerChain:
    """The authorizers in the order they are asked."""

    def __init__(self, authorizers: Sequence[Authorizer | RemoteAuthorizer]) -> None:
        self.authorizers = tuple(authorizers)
        self._steps = tuple((hasattr(authorizer, "ask"), authorizer) for authorizer in authorizers)

    async def authorize(self, attributes: Attributes) -> Verdict:
        reasons: list[str] = []
        failures: list[str] = []
        for is_remote, authorizer in self._steps:
            if is_remote:
                verdict = await cast(RemoteAuthorizer, authorizer).ask(attributes)
            else:
                verdict = cast(Authorizer, authorizer).decide(attributes)
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
            if verdict.reason:
                reasons.append(verdict.reason)
            if verdict.error:
                failures.append(verdict.error)
        if not reasons and not failures:
            return NO_OPINION
        return Verdict(Decision.NO_OPINION, "\n".join(reasons), aggregate_texts(failures))

    async def require(self, request: Request) -> None:
        """Passes an allowed request on; raises the 403 (or the 500 of a broken authorizer) for any other."""
        attributes = attributes_of(request)
        verdict = await self.authorize(attributes)
        annotations = request.audit_annotations
        if verdict.decision is Decision.ALLOW:
            annotations["authorization.k8s.io/decision"] = "allow"
            annotations["authorization.k8s.io/reason"] = verdict.reason
            return
        if verdict.error:
            annotations["authorization.k8s.io/reason"] = "internal error"
            raise AuthorizerFailed(request.http.target, verdict.error)
        annotations["authorization.k8s.io/decision"] = "forbid"
        annotations["authorization.k8s.io/reason"] = verdict.reason
        request.response_headers.append(NOT_SNIFFED)
        raise forbidden(attributes, verdict.reason)

    async def allows(
        self, user: UserInfo, verb: str, group: str, resource: str, subresource: str, namespace: str, name: str
    ) -> bool:
        """For hops that ask about something beside the request, e.g. `sign` on a signer. Silence is a no."""
        attributes = Attributes(user, verb, group, "*", resource, subresource, namespace, name)
        return (await self.authorize(attributes)).allowed

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """The union over the chain, for SelfSubjectRulesReview."""
        collected = [authorizer.rules_for(user, namespace) for authorizer in self.authorizers]
        return Rules(
            [rule for rules in collected for rule in rules.resource_rules],
            [rule for rules in collected for rule in rules.non_resource_rules],
            any(rules.incomplete for rules in collected),
            aggregate_texts([rules.error for rules in collected if rules.error]),
        )


class AuthorizerFailed(errors.StatusError):
    """No authorizer could decide and one broke. Answer 500 with `text` as plain text, not as a Status."""

    def __init__(self, target: str, why: str) -> None:
        message = f"Internal Server Error: {quote(target)}: {why}"
        # The text must never pass for HTML in a browser.
        message = message.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        super().__init__(500, "InternalError", message)
        self.text = f"{self.message}\n"


def aggregate_texts(texts: Sequence[str]) -> str:
    """Several errors as Go's aggregate prints them: one plain, more in brackets, each only once."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""
