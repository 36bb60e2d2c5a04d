"""kopf: an operator with a finalizer, a handler that fills the status, an update and a deletion, end to end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusters.emulated.cluster import EmulatedCluster

kopf: Any = pytest.importorskip("kopf", reason="kopf is not installed")

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SHIPS = "/apis/example.com/v1/namespaces/default/ships"
DEFINITION = {
    "metadata": {"name": "ships.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "ships", "kind": "Ship"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def operator(deleted: threading.Event) -> Any:
    registry = kopf.OperatorRegistry()

    def configure(settings: Any, **_: Any) -> None:
        settings.posting.enabled = True

    def create(body: Any, spec: Any, patch: Any, **_: Any) -> None:
        kopf.info(body, reason="Manned", message="The crew is on board.")
        patch.status["crew"] = spec["sailors"] * 2

    def update(spec: Any, patch: Any, **_: Any) -> None:
        patch.status["crew"] = spec["sailors"] * 2

    def delete(**_: Any) -> None:
        deleted.set()

    # A registry of its own has no login handlers, and the default one would be shared between tests.
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)
    kopf.on.startup(registry=registry)(configure)
    kopf.on.create("example.com", "v1", "ships", registry=registry)(create)
    kopf.on.update("example.com", "v1", "ships", registry=registry)(update)
    kopf.on.delete("example.com", "v1", "ships", registry=registry)(delete)
    return registry


def test_a_small_operator_end_to_end(emulated: EmulatedCluster, kubeconfig: Path) -> None:
    api = emulated.api
    api.create(DEFINITIONS, DEFINITION)
    deleted, ready, stop = threading.Event(), threading.Event(), threading.Event()
    registry = operator(deleted)

    def run() -> None:
        asyncio.run(
            kopf.operator(registry=registry, ready_flag=ready, stop_flag=stop, namespaces=["default"], standalone=True)
        )

    running = threading.Thread(target=run)
    running.start()
    try:
        assert ready.wait(20)
        api.create(
            SHIPS,
            {"apiVersion": "example.com/v1", "kind": "Ship", "metadata": {"name": "argo"}, "spec": {"sailors": 3}},
        )
        emulated.wait_until(lambda: crew(api) == 6, 20)
        assert api.get(f"{SHIPS}/argo")["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
        api.patch(f"{SHIPS}/argo", {"spec": {"sailors": 5}})
        emulated.wait_until(lambda: crew(api) == 10, 20)
        api.delete(f"{SHIPS}/argo")
        assert deleted.wait(20)
        emulated.wait_until(gone(api), 20)
        emulated.wait_until(lambda: "Ship" in reported_kinds(api), 20)
    finally:
        stop.set()
        running.join(30)
    assert not running.is_alive()


def crew(api: Any) -> int | None:
    crew: int | None = api.get(f"{SHIPS}/argo").get("status", {}).get("crew")
    return crew


def reported_kinds(api: Any) -> set[str]:
    events = api.get("/api/v1/namespaces/default/events")["items"]
    return {event["involvedObject"]["kind"] for event in events}


def gone(api: Any) -> Callable[[], bool]:
    return lambda: not api.get(SHIPS)["items"]
