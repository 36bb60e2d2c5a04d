"""toxiproxy-python, without its traps.

The package keeps the server's address in a class, so that there can be one server per process; it waits for ever for
a server that hangs; and it takes every answer but 400, 404 and 409 for a success. Here each client has a class of its
own below the package's, every call has a timeout, and what is no success is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TIMEOUT_S = 10.0


class ToxiproxyError(Exception):
    """The Toxiproxy server did not do what it was asked; the message has its words."""


class ToxiproxyClient:
    def __init__(self, host: str, port: int, timeout_s: float = TIMEOUT_S) -> None:
        from toxiproxy.api import APIConsumer

        self._consumer: Any = type("Consumer", (APIConsumer,), {"host": host, "port": port})
        self._timeout_s = timeout_s

    def version(self) -> str:
        return str(self._call("get", "/version")["version"])

    def proxies(self) -> dict[str, Any]:
        found: dict[str, Any] = self._call("get", "/proxies")
        return found

    def create(self, name: str, upstream: str, listen: str = "127.0.0.1:0") -> tuple[str, int]:
        """Makes a proxy; where it listens."""
        made = self._call("post", "/proxies", {"name": name, "upstream": upstream, "listen": listen})
        host, _, port = made["listen"].rpartition(":")
        return host, int(port)

    def delete(self, name: str) -> None:
        self._call("delete", f"/proxies/{name}")

    def enable(self, name: str, enabled: bool) -> None:
        now = self._call("post", f"/proxies/{name}", {"enabled": enabled})
        if now["enabled"] != enabled:
            raise ToxiproxyError(f"the proxy {name} is still {'disabled' if enabled else 'enabled'}")

    def add_toxic(
        self, name: str, type: str, stream: str = "downstream", toxicity: float = 1.0, **attributes: float
    ) -> str:
        """Puts a toxic in place; its name."""
        asked = {"type": type, "stream": stream, "toxicity": toxicity, "attributes": attributes}
        return str(self._call("post", f"/proxies/{name}/toxics", asked)["name"])

    def remove_toxic(self, name: str, toxic: str) -> None:
        self._call("delete", f"/proxies/{name}/toxics/{toxic}")

    @contextmanager
    def down(self, name: str) -> Iterator[None]:
        """Nobody listens; open connections are dropped."""
        self.enable(name, False)
        try:
            yield
        finally:
            self.enable(name, True)

    @contextmanager
    def toxic(self, name: str, type: str, stream: str = "downstream", **attributes: float) -> Iterator[None]:
        placed = self.add_toxic(name, type, stream, **attributes)
        try:
            yield
        finally:
            self.remove_toxic(name, placed)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        import requests
        from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

        given = {} if body is None else {"json": body}
        try:
            response = getattr(self._consumer, method)(path, timeout=self._timeout_s, **given)
        except (InvalidToxic, NotFound, ProxyExists, requests.RequestException) as error:
            raise ToxiproxyError(f"{method.upper()} {path}: {type(error).__name__}: {error}") from error
        if response.status_code >= 300:
            raise ToxiproxyError(f"{method.upper()} {path}: {response.status_code} {response.text.strip()}")
        return response.json() if response.content else None
