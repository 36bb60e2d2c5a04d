"""All metrics of one api-server, and the page that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.metrics.histogram import WAITS_S, Histogram
from clusters.emulated.apiserver.metrics.requests import RequestMetrics, Series
from clusters.emulated.apiserver.metrics.store_metrics import StoreMetrics
from clusters.emulated.apiserver.request import Request
from clusters.emulated.clock import Clock

if TYPE_CHECKING:
    from clusters.emulated.apiserver.admission.webhooks.call import WebhookCaller
    from clusters.emulated.apiserver.flowcontrol.flow_control import FlowControl, Schema
    from clusters.emulated.apiserver.metrics.exposition import Exposition, Labels
    from clusters.emulated.apiserver.metrics.webhooks import WebhookMetrics
    from clusters.emulated.apiserver.server import ApiServer

_SELF_DEFENCE = (429, 503, 504)


class Metrics:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.requests = RequestMetrics(clock)
        self.store = StoreMetrics(clock)
        self._webhooks: WebhookMetrics | None = None

    def webhook_caller(self, *wiring: object) -> WebhookCaller:
        """What admission builds its caller of webhooks with."""
        if self._webhooks is None:
            from clusters.emulated.apiserver.metrics.webhooks import WebhookMetrics  # Needs admission's classes.

            self._webhooks = WebhookMetrics(self._clock)
        return self._webhooks.caller(*wiring)

    async def answer(self, server: ApiServer, request: Request) -> HttpResponse:
        """`/metrics`; `/metrics/slis` shows the health checks only."""
        from clusters.emulated.apiserver.metrics.exposition import CONTENT_TYPE, Exposition

        page = Exposition()
        if request.info.path == "/metrics/slis":
            await self._health(page, server)
        else:
            self._requests(page)
            self._store(page, server)
            self._flow_control(page, server.flow_control)
            self._admission(page)
            self._build(page, server)
        headers = [*request.response_headers, ("Content-Type", CONTENT_TYPE)]
        return HttpResponse(200, headers, page.text())

    async def _health(self, page: Exposition, server: ApiServer) -> None:
        checks = await server.nonresource.health.states()
        samples = [({"name": name, "type": endpoint}, float(ok)) for endpoint, name, ok in checks]
        page.gauge("kubernetes_healthcheck", "[STABLE] 1 for a health check that passes, else 0.", samples)

    def _requests(self, page: Exposition) -> None:
        every = list(self.requests.series.values())
        page.counter(
            "apiserver_request_total", "[STABLE] Requests answered, by verb, resource and HTTP code.", _totals(every)
        )
        page.histogram(
            "apiserver_request_duration_seconds",
            "[STABLE] Time from a request's arrival to its answer, in seconds.",
            [({**each.labels, "dry_run": each.dry_run}, each.durations) for each in every],
        )
        page.histogram(
            "apiserver_request_sli_duration_seconds",
            "[ALPHA] The same with fewer buckets; time in webhooks and queues is not taken off.",
            [(each.labels, each.durations.above(2)) for each in every if not each.dry_run],
        )
        page.histogram(
            "apiserver_response_sizes",
            "[STABLE] Size of the answers to reads, in bytes.",
            [(each.labels, each.sizes) for each in every if any(each.sizes.counts)],
        )
        page.gauge(
            "apiserver_longrunning_requests",
            "[STABLE] Watches and other streams that are open now.",
            [(each.labels, each.long_running) for each in every if each.labels["verb"] in ("WATCH", "CONNECT")],
        )
        reading, writing = self.requests.in_flight
        page.gauge(
            "apiserver_current_inflight_requests",
            "[STABLE] Requests being served now, by whether they write.",
            [({"request_kind": "mutating"}, writing), ({"request_kind": "readOnly"}, reading)],
        )
        page.counter(
            "apiserver_request_terminations_total",
            "[ALPHA] Requests that the api-server ended in self-defence.",
            [
                ({**each.labels, "code": str(code)}, count)
                for each in every
                for code, count in sorted(each.codes.items())
                if code in _SELF_DEFENCE
            ],
        )
        refused = sum(each.codes.get(401, 0) for each in every)
        total = sum(sum(each.codes.values()) for each in every)
        attempts = [({"result": "failure"}, refused), ({"result": "success"}, total - refused)]
        page.counter("authentication_attempts", "[ALPHA] Requests by whether their sender was known.",
                     [sample for sample in attempts if sample[1]])  # fmt: skip

    def _store(self, page: Exposition, server: ApiServer) -> None:
        metrics = self.store
        page.histogram(
            "etcd_request_duration_seconds",
            "[ALPHA] Time of requests to the store, in seconds.",
            [(_operation(key), metrics.durations[key]) for key in sorted(metrics.durations)],
        )
        page.counter(
            "etcd_requests_total",
            "[ALPHA] Requests to the store.",
            [(_operation(key), sum(metrics.durations[key].counts)) for key in sorted(metrics.durations)],
        )
        page.counter(
            "etcd_request_errors_total",
            "[ALPHA] Requests to the store that failed.",
            [(_operation(key), metrics.errors[key]) for key in sorted(metrics.errors)],
        )
        # A cache that is being filled does not know; the real server says -1, too.
        counts = {name: len(storage.cache) if storage.cache.ready else -1 for name, storage in server.storages.items()}
        page.gauge(
            "apiserver_storage_objects",
            "[STABLE] Stored objects, by resource.",
            [({"resource": name}, counts[name]) for name in sorted(counts)],
        )
        page.gauge(
            "apiserver_resource_objects",
            "[ALPHA] Stored objects, by group and resource.",
            [(_group_resource(name), counts[name]) for name in sorted(counts)],
        )

    def _flow_control(self, page: Exposition, flow: FlowControl) -> None:
        schemas = [each for each in flow.schemas if each.dispatched or each.rejected]
        page.counter(
            "apiserver_flowcontrol_dispatched_requests_total",
            "[BETA] Requests that got a seat.",
            [({"flow_schema": each.name, "priority_level": each.level.name}, each.dispatched) for each in schemas],
        )
        page.counter(
            "apiserver_flowcontrol_rejected_requests_total",
            "[BETA] Requests that were turned away with 429.",
            [
                ({"flow_schema": each.name, "priority_level": each.level.name, "reason": reason}, count)
                for each in schemas
                for reason, count in sorted(each.rejected.items())
            ],
        )
        page.histogram(
            "apiserver_flowcontrol_request_wait_duration_seconds",
            "[BETA] Time in a queue, in seconds; most requests never wait.",
            _waits(schemas),
        )
        levels = [flow.levels[name] for name in sorted(flow.levels)]
        others = list(flow.levels.values())

        def gauge(name: str, help: str, values: Iterable[float]) -> None:
            labels = [{"priority_level": level.name} for level in levels]
            page.gauge(f"apiserver_flowcontrol_{name}", help, zip(labels, values, strict=True))

        gauge("current_executing_seats", "[BETA] Seats taken now.", [each.executing for each in levels])
        gauge("current_inqueue_requests", "[BETA] Requests that wait now.", [each.waiting for each in levels])
        gauge("nominal_limit_seats", "[BETA] Seats by configuration.", [each.limit for each in levels])
        kept = [each.limit - each.lendable for each in levels]
        gauge("lower_limit_seats", "[ALPHA] Seats that are never lent.", kept)
        gauge(
            "current_limit_seats",
            "[ALPHA] Seats that it could fill now, borrowed ones included.",
            [0 if each.exempt else each.current_limit(others) for each in levels],
        )

    def _admission(self, page: Exposition) -> None:
        metrics = self._webhooks
        if metrics is None:
            return
        names = ("name", "operation", "rejected", "type")
        page.histogram(
            "apiserver_admission_webhook_admission_duration_seconds",
            "[STABLE] Time of calls to admission webhooks, in seconds.",
            [(dict(zip(names, key, strict=True)), metrics.durations[key]) for key in sorted(metrics.durations)],
        )
        for name, help, labels, counts in (
            (
                "request_total", "[ALPHA] Calls to admission webhooks.",
                ("code", "name", "operation", "rejected", "type"), metrics.requests,
            ),
            (
                "rejection_count", "[ALPHA] Requests refused by, or because of, an admission webhook.",
                ("error_type", "name", "operation", "rejection_code", "type"), metrics.rejections,
            ),
            (
                "fail_open_count", "[ALPHA] Calls that failed and were let pass, by failurePolicy Ignore.",
                ("name", "type"), metrics.failed_open,
            ),
        ):  # fmt: skip
            samples = [(dict(zip(labels, key, strict=True)), counts[key]) for key in sorted(counts)]
            page.counter(f"apiserver_admission_webhook_{name}", help, samples)

    def _build(self, page: Exposition, server: ApiServer) -> None:
        from clusters.emulated.apiserver.metrics.process import process_gauges
        from clusters.emulated.apiserver.nonresource import version_info

        audit = server.options.audit
        events = 0 if audit is None else audit.count
        page.counter("apiserver_audit_event_total", "[ALPHA] Events of the audit log.", [({}, events)])
        info = version_info(server.options.version)
        names = {
            "build_date": "buildDate", "compiler": "compiler", "git_commit": "gitCommit", "git_tree_state":
            "gitTreeState", "git_version": "gitVersion", "go_version": "goVersion", "major": "major",
            "minor": "minor", "platform": "platform",
        }  # fmt: skip
        labels = {label: info[name] for label, name in names.items()}
        page.gauge("kubernetes_build_info", "[BETA] Always 1; the version is in the labels.", [(labels, 1)])
        for name, value in process_gauges().items():
            write = page.counter if name.endswith("_total") else page.gauge
            write(name, "Of the process that runs this api-server.", [({}, value)])


def _totals(every: Iterable[Series]) -> Iterator[tuple[Labels, float]]:
    for each in every:
        for code, count in sorted(each.codes.items()):
            yield {**each.labels, "dry_run": each.dry_run, "code": str(code)}, count


def _waits(schemas: Iterable[Schema]) -> Iterator[tuple[Labels, Histogram]]:
    for each in schemas:
        labels = {"flow_schema": each.name, "priority_level": each.level.name}
        refused = each.waits_s.get(False)
        if refused is not None:
            yield {**labels, "execute": "false"}, refused
        if each.level.exempt:
            continue
        # Those who found a seat at once are not noted one by one; the real server measures microseconds for them.
        seated = Histogram(WAITS_S)
        waited = each.waits_s.get(True)
        if waited is not None:
            seated.counts, seated.sum = list(waited.counts), waited.sum
        seated.counts[1] += each.dispatched - sum(seated.counts)
        yield {**labels, "execute": "true"}, seated


def _operation(key: tuple[str, str, str]) -> Labels:
    operation, group, resource = key
    return {"group": group, "operation": operation, "resource": resource}


def _group_resource(name: str) -> Labels:
    resource, _, group = name.partition(".")
    return {"group": group, "resource": resource}
