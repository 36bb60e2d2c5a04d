"""Counting calls of admission webhooks: how long they took, what they said, and whether they failed."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.admission.webhooks.call import WebhookCaller, WebhookCallError
from clusters.emulated.apiserver.admission.webhooks.response import Answer
from clusters.emulated.apiserver.metrics.histogram import ADMISSION_S, Histogram
from clusters.emulated.clock import Clock
from clusters.kube.errors import StatusError

Key = tuple[str, ...]


class WebhookMetrics:
    """Durations by (name, operation, rejected, type); the counts by their own labels, in alphabetical order."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.durations: dict[Key, Histogram] = {}
        self.requests: dict[Key, int] = {}  # code, name, operation, rejected, type
        self.rejections: dict[Key, int] = {}  # error_type, name, operation, rejection_code, type
        self.failed_open: dict[Key, int] = {}  # name, type

    def caller(self, *wiring: Any) -> WebhookCaller:
        """A caller that counts; `wiring` is what `WebhookCaller` takes."""
        return _Counting(self, *wiring)

    def observe(self, name: str, operation: str, kind: str, code: int, rejected: bool, began_s: float) -> None:
        refused = "true" if rejected else "false"
        durations = self.durations.setdefault((name, operation, refused, kind), Histogram(ADMISSION_S))
        durations.observe(self.clock.monotonic_s() - began_s)
        _count(self.requests, (str(min(code, 600)), name, operation, refused, kind))


class _Counting(WebhookCaller):
    def __init__(self, metrics: WebhookMetrics, *wiring: Any) -> None:
        super().__init__(*wiring)
        self._metrics = metrics

    async def ask(self, webhook: Any, attributes: Any, *objects: Any, mutating: bool) -> Answer:
        metrics = self._metrics
        kind = "admit" if mutating else "validating"
        began_s = metrics.clock.monotonic_s()
        operation = attributes.operation
        try:
            answer = await super().ask(webhook, attributes, *objects, mutating=mutating)
        except WebhookCallError:
            if webhook.ignores_failures:
                _count(metrics.failed_open, (webhook.name, kind))
            else:
                _count(metrics.rejections, ("calling_webhook_error", webhook.name, operation, "0", kind))
            metrics.observe(webhook.name, operation, kind, 0, not webhook.ignores_failures, began_s)
            raise
        except StatusError as refusal:
            _count(metrics.rejections, ("apiserver_internal_error", webhook.name, operation, str(refusal.code), kind))
            metrics.observe(webhook.name, operation, kind, refusal.code, True, began_s)
            raise
        code = 200
        if not answer.allowed:
            code = answer.denial(webhook.name).code
            _count(metrics.rejections, ("no_error", webhook.name, operation, str(min(code, 600)), kind))
        metrics.observe(webhook.name, operation, kind, code, not answer.allowed, began_s)
        return answer


def _count(counts: dict[Key, int], key: Key) -> None:
    counts[key] = counts.get(key, 0) + 1
