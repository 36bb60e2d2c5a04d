"""What a fault's workload and symptoms ask of a cluster, as data: who asks what, and which answers are remembered.

    create = post(CONFIG_MAPS, config_map("probe-"))
    read = get(f"{CONFIG_MAPS}/web", user="jane")
    stale = get(f"{CONFIG_MAPS}/web?resourceVersion={{seen}}", replica=1)   # {seen} was remembered before

A request says nothing about what comes of it: that is a symptom's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Object = dict[str, Any]
#: In process; over HTTPS with what the kubeconfig says, as kubectl does; or through the load balancer in front.
Via = Literal["api", "https", "front"]

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Request:
    """One request. `{name}` in path, token and texts of the body is what was remembered under this name."""

    method: str
    path: str
    body: Any = None
    user: str = ""
    """Empty is cluster-admin."""
    groups: tuple[str, ...] = ()
    token: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    replica: int | None = None
    via: Via = "api"
    first: tuple[Step, ...] = ()
    """What the same client does just before."""

    def __str__(self) -> str:
        who = f" as {self.user}" if self.user else " with a token" if self.token else ""
        where = "" if self.replica is None else f" of replica {self.replica}"
        return f"{self.method} {self.path}{who}{where}"

    def after(self, *steps: Step) -> Request:
        return replace(self, first=(*self.first, *steps))


@dataclass(frozen=True)
class Step:
    """A request whose answer is needed: `remember` names what to take out of it, by dotted path."""

    request: Request
    remember: Mapping[str, str] = field(default_factory=dict)


def get(path: str, **rest: Any) -> Request:
    return Request("GET", path, **rest)


def post(path: str, body: Object, **rest: Any) -> Request:
    return Request("POST", path, body, **rest)


def put(path: str, body: Object, **rest: Any) -> Request:
    return Request("PUT", path, body, **rest)


def patch(path: str, body: object, content_type: str = MERGE_PATCH, **rest: Any) -> Request:
    return Request("PATCH", path, body, headers=(("Content-Type", content_type),), **rest)


def apply(path: str, body: Object, manager: str, **rest: Any) -> Request:
    """Server-side apply, which asks before it takes a field from another manager."""
    return patch(f"{path}?fieldManager={manager}&force=false", body, APPLY_PATCH, **rest)


def delete(path: str, **rest: Any) -> Request:
    return Request("DELETE", path, **rest)


def issue_token(namespace: str, account: str, name: str = "token", seconds: int = 3600) -> Step:
    """A ServiceAccount's token, remembered."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    return Step(post(path, body), {name: "status.token"})


@dataclass(frozen=True)
class Workload:
    """What is in the cluster before the fault: objects, created in this order, and what their owner remembers."""

    objects: Sequence[tuple[str, Object]] = ()
    """Each with the path of its collection."""
    remember: Sequence[Step] = ()
    """Carried out after the objects are there, and anew after the fault: who was refused looks again."""
