"""Where components run: in an emulated control plane, or against any api-server over HTTPS.

    Components(EmulatedHost(plane))
    Components(KubeconfigHost(Path("kubeconfig"), clock=RealClock(), seed=7), nodes=["node-1"])

Either way each component is who the real one is. Over HTTPS that takes a kubeconfig whose user may impersonate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.subresources.kubelets import Kubelets
from clusters.emulated.client.api import Api
from clusters.emulated.client.authority import Authority, KeyAuthority
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

    @property
    def authority(self) -> Authority | None:
        """What kube-controller-manager signs with; None where nobody has the keys."""
        ...

    def connect(self, user: UserInfo, user_agent: str) -> Api: ...

    def attach(self, kubelets: Kubelets) -> None:
        """Makes the kubelets known to whom can ask them for logs and exec."""
        ...


class EmulatedHost:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.clock = plane.clock
        self.randomness = plane.randomness
        self.version = f"v{plane.options.version}.0"

    @property
    def authority(self) -> Authority:
        pki = self._plane.pki
        return KeyAuthority(pki.ca.certificate_pem, pki.ca.key_pem, pki.service_account.private_pem)

    def connect(self, user: UserInfo, user_agent: str) -> Api:
        return InProcessApi(self._plane.handler, user, user_agent)

    def attach(self, kubelets: Kubelets) -> None:
        for replica in self._plane.replicas:
            replica.registry_wiring.kubelets.kubelets = kubelets


class KubeconfigHost:
    """The api-server of a kubeconfig's current context. `close()` after the components have stopped."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        seed: int | None = None,
        version: str = "v1.36.0",
        authority: Authority | None = None,
    ) -> None:
        self._path = path
        self._connected: list[HttpsApi] = []
        self.clock = clock
        self.randomness = Randomness(seed)
        self.version = version
        self.authority = authority

    def connect(self, user: UserInfo, user_agent: str) -> Api:
        api = HttpsApi.from_kubeconfig(self._path, self.clock, user_agent, impersonate=user)
        self._connected.append(api)
        return api

    def attach(self, kubelets: Kubelets) -> None:
        """A real api-server would ask at the nodes' addresses, where nobody listens."""

    def close(self) -> None:
        for api in self._connected:
            api.close()
        self._connected.clear()
