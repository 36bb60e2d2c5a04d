"""Whoever looks at a cluster: carries out requests, remembers values for later ones, and keeps the last answers."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from clusters.base import Answer, Api
from faults.requests import Request, Step, Workload
from harness.symptoms.evidence import Evidence
from harness.symptoms.hops import hop_of_answer, hop_of_error
from harness.symptoms.https import NoAnswerError, ask

if TYPE_CHECKING:
    from clusters.base import Cluster
    from harness.kubectl import Ran

ANSWERS_KEPT = 20
_NAME = re.compile(r"\{(\w+)\}")


class NotRememberedError(LookupError):
    """A request names something that no step before it has remembered."""


@dataclass(frozen=True)
class Asked:
    """A request and what came of it: an answer, or why there was none."""

    request: Request
    answer: Answer | None
    error: str
    at_s: float
    took_s: float

    @property
    def evidence(self) -> Evidence:
        if self.answer is None:
            return Evidence(f"{self.request}: no answer: {self.error}", self.at_s, hop_of_error(self.error))
        said = said_of(self.answer)
        what = f"{self.request}: {self.answer.code} {said} (after {self.took_s:.3f} s)"
        return Evidence(what, self.at_s, hop_of_answer(self.answer), self.answer)


def said_of(answer: Answer) -> str:
    """Reason and message of a Status; the beginning of anything else."""
    body = answer.body
    if isinstance(body, dict) and body.get("status") == "Failure":
        return f"{body.get('reason', '(no reason)')}: {body.get('message', '')}"
    return answer.text[:200].strip()


class Observer:
    def __init__(self, cluster: Cluster, kubectl: Callable[..., Ran] | None = None) -> None:
        self.cluster = cluster
        self.kubectl = kubectl
        self.memory: dict[str, str] = {}
        self.last: deque[Evidence] = deque(maxlen=ANSWERS_KEPT)
        self.events_path = "/api/v1/events"

    # The workload

    def set_up(self, workload: Workload) -> None:
        for collection, obj in workload.objects:
            self.cluster.api.create(collection, obj)
        self.remember(workload.remember)

    def remember(self, steps: Sequence[Step]) -> None:
        for step in steps:
            asked = self.ask(step.request)
            if asked.answer is None or (step.remember and asked.answer.code >= 400):
                raise AssertionError(f"a step before the look failed: {asked.evidence.what}")
            for name, path in step.remember.items():
                self.memory[name] = str(at(asked.answer.body, path))

    # Requests

    def ask(self, request: Request) -> Asked:
        self.remember(request.first)
        path = self._filled(request.path)
        headers = list(request.headers)
        if request.body is not None and not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(("Content-Type", "application/json"))
        token = self._filled(request.token)
        body = request.body
        if body is not None and not isinstance(body, bytes):
            body = orjson.dumps(self._filled_in(body))
        began_s = self.cluster.elapsed_s()
        answer, error = None, ""
        try:
            answer = self._answer(request, path, body, headers, token)
        except NoAnswerError as failed:
            error = str(failed)
        now_s = self.cluster.elapsed_s()
        asked = Asked(request, answer, error, now_s, now_s - began_s)
        self.last.append(asked.evidence)
        return asked

    def _answer(
        self, request: Request, path: str, body: bytes | None, headers: list[tuple[str, str]], token: str
    ) -> Answer:
        if request.via == "api":
            return self.api(request, token).request(request.method, path, body, headers=dict(headers))
        if token:
            headers = [*headers, ("Authorization", f"Bearer {token}")]
        if request.user:
            headers = [*headers, ("Impersonate-User", request.user)]
        server = self.cluster.front_url() if request.via == "front" else ""
        return ask(self.cluster.kubeconfig, request.method, path, body or b"", headers, server=server)

    def api(self, request: Request, token: str = "") -> Api:
        """As whom this request is asked, and where."""
        api = self.cluster.api if request.replica is None else self.cluster.replica(request.replica)
        if token or request.token:
            return api.with_token(token or self._filled(request.token))
        return api.as_user(request.user, request.groups) if request.user else api

    def path_of(self, request: Request) -> str:
        return self._filled(request.path)

    def _filled(self, text: str) -> str:
        def known(found: re.Match[str]) -> str:
            if found[1] not in self.memory:
                raise NotRememberedError(f"{found[0]} in {text!r} was never remembered; there are {[*self.memory]}")
            return self.memory[found[1]]

        return _NAME.sub(known, text)

    def _filled_in(self, value: Any) -> Any:
        if isinstance(value, str):
            return _NAME.sub(lambda found: self.memory.get(found[1], found[0]), value)
        if isinstance(value, dict):
            return {key: self._filled_in(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled_in(each) for each in value]
        return value


def at(body: Any, path: str) -> Any:
    """What a dotted path leads to; None if it leads nowhere. `\\.` is a dot in a name, digits index a list."""
    for name in re.split(r"(?<!\\)\.", path):
        key = name.replace("\\.", ".")
        if isinstance(body, list):
            body = body[int(key)] if key.isdigit() and int(key) < len(body) else None
        elif isinstance(body, dict):
            body = body.get(key)
        else:
            return None
    return body
