"""The signs of a failure, as data: what a person would see, without a word on how to look.

    all_of(
        response(create, 504, "Timeout", "request did not complete within requested timeout"),
        response(cached_read, 200),
        within(30, response(get("/readyz"), 500)),
    )

`harness.symptoms` looks, and brings evidence. Codes and reasons match exactly, texts are searched for as regular
expressions. A symptom without any sign in it is an error: it would be seen everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faults.requests import Request


class EmptySymptomError(ValueError):
    """A symptom has to say what is seen: give it at least one sign."""


@dataclass(frozen=True)
class Symptom:
    """Something that is seen, or not."""


@dataclass(frozen=True)
class Response(Symptom):
    """The answer to a request. `reason` "" is a Status without one; None is whatever comes."""

    request: Request
    code: int
    reason: str | None = None
    message: str = ""
    """Of the Status, or of the whole text where the answer is no Status."""
    body: Mapping[str, str | None] = field(default_factory=dict)
    """By dotted path: what has to be there (a pattern), or None for what must not."""
    headers: Mapping[str, str] = field(default_factory=dict)
    took_s: tuple[float, float] | None = None
    """Cluster time from asking to the answer, at least and at most."""


@dataclass(frozen=True)
class NoResponse(Symptom):
    """No HTTP answer at all: refused, cut, a certificate nobody trusts. `error` is in the words of Go's client."""

    request: Request
    error: str


@dataclass(frozen=True)
class WatchError(Symptom):
    """A watch is accepted, and its first word is an ERROR event."""

    request: Request
    code: int
    reason: str = ""
    message: str = ""


@dataclass(frozen=True)
class WatchSilent(Symptom):
    """A watch that should have told of a write says nothing for this long, and no error either."""

    watch: Request
    write: Request
    for_s: float


@dataclass(frozen=True)
class PodWaiting(Symptom):
    """A container waits for this reason, as `kubectl get pods` shows in its STATUS."""

    namespace: str
    selector: str
    reason: str
    message: str = ""


@dataclass(frozen=True)
class PodPhase(Symptom):
    namespace: str
    selector: str
    phase: str
    reason: str | None = None


@dataclass(frozen=True)
class Condition(Symptom):
    """A condition in the status of the object at this path."""

    path: str
    type: str
    status: str
    reason: str | None = None
    message: str = ""


@dataclass(frozen=True)
class EventSeen(Symptom):
    namespace: str
    reason: str
    message: str = ""
    about: str = ""
    """`Kind/name` of the object; empty is any."""


@dataclass(frozen=True)
class Endpoint(Symptom):
    """Whether a Service has an endpoint in this state; `ready` None is: it has none at all."""

    namespace: str
    service: str
    ready: bool | None


@dataclass(frozen=True)
class Kubectl(Symptom):
    """What a person sees who types this."""

    args: tuple[str, ...]
    stdout: str = ""
    stderr: str = ""
    exit: int = 0


@dataclass(frozen=True)
class AllOf(Symptom):
    parts: tuple[Symptom, ...]


@dataclass(frozen=True)
class AnyOf(Symptom):
    parts: tuple[Symptom, ...]


@dataclass(frozen=True)
class Never(Symptom):
    """Not seen once in this much cluster time."""

    part: Symptom
    for_s: float


@dataclass(frozen=True)
class Within(Symptom):
    """Seen before this much cluster time has passed."""

    seconds: float
    part: Symptom


def response(request: Request, code: int, reason: str | None = None, message: str = "", **rest: Any) -> Response:
    return Response(request, code, reason, message, **rest)


def no_response(request: Request, error: str) -> NoResponse:
    return NoResponse(request, error)


def watch_error(request: Request, code: int, reason: str = "", message: str = "") -> WatchError:
    return WatchError(request, code, reason, message)


def watch_silent(watch: Request, write: Request, for_s: float) -> WatchSilent:
    return WatchSilent(watch, write, for_s)


class pod:  # noqa: N801  (reads as a word of the algebra: pod.waiting("default", "app=web", "ErrImagePull"))
    @staticmethod
    def waiting(namespace: str, selector: str, reason: str, message: str = "") -> PodWaiting:
        return PodWaiting(namespace, selector, reason, message)

    @staticmethod
    def phase(namespace: str, selector: str, phase: str, reason: str | None = None) -> PodPhase:
        return PodPhase(namespace, selector, phase, reason)


class node:  # noqa: N801
    @staticmethod
    def condition(name: str, type: str, status: str, reason: str | None = None, message: str = "") -> Condition:
        return Condition(f"/api/v1/nodes/{name}", type, status, reason, message)


def condition(path: str, type: str, status: str, reason: str | None = None, message: str = "") -> Condition:
    return Condition(path, type, status, reason, message)


def event(namespace: str, reason: str, message: str = "", about: str = "") -> EventSeen:
    return EventSeen(namespace, reason, message, about)


def endpoint(namespace: str, service: str, ready: bool | None) -> Endpoint:
    return Endpoint(namespace, service, ready)


def kubectl(*args: str, stdout: str = "", stderr: str = "", exit: int = 0) -> Kubectl:
    return Kubectl(args, stdout, stderr, exit)


def all_of(*parts: Symptom) -> Symptom:
    """Every sign at once."""
    return AllOf(_some(parts))


def any_of(*parts: Symptom) -> Symptom:
    return AnyOf(_some(parts))


def never(part: Symptom, for_s: float) -> Never:
    return Never(part, for_s)


def within(seconds: float, part: Symptom) -> Within:
    return Within(seconds, part)


def _some(parts: tuple[Symptom, ...]) -> tuple[Symptom, ...]:
    if not parts:
        raise EmptySymptomError("a symptom without a sign would be seen everywhere: say what is seen")
    return parts
