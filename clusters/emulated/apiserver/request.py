"""One API request on its way through the chain: who asks, for what, and what has been noted so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusters.emulated.apiserver.http import HttpRequest
    from clusters.kube.errors import StatusError


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Who asks. `groups` always holds system:authenticated or system:unauthenticated once authenticated."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = UserInfo("system:anonymous", groups=("system:unauthenticated",))


@dataclass(slots=True)
class RequestInfo:
    """What the URL and method ask for; parsed once, before authentication.

    `/apis/apps/v1/namespaces/n/deployments/d/scale` with PUT is verb update, group apps, version v1,
    namespace n, resource deployments, name d, subresource scale.
    """

    is_resource: bool
    path: str
    verb: str  # get, list, watch, create, update, patch, delete, deletecollection, proxy …; else the method
    prefix: str = ""  # api or apis
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""

    @property
    def group_resource(self) -> str:
        """As messages name it: `deployments.apps`, `pods`."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


@dataclass(slots=True)
class Request:
    """The request and what the hops learn on its way. Handlers read and fill this; nobody parses twice."""

    http: HttpRequest
    info: RequestInfo
    query: Mapping[str, list[str]]  # decoded
    audit_id: str
    received_s: float  # cluster time
    deadline_s: float  # cluster monotonic time at which the request is over
    user: UserInfo = ANONYMOUS
    #: The user that authenticated, when impersonation replaced `user`.
    impersonator: UserInfo | None = None
    #: Texts for `Warning: 299` headers, in order, without duplicates.
    warnings: list[str] = field(default_factory=list)
    audit_annotations: dict[str, str] = field(default_factory=dict)
    response_headers: list[tuple[str, str]] = field(default_factory=list)
    #: Headers that come after all others (Go writes them in alphabetical order).
    closing_headers: tuple[tuple[str, str], ...] = ()
    #: It ended in an exception that nobody foresaw; the audit log calls that a panic.
    failed: bool = False
    #: Why the URL itself cannot be served; the chain answers with it.
    problem: StatusError | None = None
    #: Called once the request is over, in any way: seats to give back, spans to close.
    at_end: list[Callable[[], None]] = field(default_factory=list)

    def finish(self) -> None:
        callbacks, self.at_end = self.at_end, []
        for callback in callbacks:
            callback()

    def warn(self, text: str) -> None:
        if text and text not in self.warnings:
            self.warnings.append(text)

    def parameter(self, name: str) -> str:
        """The first value of a query parameter, or an empty text."""
        values = self.query.get(name)
        return values[0] if values else ""
