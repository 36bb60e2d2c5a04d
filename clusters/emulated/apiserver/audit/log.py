"""Noting requests as the policy asks, in memory and as lines of a file, as `--audit-log-path` writes it.

A watch has two lines, when it began and when it was over; everything else one, when it was answered. Where the
policy wants the moment of arrival too, that line is written together with the answer's.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson

from clusters.emulated.apiserver.audit.policy import COMPLETE, PANIC, RECEIVED, STARTED, AuditPolicy, Decision
from clusters.emulated.apiserver.http import HttpResponse, StreamWriter
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339_micro

Object = dict[str, Any]

KEPT_MAX = 10_000
_JSON = (b"{", b"[")


class AuditLog:
    """Keeps the last events, and appends them to a file (0600) if there is one.

    Several replicas may share a file: each line is a single write.
    """

    def __init__(
        self, file: Path | None, clock: Clock, policy: AuditPolicy | None = None, *, kept_max: int = KEPT_MAX
    ) -> None:
        self._clock = clock
        self._policy = policy or AuditPolicy.everything()
        self._descriptor = -1 if file is None else os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.events: deque[Object] = deque(maxlen=kept_max)
        #: How many events there were, kept or not.
        self.count = 0

    def answered(self, request: Request, response: HttpResponse) -> None:
        """The request has its answer; called once for each."""
        decision = self._policy.decide(request.impersonator or request.user, request.info)
        if decision.level == "None":
            return
        self._note(request, None, RECEIVED, decision, request.received_s)
        if request.failed:
            self._note(request, response, PANIC, decision)
        elif response.stream is None:
            self._note(request, response, COMPLETE, decision)
        else:
            self._note(request, response, STARTED, decision)
            response.stream = self._noted_at_end(request, response, response.stream, decision)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _noted_at_end(
        self,
        request: Request,
        response: HttpResponse,
        stream: Callable[[StreamWriter], Awaitable[None]],
        decision: Decision,
    ) -> Callable[[StreamWriter], Awaitable[None]]:
        async def noted(writer: StreamWriter) -> None:
            try:
                await stream(writer)
            finally:
                self._note(request, response, COMPLETE, decision)

        return noted

    def _note(
        self, request: Request, response: HttpResponse | None, stage: str, decision: Decision, at_s: float = 0.0
    ) -> None:
        if stage in decision.omitted_stages:
            return
        event = audit_event(request, response, stage, at_s or self._clock.now_s(), decision)
        self.count += 1
        self.events.append(event)
        if self._descriptor >= 0:  # Closed already for a stream that outlives the server.
            os.write(self._descriptor, orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))


def audit_event(
    request: Request, response: HttpResponse | None, stage: str, now_s: float, decision: Decision
) -> Object:
    http, info = request.http, request.info
    event: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": decision.level,
        "auditID": request.audit_id,
        "stage": stage,
        "requestURI": http.target,
        "verb": info.verb,
        "user": _user(request.impersonator or request.user),
    }
    if request.impersonator is not None:
        event["impersonatedUser"] = _user(request.user)
    event["sourceIPs"] = [http.remote_address.rpartition(":")[0].strip("[]") or "127.0.0.1"]
    if agent := http.headers.get("user-agent"):
        event["userAgent"] = agent
    if info.is_resource:
        reference = {
            "resource": info.resource,
            "namespace": info.namespace,
            "name": info.name,
            "apiGroup": info.group,
            "apiVersion": info.version,
            "subresource": info.subresource,
        }
        event["objectRef"] = {name: value for name, value in reference.items() if value}
    if response is not None:
        event["responseStatus"] = _status(response)
        event |= _objects(request, response, stage, decision)
    event["requestReceivedTimestamp"] = rfc3339_micro(request.received_s)
    event["stageTimestamp"] = rfc3339_micro(now_s)
    if request.audit_annotations:
        event["annotations"] = dict(request.audit_annotations)
    return event


def _objects(request: Request, response: HttpResponse, stage: str, decision: Decision) -> Object:
    """What was sent and what was answered, where the level asks for it and it is JSON."""
    found: Object = {}
    if decision.level in ("Request", "RequestResponse") and request.info.is_resource and request.http.body[:1] in _JSON:
        found["requestObject"] = _body(request.http.body, decision)
    wants_response = decision.level == "RequestResponse" and stage in (COMPLETE, PANIC) and response.stream is None
    if wants_response and request.info.is_resource and response.body[:1] == b"{":
        found["responseObject"] = _body(response.body, decision)
    return {name: value for name, value in found.items() if value is not None}


def _body(body: bytes, decision: Decision) -> Any:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None  # The client's mistake is in the status already.
    if decision.omits_managed_fields and isinstance(value, dict):
        for each in (value, *(item for item in value.get("items") or () if isinstance(item, dict))):
            if isinstance(each.get("metadata"), dict):
                each["metadata"].pop("managedFields", None)
    return value


def _user(user: UserInfo) -> Object:
    shown: Object = {"username": user.name}
    if user.uid:
        shown["uid"] = user.uid
    if user.groups:
        shown["groups"] = list(user.groups)
    if user.extra:
        shown["extra"] = {name: list(values) for name, values in user.extra.items()}
    return shown


def _status(response: HttpResponse) -> Object:
    status: Object = {"metadata": {}}
    if response.status >= 400 and response.body[:1] == b"{":
        body = orjson.loads(response.body)
        status |= {name: body[name] for name in ("status", "message", "reason", "details") if body.get(name)}
    status["code"] = response.status
    return status
