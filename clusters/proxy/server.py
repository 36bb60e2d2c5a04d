"""Toxiproxy's HTTP API over a set of proxies."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from clusters.proxy.proxy import Placed, Proxy
from clusters.proxy.toxics import BadToxicError, Waiting, make

VERSION = "2.12.0"
_BODY_BYTES_MAX = 1 << 20

Reply = tuple[int, Any]


class _RefusedError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.reply: Reply = (status, {"error": text, "status": status})


class ProxyServer:
    """All methods belong to the loop's thread; clients come by HTTP."""

    def __init__(self, waiting: Waiting | None = None, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.proxies: dict[str, Proxy] = {}
        self._waiting = waiting
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        if self._waiting is None:
            self._waiting = Waiting(asyncio.sleep, asyncio.get_running_loop().time)
        self._server = await asyncio.start_server(self._client, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for client in [*self._clients]:
            client.close()
        for proxy in [*self.proxies.values()]:
            await proxy.disable()
        self.proxies.clear()

    # HTTP

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.add(writer)
        try:
            while (line := await reader.readline()).strip():
                method, path, _ = line.decode("ascii", "replace").split(" ", 2)
                length, keep = 0, True
                while header := (await reader.readline()).decode("latin-1").strip():
                    name, _, value = header.partition(":")
                    if name.lower() == "content-length":
                        length = min(int(value), _BODY_BYTES_MAX)
                    keep = keep and not (name.lower() == "connection" and value.strip().lower() == "close")
                status, answer = await self._answer(method, path, await reader.readexactly(length))
                body = answer.encode() if isinstance(answer, str) else b"" if answer is None else _json(answer)
                kind = "text/plain" if isinstance(answer, str) else "application/json"
                head = f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
                if not keep:
                    return
        except (OSError, asyncio.IncompleteReadError, ValueError):
            return  # Not worth an answer: whoever spoke is gone, or does not speak HTTP.
        finally:
            self._clients.discard(writer)
            writer.close()

    async def _answer(self, method: str, path: str, body: bytes) -> Reply:
        try:
            return await self._route(method, [part for part in path.partition("?")[0].split("/") if part], body)
        except _RefusedError as refused:
            return refused.reply
        except BadToxicError as bad:
            return 400, {"error": str(bad), "status": 400}
        except OSError as error:
            return 500, {"error": str(error), "status": 500}

    async def _route(self, method: str, parts: list[str], body: bytes) -> Reply:
        given = _decoded(body)
        match method, parts:
            case "GET", ["version"]:
                return 200, {"version": VERSION}
            case "POST", ["reset"]:
                for proxy in self.proxies.values():
                    proxy.toxics.clear()
                    await proxy.enable()
                return 204, None
            case "GET", ["proxies"]:
                return 200, {name: proxy.as_json() for name, proxy in self.proxies.items()}
            case "POST", ["proxies"]:
                return 201, (await self._create(given)).as_json()
            case "POST", ["populate"]:
                return 201, {"proxies": [(await self._populate(each)).as_json() for each in given]}
            case _, ["proxies", name, *rest]:
                return await self._of_proxy(method, self._proxy(name), rest, given)
        raise _RefusedError(404, "404 page not found")

    async def _of_proxy(self, method: str, proxy: Proxy, rest: list[str], given: Any) -> Reply:
        match method, rest:
            case "GET", []:
                return 200, proxy.as_json()
            case (("POST" | "PATCH"), []):
                await self._update(proxy, given)
                return 200, proxy.as_json()
            case "DELETE", []:
                await proxy.disable()
                del self.proxies[proxy.name]
                return 204, None
            case "GET", ["toxics"]:
                return 200, [each.as_json() for each in proxy.toxics.values()]
            case "POST", ["toxics"]:
                return 200, _place(proxy, given).as_json()
        if len(rest) == 2 and rest[0] == "toxics":
            placed = proxy.toxics.get(rest[1])
            if placed is None:
                raise _RefusedError(404, "toxic not found")
            return _of_toxic(method, proxy, placed, given)
        raise _RefusedError(404, "404 page not found")

    def _proxy(self, name: str) -> Proxy:
        if name not in self.proxies:
            raise _RefusedError(404, "proxy not found")
        return self.proxies[name]

    async def _create(self, given: Any) -> Proxy:
        for needed in ("name", "upstream"):
            if not given.get(needed):
                raise _RefusedError(400, f"missing required field: {needed}")
        name = given["name"]
        if name in self.proxies:
            raise _RefusedError(409, "proxy already exists")
        assert self._waiting is not None, "start() comes first"
        proxy = Proxy(name, given.get("listen") or "127.0.0.1:0", given["upstream"], self._waiting)
        if given.get("enabled", True):
            await proxy.enable()
        self.proxies[name] = proxy
        return proxy

    async def _populate(self, given: Any) -> Proxy:
        known = self.proxies.get(given.get("name", ""))
        if known is not None:
            if (known.upstream, known.listen) == (given.get("upstream"), given.get("listen")):
                return known
            await known.disable()
            del self.proxies[known.name]
        return await self._create(given)

    async def _update(self, proxy: Proxy, given: Any) -> None:
        changes = {name: given[name] for name in ("listen", "upstream") if given.get(name)}
        if any(getattr(proxy, name) != value for name, value in changes.items()):
            was_enabled = proxy.enabled
            await proxy.disable()
            for name, value in changes.items():
                setattr(proxy, name, value)
            if was_enabled:
                await proxy.enable()
        if "enabled" in given:
            await (proxy.enable() if given["enabled"] else proxy.disable())


def _place(proxy: Proxy, given: Any) -> Placed:
    stream = given.get("stream") or "downstream"
    if stream not in ("upstream", "downstream"):
        raise _RefusedError(400, "stream was invalid, can be either upstream or downstream")
    kind = given.get("type", "")
    name = given.get("name") or f"{kind}_{stream}"
    if name in proxy.toxics:
        raise _RefusedError(409, "toxic already exists")
    toxic = make(kind, given.get("attributes") or {})
    placed = proxy.toxics[name] = Placed(name, stream, float(given.get("toxicity", 1.0)), toxic)
    return placed


def _of_toxic(method: str, proxy: Proxy, placed: Placed, given: Any) -> Reply:
    if method == "GET":
        return 200, placed.as_json()
    if method in ("POST", "PATCH"):
        attributes = {**placed.as_json()["attributes"], **(given.get("attributes") or {})}
        placed.toxic = make(placed.toxic.type, attributes)
        placed.toxicity = float(given.get("toxicity", placed.toxicity))
        return 200, placed.as_json()
    if method == "DELETE":
        del proxy.toxics[placed.name]
        return 204, None
    raise _RefusedError(404, "404 page not found")


def _decoded(body: bytes) -> Any:
    if not body.strip():
        return {}
    try:
        return json.loads(body)
    except ValueError:
        raise _RefusedError(400, "bad request body") from None


def _json(answer: Any) -> bytes:
    return json.dumps(answer).encode() + b"\n"
