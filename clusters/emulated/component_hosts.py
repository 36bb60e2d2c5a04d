"""Where components run: in an emulated control plane, or against any api-server over HTTPS.

    Components(EmulatedHost(plane))
    Components(KubeconfigHost(Path("kubeconfig"), clock=RealClock(), seed=7), nodes=["node-1"])

Either way each component is who the real one is. Over HTTPS that takes a kubeconfig whose user may impersonate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.client.api import Api
from clusters.emulated.client.https_api import HttpsApi
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.control_plane import ControlPlane


class ComponentHost(Protocol):
    @property
    def clock(self) -> Clock: ...

    @property
    def randomness(self) -> Randomness: ...

    @property
    def version(self) -> str:
        """That components report as their own, e.g. `v1.36.0`."""
        ...

    def connect(self, user: UserInfo, user_agent: str) -> Api: ...


class EmulatedHost:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.clock = plane.clock
        self.randomness = plane.randomness
        self.version = f"v{plane.options.version}.0"

    def connect(self, user: UserInfo, user_agent: str) -> Api:
        return InProcessApi(self._plane.handler, user, user_agent)


class KubeconfigHost:
    """The api-server of a kubeconfig's current context. `close()` after the components have stopped."""

    def __init__(self, path: Path, *, clock: Clock, seed: int | None = None, version: str = "v1.36.0") -> None:
        self._path = path
        self._connected: list[HttpsApi] = []
        self.clock = clock
        self.randomness = Randomness(seed)
        self.version = version

    def connect(self, user: UserInfo, user_agent: str) -> Api:
        api = HttpsApi.from_kubeconfig(self._path, self.clock, user_agent, impersonate=user)
        self._connected.append(api)
        return api

    def close(self) -> None:
        for api in self._connected:
            api.close()
        self._connected.clear()
