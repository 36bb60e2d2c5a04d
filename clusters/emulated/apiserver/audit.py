"""The audit log: one line of JSON per request, at level Metadata, as `--audit-log-path` writes it.

A watch has two lines, when it began and when it was over; everything else one, when it was answered.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson

from clusters.emulated.apiserver.http import HttpResponse, StreamWriter
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339_micro

Object = dict[str, Any]


class AuditLog:
    """Appends to a file (0600). Several replicas may share one: each line is a single write."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self._clock = clock
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def answered(self, request: Request, response: HttpResponse) -> None:
        """The request has its answer; called once for each."""
        if response.stream is None:
            self._write(request, response, "ResponseComplete")
            return
        self._write(request, response, "ResponseStarted")
        response.stream = self._noted_at_end(request, response, response.stream)

    def close(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1

    def _noted_at_end(
        self, request: Request, response: HttpResponse, stream: Callable[[StreamWriter], Awaitable[None]]
    ) -> Callable[[StreamWriter], Awaitable[None]]:
        async def noted(writer: StreamWriter) -> None:
            try:
                await stream(writer)
            finally:
                self._write(request, response, "ResponseComplete")

        return noted

    def _write(self, request: Request, response: HttpResponse, stage: str) -> None:
        if self._descriptor < 0:
            return  # A stream that outlived the server.
        event = audit_event(request, response, stage, self._clock.now_s())
        os.write(self._descriptor, orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))


def audit_event(request: Request, response: HttpResponse, stage: str, now_s: float) -> Object:
    http, info = request.http, request.info
    event: Object = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
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
    event["responseStatus"] = _status(response)
    event["requestReceivedTimestamp"] = rfc3339_micro(request.received_s)
    event["stageTimestamp"] = rfc3339_micro(now_s)
    if request.audit_annotations:
        event["annotations"] = dict(request.audit_annotations)
    return event


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
