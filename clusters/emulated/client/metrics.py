"""How much Pods and other objects use, as the horizontal autoscaler asks for it.

    metrics = components.metrics                                     # what a test says goes first
    metrics.use("shop", "web-1", {"web": {"cpu": "250m"}})
    metrics.set_external("shop", "queue_length", "30")
    metrics.forget()                                                 # from here on the metrics APIs are asked again

What no test has said is asked of metrics.k8s.io, custom.metrics.k8s.io and external.metrics.k8s.io.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.clock import Clock
from clusters.kube.quantity import parse
from clusters.kube.timestamps import parse_time, unix_s

Object = dict[str, Any]

_RESOURCE = "/apis/metrics.k8s.io/v1beta1"
_CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2"
_EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
_WINDOW_S = 60.0
_UNITS_S = {"ms": 0.001, "h": 3600.0, "m": 60.0, "s": 1.0}


class MetricsError(Exception):
    """There is no such metric now; the message is what the autoscaler reports."""


@dataclass(frozen=True, slots=True)
class PodMetric:
    milli: int
    time_s: float
    window_s: float = _WINDOW_S


class Metrics(Protocol):
    """All methods raise `MetricsError`. Values are in thousandths; selectors are texts."""

    async def resource(
        self, name: str, namespace: str, selector: str, container: str, pods: Collection[str]
    ) -> dict[str, PodMetric]:
        """What each Pod (or this container of it) uses of cpu, memory …"""
        ...

    async def of_pods(
        self, metric: str, namespace: str, selector: str, metric_selector: str, pods: Collection[str]
    ) -> dict[str, PodMetric]: ...

    async def of_object(
        self, metric: str, namespace: str, resource: str, reference: Object, metric_selector: str
    ) -> int:
        """`resource` is the GroupResource of the object, e.g. `ingresses.networking.k8s.io`."""
        ...

    async def external(self, metric: str, namespace: str, metric_selector: str) -> list[int]: ...


class ControlledMetrics:
    """What a test has said; see above."""

    def __init__(self) -> None:
        self._usage: dict[tuple[str, str], Mapping[str, Mapping[str, str]]] = {}
        self._pods: dict[tuple[str, str], dict[str, str]] = {}
        self._objects: dict[tuple[str, str, str, str], str] = {}
        self._external: dict[tuple[str, str], tuple[str, ...]] = {}

    def use(self, namespace: str, pod: str, containers: Mapping[str, Mapping[str, str]]) -> None:
        """What each container of a Pod uses: `{"web": {"cpu": "250m", "memory": "64Mi"}}`."""
        self._usage[namespace, pod] = containers

    def set_pod(self, namespace: str, pod: str, metric: str, value: str) -> None:
        self._pods.setdefault((namespace, metric), {})[pod] = value

    def set_object(self, namespace: str, kind: str, name: str, metric: str, value: str) -> None:
        self._objects[namespace, kind, name, metric] = value

    def set_external(self, namespace: str, metric: str, *values: str) -> None:
        self._external[namespace, metric] = values

    def forget(self) -> None:
        for said in (self._usage, self._pods, self._objects, self._external):
            said.clear()

    # For `MetricsOf`: None where nothing was said

    def usage(self, namespace: str, name: str, container: str, pods: Collection[str]) -> dict[str, int] | None:
        if not any(known == namespace for known, _ in self._usage):
            return None
        found = {}
        for pod in pods:
            containers = self._usage.get((namespace, pod))
            if containers is None:
                continue
            counted = containers.values() if not container else [containers.get(container, {})]
            if counted and all(name in usage for usage in counted):
                found[pod] = sum(parse(usage[name]).milli_value() for usage in counted)
        return found

    def pods(self, namespace: str, metric: str, pods: Collection[str]) -> dict[str, int] | None:
        said = self._pods.get((namespace, metric))
        if said is None:
            return None
        return {pod: parse(value).milli_value() for pod, value in said.items() if pod in pods}

    def object(self, namespace: str, kind: str, name: str, metric: str) -> int | None:
        said = self._objects.get((namespace, kind, name, metric))
        return None if said is None else parse(said).milli_value()

    def external(self, namespace: str, metric: str) -> list[int] | None:
        said = self._external.get((namespace, metric))
        return None if said is None else [parse(value).milli_value() for value in said]


class MetricsOf:
    """What was said, and else what the metrics APIs answer."""

    def __init__(self, api: Api, clock: Clock, controlled: ControlledMetrics | None = None) -> None:
        self._clock = clock
        self._controlled = controlled or ControlledMetrics()
        self._api = ApiMetrics(api)

    def _stamped(self, values: dict[str, int]) -> dict[str, PodMetric]:
        now_s = self._clock.now_s()
        return {name: PodMetric(milli, now_s, 0.0) for name, milli in values.items()}

    async def resource(
        self, name: str, namespace: str, selector: str, container: str, pods: Collection[str]
    ) -> dict[str, PodMetric]:
        said = self._controlled.usage(namespace, name, container, pods)
        if said is None:
            return await self._api.resource(name, namespace, selector, container, pods)
        if not said:
            raise MetricsError("no metrics returned from resource metrics API")
        return self._stamped(said)

    async def of_pods(
        self, metric: str, namespace: str, selector: str, metric_selector: str, pods: Collection[str]
    ) -> dict[str, PodMetric]:
        said = self._controlled.pods(namespace, metric, pods)
        if said is None:
            return await self._api.of_pods(metric, namespace, selector, metric_selector, pods)
        if not said:
            raise MetricsError("no metrics returned from custom metrics API")
        return self._stamped(said)

    async def of_object(
        self, metric: str, namespace: str, resource: str, reference: Object, metric_selector: str
    ) -> int:
        said = self._controlled.object(namespace, reference["kind"], reference["name"], metric)
        if said is None:
            return await self._api.of_object(metric, namespace, resource, reference, metric_selector)
        return said

    async def external(self, metric: str, namespace: str, metric_selector: str) -> list[int]:
        said = self._controlled.external(namespace, metric)
        return await self._api.external(metric, namespace, metric_selector) if said is None else said


class ApiMetrics:
    """Asks the three metrics APIs, which aggregated api-servers serve."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def resource(
        self, name: str, namespace: str, selector: str, container: str, pods: Collection[str]
    ) -> dict[str, PodMetric]:
        path = f"{_RESOURCE}/namespaces/{namespace}/pods?{urlencode({'labelSelector': selector})}"
        items = await self._items(path, "resource", "pods.metrics.k8s.io")
        found = {}
        for item in items:
            counted = [each for each in item["containers"] if container in ("", each["name"])]
            if counted and all(name in each["usage"] for each in counted):
                milli = sum(parse(each["usage"][name]).milli_value() for each in counted)
                time_s, window_s = unix_s(parse_time(item["timestamp"])), _seconds(item["window"])
                found[item["metadata"]["name"]] = PodMetric(milli, time_s, window_s)
        return found

    async def of_pods(
        self, metric: str, namespace: str, selector: str, metric_selector: str, pods: Collection[str]
    ) -> dict[str, PodMetric]:
        query = urlencode({"labelSelector": selector, "metricLabelSelector": metric_selector})
        items = await self._items(f"{_CUSTOM}/namespaces/{namespace}/pods/*/{metric}?{query}", "custom", "")
        found = {}
        for item in items:
            window_s = float(item["windowSeconds"]) if item.get("windowSeconds") is not None else _WINDOW_S
            value = PodMetric(parse(item["value"]).milli_value(), unix_s(parse_time(item["timestamp"])), window_s)
            found[item["describedObject"]["name"]] = value
        return found

    async def of_object(
        self, metric: str, namespace: str, resource: str, reference: Object, metric_selector: str
    ) -> int:
        query = urlencode({"metricLabelSelector": metric_selector}) if metric_selector else ""
        name = reference["name"]
        if resource == "namespaces":
            path = f"{_CUSTOM}/namespaces/{namespace}/metrics/{metric}?{query}"
        else:
            path = f"{_CUSTOM}/namespaces/{namespace}/{resource}/{name}/{metric}?{query}"
        items = await self._items(path, "custom", "")
        return parse(items[0]["value"]).milli_value()

    async def external(self, metric: str, namespace: str, metric_selector: str) -> list[int]:
        query = urlencode({"labelSelector": metric_selector}) if metric_selector else ""
        path = f"{_EXTERNAL}/namespaces/{namespace}/{metric}?{query}"
        items = await self._items(path, "external", f"{metric}.external.metrics.k8s.io")
        return [parse(item["value"]).milli_value() for item in items]

    async def _items(self, path: str, which: str, resource: str) -> list[Object]:
        where = f"unable to fetch metrics from {which} metrics API"
        try:
            items: list[Object] = (await self._api.document(path.removesuffix("?")))["items"]
        except NotFound as missing:
            if missing.reason:
                raise MetricsError(f"{where}: {missing.message}") from None
            if not resource:
                raise MetricsError(f"{where}: no custom metrics API (custom.metrics.k8s.io) registered") from None
            raise MetricsError(f"{where}: the server could not find the requested resource (get {resource})") from None
        except ApiFailure as failure:
            raise MetricsError(f"{where}: {failure.message}") from None
        if not items:
            raise MetricsError(f"no metrics returned from {which} metrics API")
        return items


def _seconds(duration: str) -> float:
    """A Go duration such as `30s` or `1m0s`."""
    total, number = 0.0, ""
    rest = duration
    while rest:
        if rest[0].isdigit() or rest[0] == ".":
            number, rest = number + rest[0], rest[1:]
            continue
        unit = next(unit for unit in _UNITS_S if rest.startswith(unit))
        total, number, rest = total + float(number) * _UNITS_S[unit], "", rest[len(unit) :]
    return total
