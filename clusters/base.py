"""The contract between tests and a cluster, whichever backend it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clusters.lever_protocols import Lever, LeverMissingError, Levers, Sent, WebhookAnswer, WebhookSpec

__all__ = [
    "Answer", "Api", "ApiError", "Cluster", "ClusterShape", "Lever", "LeverMissingError", "Levers", "Object", "Sent",
    "WebhookAnswer", "WebhookSpec",
]  # fmt: skip

Object = dict[str, Any]


class ApiError(Exception):
    """The api-server refused. `code` and `reason` are what Kubernetes answered; `status` is the whole body."""

    def __init__(self, method: str, path: str, answer: Answer) -> None:
        body = answer.body if isinstance(answer.body, dict) else {}
        self.answer = answer
        self.code = answer.code
        self.reason: str = body.get("reason", "")
        self.message: str = body.get("message", "") or str(answer.body)
        self.status = body
        super().__init__(f"{method} {path} was answered {self.code} {self.reason}: {self.message}".rstrip(": "))


@dataclass(frozen=True)
class Answer:
    """What came back: the HTTP code, the headers, and the body (decoded when it is JSON)."""

    code: int
    headers: Sequence[tuple[str, str]]
    body: Any
    text: str

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers, without the code before and the quotes around them."""
        found = [value for name, value in self.headers if name.lower() == "warning"]
        quoted = [value.split('"', 1)[1][:-1] for value in found]
        return [text.replace('\\"', '"').replace("\\\\", "\\") for text in quoted]


class Api(Protocol):
    """One identity's way to the api-server, blocking. Paths are URLs as Kubernetes has them."""

    def request(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Whatever the api-server answers, also when it refuses."""
        ...

    def get(self, path: str) -> Object:
        """The object or list at this path; raises ApiError when there is none."""
        ...

    def create(self, path: str, obj: Object) -> Object: ...

    def update(self, path: str, obj: Object) -> Object: ...

    def patch(self, path: str, change: object, content_type: str = ...) -> Object: ...

    def apply(self, path: str, obj: Object, *, manager: str = ..., force: bool = False) -> Object: ...

    def delete(self, path: str, options: Object | None = None) -> Object: ...

    def watch(self, path: str) -> AbstractContextManager[Iterator[Object]]:
        """The watch events of a collection, until the block is left or the server ends the stream."""
        ...

    def as_user(self, name: str, groups: Sequence[str] = ()) -> Api: ...

    def with_token(self, token: str) -> Api: ...

    def anonymous(self) -> Api: ...


@dataclass(frozen=True)
class ClusterShape:
    """What a cluster has to have from its start."""

    replicas: int = 1
    front: bool = False
    """A load balancer in front of the api-servers, which asks each whether it is ready."""
    components: bool = False
    """Controllers and scheduler run."""
    nodes: tuple[str, ...] = ()


class Cluster(Protocol):
    """A cluster a test can use and break. Leaving the `with` block ends it and everything it started."""

    backend: str
    version: str

    @property
    def api(self) -> Api:
        """cluster-admin."""
        ...

    @property
    def kubeconfig(self) -> Path:
        """A file (0600) for kubectl and client libraries; asking for it starts the HTTPS listener."""
        ...

    @property
    def levers(self) -> Levers: ...

    def replica(self, index: int) -> Api:
        """cluster-admin at one api-server of several."""
        ...

    def elapsed_s(self) -> float:
        """Cluster time since some moment before the first call."""
        ...

    def pass_time(self, seconds: float) -> None:
        """Returns when so much cluster time has passed."""
        ...

    def front_url(self) -> str:
        """Where the load balancer in front of the api-servers is."""
        ...

    def close(self) -> None: ...
