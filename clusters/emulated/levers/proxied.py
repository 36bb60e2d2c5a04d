"""Real servers of the outside world (webhooks, aggregated api-servers) beside a cluster, each behind a proxy.

They live in the cluster's loop and wait in its time; virtual time does not stand still for what hangs on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from clusters.base import Lever
from clusters.emulated.apiserver.http import Handler
from clusters.emulated.clock import RealClock, VirtualClock
from clusters.emulated.levers.certificates import serving_credential
from clusters.emulated.levers.pulling import Count, Counted, in_loop
from clusters.emulated.transport.https import HttpsServer
from clusters.emulated.transport.pki import CertificateAuthority, Validity
from clusters.lever_protocols import Defect

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster
    from clusters.proxy import ProxyServer, ToxiproxyClient


@dataclass
class Standing:
    """A server that stands, and the port of the proxy before it."""

    name: str
    server: HttpsServer
    names: tuple[str, ...]
    port: int


class Neighbourhood:
    """All such servers of one cluster, under one certificate authority."""

    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster
        self._run = cluster.run
        now_s = cluster.clock.now_s()
        validity = Validity.current(now_s, 10.0).including(RealClock().now_s())
        self._validity = Validity.current(now_s).including(RealClock().now_s())
        self.authority = CertificateAuthority("neighbours", now_s, validity)
        self._standing: dict[str, Standing] = {}
        self._proxies: ProxyServer | None = None
        self._toxiproxy: ToxiproxyClient | None = None

    def on_purpose(self) -> AbstractContextManager[Any]:
        """Around waiting that is the fault itself."""
        clock = self._cluster.clock
        return clock.hanging() if isinstance(clock, VirtualClock) else nullcontext()

    def __getitem__(self, name: str) -> Standing:
        assert name in self._standing, f"no {name} stands here; there are {', '.join(self._standing) or 'none'}"
        return self._standing[name]

    @contextmanager
    def standing(self, name: str, handler: Handler, names: tuple[str, ...]) -> Iterator[Standing]:
        """A server behind a proxy of its own, with a certificate for these names and for 127.0.0.1."""
        toxiproxy = self._toxiproxy_client()
        good = self.authority.server(name, names, ("127.0.0.1",), validity=self._validity)
        server = HttpsServer(handler, good.server_context(), clock=self._cluster.clock)
        self._run(server.start())
        try:
            _, port = toxiproxy.create(name, f"127.0.0.1:{server.port}")
            self._standing[name] = Standing(name, server, names, port)
            yield self._standing[name]
        finally:
            if self._standing.pop(name, None) is not None:
                toxiproxy.delete(name)
            self._run(server.stop())

    @contextmanager
    def certificate(self, name: str, defect: Defect) -> Iterator[Lever]:
        standing = self[name]
        server = standing.server
        bad = serving_credential(self.authority, self._cluster.clock.now_s(), defect, standing.names, ("127.0.0.1",))
        block = server.use_certificate(bad.server_context())
        in_loop(self._run, block.__enter__)
        try:
            in_loop(self._run, server.cut_connections)
            yield Counted(lambda: server.connections_total)
        finally:
            in_loop(self._run, lambda: block.__exit__(None, None, None))
            in_loop(self._run, server.cut_connections)

    @contextmanager
    def network(self, name: str, toxic: str, **attributes: float) -> Iterator[Lever]:
        """`down`, or a toxic; `stream="upstream"` is towards the server."""
        self[name]
        toxiproxy = self._toxiproxy_client()
        assert self._proxies is not None
        proxy = self._proxies.proxies[name]
        if toxic == "down":
            with toxiproxy.down(name):
                yield Count(1)
            return
        stream = str(attributes.pop("stream", "downstream"))
        seen = Counted(lambda: proxy.connections_total + self[name].server.requests_total)
        with toxiproxy.toxic(name, toxic, stream, **attributes):
            yield seen

    def _toxiproxy_client(self) -> ToxiproxyClient:
        if self._toxiproxy is None:
            from clusters.proxy import ProxyServer, ToxiproxyClient
            from clusters.proxy.toxics import Waiting

            clock = self._cluster.clock
            waiting = Waiting(clock.sleep, clock.monotonic_s, self.on_purpose, Random(self._cluster.seed))
            self._proxies = ProxyServer(waiting)
            self._run(self._proxies.start())
            self._cluster.plane.at_stop(self._proxies.stop)
            self._toxiproxy = ToxiproxyClient("127.0.0.1", self._proxies.port)
        return self._toxiproxy
