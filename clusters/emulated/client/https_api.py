"""`Api` over real HTTPS, so that every component also runs against a real kube-apiserver.

    api = HttpsApi.from_kubeconfig(Path("~/.kube/config"), clock, "kubelet/v1.36.0")
    ...
    api.close()

Connections are kept and used again, a watch has one to itself. Only loopback is ever dialled (`outbound.dial`).
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.client.errors import Unreachable
from clusters.emulated.client.rest import RestApi, failure_of
from clusters.emulated.clock import Clock, RealClock
from clusters.emulated.outbound.client import OutboundClient, Trust
from clusters.emulated.outbound.errors import OutboundError

_TIMEOUT_S: Final = 60.0
_BODY_BYTES_MAX: Final = 1 << 30


class KubeconfigError(Exception):
    """The file is no kubeconfig that can be used; the message says what is missing."""


class HttpsApi(RestApi):
    def __init__(
        self,
        server_url: str,
        ca_pem: bytes,
        *,
        certificate_pem: bytes = b"",
        key_pem: bytes = b"",
        token: str = "",
        user_agent: str = "kaput",
        clock: Clock | None = None,
        impersonate: UserInfo | None = None,
    ) -> None:
        self.server_url = server_url.rstrip("/")
        self._trust = Trust(ca_pem, certificate_pem=certificate_pem, key_pem=key_pem)
        self._headers = [("Accept", "application/json")]
        if token:
            self._headers.append(("Authorization", f"Bearer {token}"))
        if impersonate is not None:
            self._headers.append(("Impersonate-User", impersonate.name))
            # Everybody who is authenticated is in this group; the api-server adds it by itself.
            groups = [group for group in impersonate.groups if group != "system:authenticated"]
            self._headers += [("Impersonate-Group", group) for group in groups]
        self._client = OutboundClient(clock or RealClock(), user_agent)

    @classmethod
    def from_kubeconfig(
        cls,
        path: Path,
        clock: Clock | None = None,
        user_agent: str = "kaput",
        impersonate: UserInfo | None = None,
    ) -> HttpsApi:
        """As the current context of the file says."""
        import yaml

        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        context = _entry(config, "context", config.get("current-context", ""))
        cluster = _entry(config, "cluster", context.get("cluster", ""))
        user = _entry(config, "user", context.get("user", ""))
        return cls(
            cluster["server"],
            _data(cluster, "certificate-authority", path),
            certificate_pem=_data(user, "client-certificate", path),
            key_pem=_data(user, "client-key", path),
            token=user.get("token") or "",
            user_agent=user_agent,
            clock=clock,
            impersonate=impersonate,
        )

    def close(self) -> None:
        """Closes the kept connections."""
        self._client.close()

    async def exchange(self, method: str, target: str, body: bytes, content_type: str) -> tuple[int, bytes]:
        headers = [*self._headers, ("Content-Type", content_type)] if content_type else self._headers
        try:
            response = await self._client.request(
                method,
                self.server_url + target,
                headers=headers,
                body=body,
                trust=self._trust,
                timeout_s=_TIMEOUT_S,
                body_bytes_max=_BODY_BYTES_MAX,
            )
        except OutboundError as error:
            raise Unreachable(0, str(error)) from error
        return response.status, response.body

    @asynccontextmanager
    async def stream(self, target: str) -> AsyncIterator[AsyncIterator[bytes]]:
        try:
            async with self._client.stream(
                "GET", self.server_url + target, headers=self._headers, trust=self._trust, timeout_s=_TIMEOUT_S
            ) as response:
                if response.status >= 400:
                    raise failure_of(response.status, b"".join([chunk async for chunk in response.chunks]))
                yield response.chunks
        except OutboundError as error:
            raise Unreachable(0, str(error)) from error


def _entry(config: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    for entry in config.get(f"{kind}s") or ():
        if entry.get("name") == name:
            found: dict[str, Any] = entry.get(kind) or {}
            return found
    raise KubeconfigError(f"the kubeconfig has no {kind} {name!r}")


def _data(entry: dict[str, Any], name: str, path: Path) -> bytes:
    """What is given in the file itself, or in another one beside it."""
    if data := entry.get(f"{name}-data"):
        return base64.b64decode(data)
    return (path.parent / entry[name]).read_bytes() if entry.get(name) else b""
