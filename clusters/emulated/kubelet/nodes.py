"""The nodes of a cluster: their machines, which survive their kubelets, and the way from the api-server to them.

    nodes = Nodes(clock, randomness, "v1.36.0")
    kubelet = nodes.kubelet(context, "node-1")      # a new one, on the machine that node-1 always had
    nodes.machine("node-1").runtime.fail_start(…)   # levers
    nodes.registry.answer(404, "nginx")             # one registry for all of them

It is the `Kubelets` that an api-server asks for logs and exec.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.subresources.kubelets import (
    KubeletUnreachableError,
    LogOptions,
    LogStream,
    StreamOptions,
)
from clusters.emulated.client.controller import ComponentContext
from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.kubelet.container_logs import container_id_for_logs, log_stream
from clusters.emulated.kubelet.cri import RUNNING, Container
from clusters.emulated.kubelet.exec_streams import exec_response, refusal
from clusters.emulated.kubelet.kubelet import Kubelet
from clusters.emulated.kubelet.machine import Machine, NodeOptions
from clusters.emulated.kubelet.registry import MemoryRegistry, Registry
from clusters.kube import errors

Object = dict[str, Any]


def node_names(count: int) -> list[str]:
    return [f"node-{number}" for number in range(1, count + 1)]


class Nodes:
    def __init__(self, clock: Clock, randomness: Randomness, version: str, registry: Registry | None = None) -> None:
        self._clock = clock
        self._randomness = randomness
        self._version = version
        self.registry = MemoryRegistry(clock)
        self._registry: Registry = registry or self.registry
        self._options: dict[str, NodeOptions] = {}
        self._running: dict[str, Kubelet] = {}
        self._registered: dict[str, asyncio.Event] = {}

    # Machines

    def configure(self, options: NodeOptions) -> None:
        """How a node is to be, before it is first used."""
        machine = options.machine or Machine.of(
            options, self._clock, self._randomness.derived(options.name), self._registry
        )
        self._options[options.name] = replace(options, machine=machine, kubelet_version=self._version)

    def options(self, name: str) -> NodeOptions:
        if name not in self._options:
            self.configure(NodeOptions(name))
        return self._options[name]

    def machine(self, name: str) -> Machine:
        machine = self.options(name).machine
        assert machine is not None, "configured nodes have machines"
        return machine

    def kubelet(self, context: ComponentContext, name: str) -> Kubelet:
        """A new kubelet for this node; the api-server asks the one that was made last."""
        kubelet = Kubelet(context, self.options(name))
        kubelet.registered = self._registered.setdefault(name, kubelet.registered)
        self._running[name] = kubelet
        return kubelet

    async def registered(self, name: str) -> None:
        """Waits until the node is there, as soon as a kubelet runs for it."""
        await self._registered.setdefault(name, asyncio.Event()).wait()

    def running(self, name: str) -> Kubelet:
        """Raises `KubeletUnreachableError` when no kubelet runs there."""
        kubelet = self._running.get(name)
        if kubelet is None or not kubelet.is_running:
            raise KubeletUnreachableError
        return kubelet

    # Kubelets

    async def logs(self, node: str, pod: Object, container: str, options: LogOptions) -> LogStream:
        kubelet = self.running(node)
        status = kubelet.statuses.get(pod["metadata"]["uid"]) or pod.get("status") or {}
        container_id = container_id_for_logs(pod, status, container, options.previous)
        found = kubelet.machine.runtime.container(container_id)
        if found is None:
            raise errors.bad_request(f"unable to retrieve container logs for {container_id}")
        return log_stream(kubelet.machine.runtime, self._clock, found, options)

    async def exec(
        self, node: str, pod: Object, container: str, options: StreamOptions, request: Request
    ) -> HttpResponse:
        kubelet = self.running(node)
        found = _running_container(kubelet, pod, container)
        if found is None:
            return refusal(500, f'container not found ("{container}")')
        return exec_response(kubelet.machine.runtime, found, options, request)

    async def attach(
        self, node: str, pod: Object, container: str, options: StreamOptions, request: Request
    ) -> HttpResponse:
        return await self.exec(node, pod, container, replace(options, command=()), request)

    async def port_forward(self, node: str, pod: Object, ports: Sequence[int], request: Request) -> HttpResponse:
        self.running(node)
        return refusal(400, "unable to upgrade: port forwarding is not offered by this node")

    async def proxy(self, node: str, path: str, request: Request) -> HttpResponse:
        kubelet = self.running(node)
        bare = "/" + path.split("?", 1)[0].strip("/")
        if bare in ("/healthz", "/healthz/ping", "/healthz/syncloop"):
            return HttpResponse(200, [("Content-Type", "text/plain; charset=utf-8")], b"ok")
        if bare in ("/pods", "/runningpods"):
            listing = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": kubelet.pods()}
            return HttpResponse(200, [("Content-Type", "application/json")], orjson.dumps(listing))
        return HttpResponse(404, [("Content-Type", "text/plain; charset=utf-8")], b"404 page not found\n")


def _running_container(kubelet: Kubelet, pod: Object, name: str) -> Container | None:
    for container in kubelet.machine.runtime.running(pod["metadata"]["uid"]):
        if container.name == name and container.state == RUNNING:
            return container
    return None
