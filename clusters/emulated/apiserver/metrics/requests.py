"""Counting requests: one dictionary look-up, two bisections and four additions for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from clusters.emulated.apiserver.http import HttpResponse, StreamWriter
from clusters.emulated.apiserver.metrics.histogram import DURATIONS_S, SIZES_BYTES, Histogram
from clusters.emulated.apiserver.request import Request, RequestInfo
from clusters.emulated.clock import Clock

READ_ONLY_VERBS = frozenset(("get", "list", "watch"))
_SERIES_MAX = 10_000  # Anybody can ask for any resource; only so many are told apart.
_VERBS = {
    "get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT", "patch": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETECOLLECTION", "proxy": "CONNECT",
}  # fmt: skip
_CONNECTED = frozenset(("attach", "exec", "portforward", "proxy"))
_APPLY = "application/apply-patch+"
# What the real server calls the paths that are no resources.
_PATHS = {
    "/healthz": "/healthz", "/livez": "/livez", "/readyz": "/readyz", "/metrics": "/metrics", "/api": "api",
    "/apis": "apis", "/openapi/v2": "openapi/v2", "/openapi/v3": "openapi/v3", "/version": "/version",
}  # fmt: skip


class Series:
    """Everything counted about requests that are alike."""

    __slots__ = ("codes", "dry_run", "durations", "labels", "long_running", "sizes")

    def __init__(self, labels: dict[str, str], dry_run: str) -> None:
        self.labels = labels
        self.dry_run = dry_run
        self.codes: dict[int, int] = {}
        self.durations = Histogram(DURATIONS_S)
        self.sizes = Histogram(SIZES_BYTES)
        self.long_running = 0


class RequestMetrics:
    """`answered` is called once for every request that got an answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.series: dict[tuple[str, ...], Series] = {}
        #: Requests being served now that only read, and those that write.
        self.in_flight = [0, 0]

    def answered(self, request: Request, response: HttpResponse, began_s: float) -> None:
        series = self._of(request)
        if response.stream is not None:
            response.stream = self._counted_at_end(series, response, response.stream, began_s)
            return
        codes = series.codes
        status = response.status
        codes[status] = codes.get(status, 0) + 1
        series.durations.observe(self._clock.monotonic_s() - began_s)
        if request.info.verb in READ_ONLY_VERBS:
            series.sizes.observe(len(response.body))

    def _of(self, request: Request) -> Series:
        info = request.info
        applies = ""
        if info.verb == "patch" and (request.http.headers.get("content-type") or "").startswith(_APPLY):
            applies = "apply"
        dry_run = "All" if "dryRun" in request.query else ""
        if info.is_resource:
            key: tuple[str, ...] = (
                info.verb, info.group, info.version, info.resource, info.subresource, _scope(info), dry_run, applies,
            )  # fmt: skip
        else:
            key = (request.http.method, info.path)
        series = self.series.get(key)
        if series is None:
            series = self._begin(key, request, dry_run, applies)
        return series

    def _begin(self, key: tuple[str, ...], request: Request, dry_run: str, applies: str) -> Series:
        info = request.info
        if info.is_resource:
            labels = {
                "component": "apiserver", "group": info.group, "resource": info.resource, "scope": _scope(info),
                "subresource": info.subresource, "verb": _verb(info, applies), "version": info.version,
            }  # fmt: skip
        else:
            labels = {
                "component": "", "group": "", "resource": "", "scope": "", "subresource": _path(info.path),
                "verb": request.http.method, "version": "",
            }  # fmt: skip
            key = (request.http.method, labels["subresource"])
            known = self.series.get(key)
            if known is not None:
                return known
        series = Series(labels, dry_run)
        if len(self.series) < _SERIES_MAX:
            self.series[key] = series
        return series

    def _counted_at_end(
        self,
        series: Series,
        response: HttpResponse,
        stream: Callable[[StreamWriter], Awaitable[None]],
        began_s: float,
    ) -> Callable[[StreamWriter], Awaitable[None]]:
        """A watch counts as running while it streams, and as a request when it is over."""

        async def counted(writer: StreamWriter) -> None:
            series.long_running += 1
            try:
                await stream(writer)
            finally:
                series.long_running -= 1
                series.codes[response.status] = series.codes.get(response.status, 0) + 1
                series.durations.observe(self._clock.monotonic_s() - began_s)

        return counted


def _scope(info: RequestInfo) -> str:
    if info.name or info.verb == "create":
        return "resource"
    return "namespace" if info.namespace else "cluster"


def _verb(info: RequestInfo, applies: str) -> str:
    if applies:
        return "APPLY"
    if info.subresource in _CONNECTED:
        return "CONNECT"
    return _VERBS.get(info.verb, "OTHER")


def _path(path: str) -> str:
    known = _PATHS.get(path.rstrip("/") or "/")
    if known is not None:
        return known
    return "openapi/v3/" if path.startswith("/openapi/v3/") else ""
