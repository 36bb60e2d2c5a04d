"""What can be broken on a cluster, by group. Each lever is a context manager: leaving it heals, `fired` counts hits.

A backend has the groups and levers that it can have; the others raise `LeverMissingError`, or are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Object = dict[str, Any]


class LeverMissingError(Exception):
    """This cluster has no such lever: run the test on one that has it."""


class Lever(Protocol):
    """A fault in force. `fired` counts what it has hit: 0 means that it hit nothing."""

    @property
    def fired(self) -> int: ...


Pulled = AbstractContextManager[Lever]

#: What is wrong with a certificate.
Defect = Literal["expired", "not-yet-valid", "foreign", "wrong-name", "wrong-usage"]


@dataclass(frozen=True)
class Sent:
    """A request as a client sends it, on its way to the api-server."""

    method: str
    path: str
    """With the query."""
    headers: tuple[tuple[str, str], ...]
    body: bytes
    user: str
    """Empty where the request's own credentials decide."""
    groups: tuple[str, ...]


class ObjectLevers(Protocol):
    """What somebody with kubectl breaks; the same operations on every backend."""

    def absent(self, path: str) -> Pulled:
        """The object at this path is deleted, and put back."""
        ...

    def present(self, *objects: tuple[str, Object]) -> Pulled:
        """These objects, each with the path of its collection, are there, and go again."""
        ...

    def changed(self, path: str, patch: Object) -> Pulled:
        """Merge-patched, and back to what it was."""
        ...

    def applied(self, path: str, obj: Object, manager: str) -> Pulled:
        """Another manager owns these fields, and gives them up again."""
        ...

    def terminating(self, namespace: str) -> Pulled:
        """The namespace is being deleted and cannot go; healed, it is gone and a new one is there."""
        ...


class ClientLevers(Protocol):
    """Hop 1: what clients send, and what they are told to connect to."""

    def sends(self, change: Callable[[Sent], Sent], method: str = "", path: str = "") -> Pulled:
        """Requests with this method, to paths that begin so, are changed on their way."""
        ...

    def races(self, method: str, path: str, patch: Object) -> Pulled:
        """Just before such a request, somebody else patches the object at its path."""
        ...

    def refuse(self) -> Pulled:
        """Nobody listens at the api-server's address; open connections are cut."""
        ...

    def loses_replies(self, method: str = "") -> Pulled:
        """Requests over HTTPS are carried out, and the connection is cut before their answer."""
        ...

    def kubeconfig(self, change: Callable[[Object], Object]) -> Pulled:
        """The kubeconfig says something else."""
        ...

    def credential(self, defect: Defect) -> Pulled:
        """The kubeconfig's client certificate is a bad one."""
        ...


class TlsLevers(Protocol):
    """Hop 2, the server's side of it."""

    def certificate(self, defect: Defect) -> Pulled:
        """The api-server serves with a bad certificate; open connections are cut."""
        ...


class AuthenticationLevers(Protocol):
    """Hop 2: who asks."""

    def skew(self, seconds: float) -> Pulled:
        """The clock by which tokens are judged is so much ahead (or behind, if negative)."""
        ...

    def token_webhook(self, users: Mapping[str, str]) -> AbstractContextManager[None]:
        """An authentication webhook that knows these tokens and their users; no fault, but what one can break."""
        ...

    def token_webhook_down(self) -> Pulled: ...


@dataclass(frozen=True)
class WebhookSpec:
    """An admission webhook as its owner registers it."""

    name: str = "policy.example.com"
    kind: Literal["mutating", "validating"] = "mutating"
    resources: tuple[str, ...] = ("configmaps",)
    groups: tuple[str, ...] = ("",)
    operations: tuple[str, ...] = ("CREATE",)
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    timeout_s: int | None = None
    service: str = ""
    """Reached through this Service in `default`, whose only endpoint it is; empty is by URL."""
    label: str = "kaput.example.com/mutated"
    """A mutating webhook sets this label."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the registration."""


@dataclass(frozen=True)
class WebhookAnswer:
    """How a webhook answers instead of allowing."""

    mode: Literal["deny", "malformed", "wrong-uid", "slow", "http-status", "patch"]
    code: int = 0
    reason: str = ""
    message: str = ""
    delay_s: float = 0.0
    patch: str = ""
    """JSON Patch, or whatever else it takes for one."""


class WebhookLevers(Protocol):
    """Hops 4 and 6. `serve` runs a real HTTPS webhook behind a proxy, and registers it; the others break it."""

    def serve(self, *specs: WebhookSpec) -> AbstractContextManager[None]: ...

    def answers(self, name: str, answer: WebhookAnswer) -> Pulled: ...

    def certificate(self, name: str, defect: Defect) -> Pulled: ...

    def network(self, name: str, toxic: str, **attributes: float) -> Pulled:
        """`down`, or one of Toxiproxy's toxics between api-server and webhook."""
        ...


class SchemaLevers(Protocol):
    """Hop 5: what is served, and how it is converted."""

    def unserved(self, group: str) -> Pulled:
        """An API group is switched off, as by --runtime-config."""
        ...

    def conversion(self, definition: Object) -> AbstractContextManager[None]:
        """Creates a CustomResourceDefinition with a conversion webhook, and runs that webhook."""
        ...

    def conversion_down(self) -> Pulled: ...


class StoreLevers(Protocol):
    """Hop 7."""

    def freeze(self) -> Pulled:
        """Every request to the store hangs."""
        ...

    def down(self) -> Pulled:
        """The store is gone: connections are refused."""
        ...

    def stall_fsync(self, delay_s: float) -> Pulled:
        """Each fsync takes this long, in cluster time."""
        ...

    def quota(self, quota_bytes: int) -> Pulled:
        """The database may not grow beyond this."""
        ...

    def lose_quorum(self, members: int = 3) -> Pulled:
        """Of so many members, all but a minority stop."""
        ...

    def change_leader(self, every_s: float) -> Pulled:
        """Writes are slow, and the leader changes this often while they are under way."""
        ...

    def corrupt(self, key: str) -> Pulled:
        """What is stored under this key is not readable."""
        ...

    def compact(self) -> int:
        """Forgets all history before now, which nothing brings back; returns the revision it now begins with."""
        ...


class WatchLevers(Protocol):
    """Hop 8, the caches between the store and everybody who watches. `resource` is as in `pods` or `leases.coordination.k8s.io`."""  # noqa: E501

    def freeze(self, resource: str, replica: int | None = None) -> Pulled: ...

    def delay(self, resource: str, delay_s: float, replica: int | None = None) -> Pulled: ...

    def rotate(self, resource: str, events: int, churn: Callable[[int], tuple[str, Object]]) -> Pulled:
        """The window keeps so few events, and that many writes push older ones out."""
        ...

    def reinitialise(self, resource: str) -> Pulled:
        """The cache is not ready."""
        ...

    def restart(self, resource: str) -> Pulled:
        """History is compacted and the cache lists anew, as when an api-server is restarted."""
        ...

    def cut(self) -> Pulled:
        """Watches end without a word, now and while this is in force."""
        ...


class FlowLevers(Protocol):
    """Priority and fairness, between hops 2 and 3."""

    def starve(self, level: str) -> Pulled:
        """A priority level has no seats."""
        ...


class ReplicaLevers(Protocol):
    """Several api-servers."""

    def drain(self, replica: int) -> Pulled:
        """A replica is told to end, and still serves."""
        ...

    def refuse(self, replica: int) -> Pulled:
        """A replica listens no more."""
        ...


class AggregationLevers(Protocol):
    def serve(self, group: str, resource: str, kind: str) -> AbstractContextManager[None]:
        """Runs an aggregated api-server behind a Service, and registers it."""
        ...

    def down(self, group: str) -> Pulled: ...


class ComponentLevers(Protocol):
    """Hops 9 and 10."""

    def stop(self, name: str = "") -> Pulled: ...


class Levers(Protocol):
    """What can be broken on a cluster, by the component it breaks."""

    @property
    def objects(self) -> ObjectLevers: ...
    @property
    def client(self) -> ClientLevers: ...
    @property
    def tls(self) -> TlsLevers: ...
    @property
    def authentication(self) -> AuthenticationLevers: ...
    @property
    def flow(self) -> FlowLevers: ...
    @property
    def webhooks(self) -> WebhookLevers: ...
    @property
    def schema(self) -> SchemaLevers: ...
    @property
    def store(self) -> StoreLevers: ...
    @property
    def watch(self) -> WatchLevers: ...
    @property
    def replicas(self) -> ReplicaLevers: ...
    @property
    def aggregation(self) -> AggregationLevers: ...
    @property
    def controllers(self) -> ComponentLevers: ...
    @property
    def scheduler(self) -> ComponentLevers: ...
