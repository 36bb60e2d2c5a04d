"""An emulated cluster for tests: the control plane in a loop of its own, used from the test's thread.

with EmulatedCluster() as cluster:
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    subprocess.run(["kubectl", "--kubeconfig", cluster.kubeconfig, "get", "ns"])
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from clusters.emulated.client.blocking import BlockingApi
from clusters.emulated.control_plane import ControlPlane, ControlPlaneOptions
from clusters.emulated.levers import Levers
from clusters.emulated.transport.https import new_event_loop
from clusters.emulated.transport.kubeconfig import write_kubeconfig

T = TypeVar("T")


class EmulatedCluster:
    """A fresh, isolated cluster. Everything it starts ends with `close()`."""

    backend = "emulated"

    def __init__(self, options: ControlPlaneOptions | None = None) -> None:
        self.plane = ControlPlane(options)
        self.version = f"v{self.plane.options.version}"
        self.seed = self.plane.randomness.seed
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kaput-cluster", daemon=True)
        self._thread.start()
        self._kubeconfig: Path | None = None
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        try:
            self.run(self.plane.start())
        except BaseException:
            self.close()
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Carries out a coroutine in the cluster's loop and waits for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def api(self) -> BlockingApi:
        return BlockingApi(self.run, self.plane.handler)

    @property
    def levers(self) -> Levers:
        """What can be broken here; pulled with `with`, healed by leaving the block."""
        return Levers(self.plane, self.run)

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
