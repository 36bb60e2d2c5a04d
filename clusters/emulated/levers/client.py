"""Hop 1: what clients send, what their kubeconfig says, and the listener they connect to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from clusters.base import Lever, Object, Sent
from clusters.emulated.apiserver.http import Handler, Headers, HttpRequest, HttpResponse
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.client.blocking import ADMIN
from clusters.emulated.client.by_path import PathApi
from clusters.emulated.levers.certificates import client_credential
from clusters.emulated.levers.client_wire import Interception
from clusters.emulated.levers.pulling import Count, entered, in_loop
from clusters.emulated.transport.kubeconfig import kubeconfig, write_kubeconfig
from clusters.lever_protocols import Defect

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster


class ClientLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster
        self._run = cluster.run

    def sends(self, change: Callable[[Sent], Sent], method: str = "", path: str = "") -> AbstractContextManager[Lever]:
        """Requests are changed on their way, as by a broken client."""

        async def act(http: HttpRequest) -> HttpRequest:
            return _changed(http, change)

        return self._intercepted(Interception(method, path, act))

    def races(self, method: str, path: str, patch: Object) -> AbstractContextManager[Lever]:
        """Somebody else is a moment faster: their patch is there when the request arrives."""
        other = PathApi(self._cluster.plane.handler, ADMIN, user_agent="another-writer")
        changes = 0

        async def act(http: HttpRequest) -> None:
            nonlocal changes
            changes += 1
            # Every time another value: a patch that changes nothing leaves the resourceVersion alone.
            annotation = {"metadata": {"annotations": {"kaput.example.com/race": str(changes)}}}
            await other.patch(http.path, {**patch, **annotation})

        return self._intercepted(Interception(method, path, act))

    @contextmanager
    def _intercepted(self, interception: Interception) -> Iterator[Lever]:
        interceptions = self._cluster.wire.interceptions
        interceptions.append(interception)
        try:
            yield interception
        finally:
            interceptions.remove(interception)

    # The listener

    @contextmanager
    def refuse(self) -> Iterator[Lever]:
        """Nobody listens at the api-server's address; open connections are cut."""
        listeners = self._cluster.listening()
        with entered(self._run, *(listener.refuse() for listener in listeners)):
            in_loop(self._run, lambda: [listener.cut_connections() for listener in listeners])
            yield Count(len(listeners))

    @contextmanager
    def loses_replies(self, method: str = "") -> Iterator[Lever]:
        """Requests over HTTPS are carried out, and the connection is cut before their answer."""
        lost = Count()
        with ExitStack() as heals:
            for listener in self._cluster.listening():
                serve = listener.serve

                async def cutting(http: HttpRequest, serve: Handler = serve, server: Any = listener) -> HttpResponse:
                    response = await serve(http)
                    if not method or http.method == method:
                        lost.fired += 1
                        server.cut_connections()
                        await asyncio.sleep(0)
                    return response

                listener.serve = cutting
                heals.callback(setattr, listener, "serve", serve)
            yield lost

    # The kubeconfig

    @contextmanager
    def kubeconfig(self, change: Callable[[Object], Object]) -> Iterator[Lever]:
        """The kubeconfig says something else."""
        import yaml

        path = self._cluster.kubeconfig
        before = path.read_text()
        changed = change(yaml.safe_load(before))
        write_kubeconfig(path, orjson.dumps(changed).decode())  # JSON is YAML as well.
        try:
            yield Count(int(yaml.safe_load(before) != changed))
        finally:
            write_kubeconfig(path, before)

    @contextmanager
    def credential(self, defect: Defect) -> Iterator[Lever]:
        """The kubeconfig's client certificate is a bad one."""
        plane = self._cluster.plane
        path = self._cluster.kubeconfig
        before = path.read_text()
        bad = client_credential(plane.pki, plane.clock.now_s(), defect)
        write_kubeconfig(path, kubeconfig(plane.server_url, plane.pki.ca.certificate_pem, credential=bad))
        try:
            yield Count(1)
        finally:
            write_kubeconfig(path, before)


def _changed(http: HttpRequest, change: Callable[[Sent], Sent]) -> HttpRequest:
    user = http.identity
    known = isinstance(user, UserInfo)
    before = Sent(
        http.method,
        http.target,
        tuple(http.headers.items()),
        http.body,
        user.name if isinstance(user, UserInfo) else "",
        tuple(user.groups) if isinstance(user, UserInfo) else (),
    )
    sent = change(before)
    path, _, query = sent.path.partition("?")
    identity = http.identity
    if known and (sent.user, sent.groups) != (before.user, before.groups):
        identity = UserInfo(sent.user, groups=sent.groups)
    return replace(
        http,
        method=sent.method,
        target=sent.path,
        path=path,
        query=query,
        headers=Headers(sent.headers),
        body=sent.body,
        identity=identity,
        body_truncated=len(sent.body) > _BODY_BYTES_MAX,
    )


#: What the listener reads of a body (`transport.https.Limits`); the in-process way has no listener.
_BODY_BYTES_MAX = 3 * 1024 * 1024
