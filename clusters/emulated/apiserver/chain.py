"""The way of a request through the api-server, as one list.

Each handler looks at the request and either returns None, and the next one has its turn, or answers, by
returning a response or raising a `StatusError`. The last one always answers.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs, unquote_plus

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.audit import AuditLog
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.apiserver.media.negotiation import negotiate_error
from clusters.emulated.apiserver.metrics.requests import READ_ONLY_VERBS, RequestMetrics
from clusters.emulated.apiserver.request import Request, RequestInfo
from clusters.emulated.apiserver.request_info import RequestInfoError, request_info
from clusters.emulated.clock import Clock, Randomness
from clusters.kube import errors
from clusters.kube.gostring import quote

Handler = Callable[[Request], Awaitable[HttpResponse | None]]

REQUEST_TIMEOUT_S = 60.0
_LONG_RUNNING_VERBS = frozenset(("watch", "proxy"))
_LONG_RUNNING_SUBRESOURCES = frozenset(("attach", "exec", "proxy", "log", "portforward"))
_AUDIT_ID_MAX = 64
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h)")
_NUMBER_AND_UNIT = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)")
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

log = logging.getLogger(__name__)


class Chain:
    def __init__(
        self,
        handlers: Sequence[Handler],
        clock: Clock,
        randomness: Randomness,
        audit: AuditLog | None = None,
        metrics: RequestMetrics | None = None,
    ) -> None:
        self.handlers = tuple(handlers)
        self._audit = audit
        self._metrics = metrics or RequestMetrics(clock)
        self._clock = clock
        self._randomness = randomness

    async def __call__(self, http: HttpRequest) -> HttpResponse:
        request = self._received(http)
        in_flight = self._metrics.in_flight
        writes = request.info.verb not in READ_ONLY_VERBS
        in_flight[writes] += 1
        try:
            response = await (self._run(request) if _is_long_running(request) else self._run_in_time(request))
            response.headers += request.closing_headers
            self._metrics.answered(request, response, request.deadline_s - REQUEST_TIMEOUT_S)
            if self._audit is not None:
                self._audit.answered(request, response)
            return response
        finally:
            in_flight[writes] -= 1
            request.finish()

    def _received(self, http: HttpRequest) -> Request:
        """The request as the chain carries it: URL parsed once, audit id given, headers begun."""
        query = _parse_query(http.query) if http.query else {}
        problem: errors.StatusError | None = None
        try:
            info = request_info(http.method, http.path, query)
        except RequestInfoError as error:
            info = RequestInfo(False, http.path, http.method.lower())
            problem = errors.unknown(str(error))
        audit_id = (http.headers.get("audit-id") or "")[:_AUDIT_ID_MAX] or self._randomness.uid()
        now_s = self._clock.now_s()
        request = Request(http, info, query, audit_id, now_s, self._clock.monotonic_s() + REQUEST_TIMEOUT_S)
        request.problem = problem
        request.response_headers = [("Audit-Id", audit_id), ("Cache-Control", "no-cache, private")]
        return request

    async def _run_in_time(self, request: Request) -> HttpResponse:
        try:
            timeout_s = _requested_timeout(request)
        except errors.StatusError as error:
            return respond.error(request, error)
        task = asyncio.current_task()
        assert task is not None, "transports run requests in tasks"
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            task.cancel()

        timer = self._clock.call_later(timeout_s, expire)
        try:
            return await self._run(request)
        except asyncio.CancelledError:
            if not expired:
                raise
            task.uncancel()
            return _timed_out(request)
        finally:
            timer.cancel()

    async def _run(self, request: Request) -> HttpResponse:
        try:
            if request.problem is not None:
                raise request.problem
            for handler in self.handlers:
                response = await handler(request)
                if response is not None:
                    return response
        except errors.StatusError as error:
            return respond.error(request, error, negotiate_error(request.http.headers.get("accept") or ""))
        except Exception:
            request.failed = True
            log.exception("request %s %s failed in a way that nobody foresaw", request.http.method, request.http.target)
            return respond.error(request, errors.internal("an unexpected error; the server's log has its trace"))
        raise AssertionError("the last handler of the chain always answers")


def _parse_query(query: str) -> dict[str, list[str]]:
    """Go drops what it cannot parse, and keeps the rest."""
    try:
        if ";" in query:  # Once another separator; a pair with one in it is dropped.
            query = "&".join(pair for pair in query.split("&") if ";" not in pair)
        return parse_qs(query, keep_blank_values=True, max_num_fields=None)
    except ValueError:
        return {unquote_plus(part): [""] for part in query.split("&")}


def _is_long_running(request: Request) -> bool:
    info = request.info
    if not info.is_resource:
        return False
    return info.verb in _LONG_RUNNING_VERBS or info.subresource in _LONG_RUNNING_SUBRESOURCES


def _requested_timeout(request: Request) -> float:
    """`?timeout=` may shorten the time a request has, never lengthen it."""
    values = request.query.get("timeout")
    if not values or not values[0]:
        return REQUEST_TIMEOUT_S
    text = values[0]
    matches = list(_DURATION.finditer(text))
    if text == "0":
        seconds = 0.0
    elif not matches or "".join(match.group() for match in matches) != text.lstrip("+-"):
        detail = f"time: {_duration_problem(text)} {quote(text)}"
        raise errors.bad_request(f"invalid timeout specified in the request URL - {detail}")
    else:
        seconds = sum(float(match.group(1)) * _UNIT_S[match.group(2)] for match in matches)
    return min(seconds, REQUEST_TIMEOUT_S) if seconds > 0 else REQUEST_TIMEOUT_S


def _duration_problem(text: str) -> str:
    """What Go says of a text that is no duration, up to the text itself."""
    found = _NUMBER_AND_UNIT.match(text.lstrip("+-"))
    while found is not None and found.group(1) in _UNIT_S:
        found = _NUMBER_AND_UNIT.match(text.lstrip("+-"), found.end())
    if found is None:
        return "invalid duration"
    unit = found.group(1)
    return f"unknown unit {quote(unit)} in duration" if unit else "missing unit in duration"


def _timed_out(request: Request) -> HttpResponse:
    """After 60 s: text/plain, and a body that is a Status but for its kind and apiVersion."""
    body = (
        b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted '
        b'timeout","reason":"Timeout","details":{},"code":504}\n'
    )
    headers = [*request.response_headers, ("Content-Type", "text/plain; charset=utf-8")]
    return HttpResponse(504, headers, body)
