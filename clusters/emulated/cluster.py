"""An emulated cluster for tests: the control plane in a loop of its own, used from the test's thread.

with EmulatedCluster() as cluster:
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    subprocess.run(["kubectl", "--kubeconfig", cluster.kubeconfig, "get", "ns"])
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from clusters.emulated.client.blocking import BlockingApi
from clusters.emulated.clock import Clock, RealClock, VirtualClock
from clusters.emulated.control_plane import ControlPlane, ControlPlaneOptions
from clusters.emulated.history import History
from clusters.emulated.levers import Levers
from clusters.emulated.levers.client_wire import ClientWire
from clusters.emulated.store.embedded import EmbeddedStore
from clusters.emulated.transport.https import HttpsServer, new_event_loop
from clusters.emulated.transport.kubeconfig import write_kubeconfig

if TYPE_CHECKING:
    from clusters.emulated.components import Components
    from clusters.emulated.levers.proxied import Neighbourhood

T = TypeVar("T")

_LOOK_EVERY_S = 0.05


class EmulatedCluster:
    """A fresh, isolated cluster. Everything it starts ends with `close()`."""

    backend = "emulated"

    def __init__(
        self,
        options: ControlPlaneOptions | None = None,
        *,
        clock: Clock | Literal["real", "virtual"] | None = None,
        seed: int | None = None,
        components: bool = False,
        nodes: Sequence[str] = (),
    ) -> None:
        """`clock` and `seed` go before those of the options. With `components`, controllers and scheduler run,
        and kubelets of these `nodes`."""
        options = replace(options) if options is not None else ControlPlaneOptions()
        if clock is not None:
            options.clock = _clock(clock)
        if seed is not None:
            options.seed = seed
        self.plane = ControlPlane(options)
        self.clock = self.plane.clock
        self.version = f"v{self.plane.options.version}"
        self.seed = self.plane.randomness.seed
        #: What clients in this process send goes along here.
        self.wire = ClientWire()
        self._components: Components | None = None
        self._nodes = nodes
        self._loop = self.clock.loop if isinstance(self.clock, VirtualClock) else new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kaput-cluster", daemon=True)
        self._thread.start()
        self._kubeconfig: Path | None = None
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        try:
            self.run(self.plane.start())
            if components:
                self.run(self.components.start())
        except BaseException:
            self.close()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Carries out a coroutine in the cluster's loop and waits for it."""
        if isinstance(self.clock, VirtualClock):
            return self.clock.run(work)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def wait_until(self, predicate: Callable[[], bool], within_s: float) -> None:
        """Waits, in cluster time, until the predicate is true; `TimeoutError` if it is not so within `within_s`.

        In virtual time it is asked whenever something was stored, and every second.
        """
        clock = self.clock
        if isinstance(clock, VirtualClock):
            store = self.plane.store
            assert isinstance(store, EmbeddedStore), "virtual time goes with the embedded store"
            clock.wait_until(predicate, within_s, version=lambda: store.revision)
            return
        deadline_s = clock.monotonic_s() + within_s
        while not predicate():
            if clock.monotonic_s() >= deadline_s:
                raise TimeoutError(f"still not so after {within_s:g} s of cluster time")
            self.run(clock.sleep(_LOOK_EVERY_S))

    @property
    def history(self) -> History | None:
        """Kept in virtual time, or where the options ask for it."""
        return self.plane.history

    @property
    def components(self) -> Components:
        """Controllers, scheduler and kubelets; its methods are for `run`: `cluster.run(cluster.components.stop())`."""
        if self._components is None:
            from clusters.emulated.components import Components  # Many clusters are an api-server and nothing else.

            self._components = Components(self.plane, self._nodes)
            self.plane.at_stop(self._components.stop)
        return self._components

    @property
    def api(self) -> BlockingApi:
        return BlockingApi(self.run, self.wire.to(self.plane.handler))

    def replica(self, index: int) -> BlockingApi:
        """cluster-admin at one api-server of several."""
        return BlockingApi(self.run, self.wire.to(self.plane.replicas[index]))

    @cached_property
    def levers(self) -> Levers:
        """What can be broken here; pulled with `with`, healed by leaving the block."""
        return Levers(self)

    @cached_property
    def neighbours(self) -> Neighbourhood:
        """Servers of the outside world that stand beside this cluster: webhooks, aggregated api-servers."""
        from clusters.emulated.levers.proxied import Neighbourhood

        return Neighbourhood(self)

    def listening(self) -> list[HttpsServer]:
        """The HTTPS listeners, started if nobody has asked for them yet."""
        assert self.kubeconfig.exists()
        return self.plane.listeners

    def front_url(self) -> str:
        """Where the load balancer in front of the api-servers is."""
        self.listening()
        assert self.plane.front is not None, "this cluster has no front: ask for one with ControlPlaneOptions.front"
        return self.plane.front.url

    def elapsed_s(self) -> float:
        return self.clock.monotonic_s()

    def pass_time(self, seconds: float) -> None:
        """Returns when so much cluster time has passed."""
        if isinstance(self.clock, VirtualClock):
            self.clock.advance(seconds)
        else:
            self.run(self.clock.sleep(seconds))

    @property
    def kubeconfig(self) -> Path:
        if self._kubeconfig is None:
            self.run(self.plane.listen())
            self._directory = tempfile.TemporaryDirectory(prefix="kaput-")
            target = Path(self._directory.name) / "kubeconfig"
            self._kubeconfig = write_kubeconfig(target, self.plane.admin_kubeconfig())
        return self._kubeconfig

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self.run(self.plane.stop())
        finally:
            self._end_loop()
            if self._directory is not None:
                self._directory.cleanup()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> EmulatedCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _clock(clock: Clock | Literal["real", "virtual"]) -> Clock:
    if clock == "virtual":
        return VirtualClock()
    if clock == "real":
        return RealClock()
    assert not isinstance(clock, str), f"there is no clock {clock!r}; there are real and virtual"
    return clock
