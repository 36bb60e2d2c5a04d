"""The contract between a transport and the api-server: one request in, one response out, no sockets.

A transport (HTTPS or in-process) builds an `HttpRequest`, awaits the handler in a task, and carries out the
`HttpResponse`. When the client goes away the task is cancelled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol


class Headers:
    """Request headers: names compare without case, repeated ones are kept in the order they came."""

    __slots__ = ("_first", "_pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs: list[tuple[str, str]] = [(name.lower(), value) for name, value in pairs]
        self._first: dict[str, str] | None = None

    @classmethod
    def from_lower(cls, pairs: list[tuple[str, str]]) -> Headers:
        """Takes over `pairs`, whose names are lower-case already (the transports' fast path)."""
        headers = cls.__new__(cls)
        headers._pairs = pairs
        headers._first = None
        return headers

    def get(self, name: str) -> str | None:
        """The first value of this header, or None. Ask in lower case where it matters for speed."""
        first = self._first
        if first is None:
            # Reversed, so that the first of several values is the one that stays.
            first = self._first = dict(reversed(self._pairs))
        value = first.get(name)
        return first.get(name.lower()) if value is None else value

    def get_all(self, name: str) -> list[str]:
        """Every value of this header, e.g. of `Impersonate-Group`."""
        lower = name.lower()
        return [value for key, value in self._pairs if key == lower]

    def items(self) -> list[tuple[str, str]]:
        """All headers with lower-case names, in the order they came (`Impersonate-Extra-…` has to look)."""
        return self._pairs

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __repr__(self) -> str:
        return f"Headers({self._pairs!r})"


class Closed:
    """Tells that the client went away while its request was in hand."""

    __slots__ = ("_callbacks", "is_closed")

    def __init__(self) -> None:
        self.is_closed = False
        self._callbacks: list[Callable[[], None]] | None = None

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once when the client goes away; at once if it is gone already."""
        if self.is_closed:
            callback()
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def remove_callback(self, callback: Callable[[], None]) -> None:
        if self._callbacks is not None and callback in self._callbacks:
            self._callbacks.remove(callback)

    def forget_callbacks(self) -> None:
        """For the transport: the request is answered, its callbacks must not outlive it on the connection."""
        self._callbacks = None

    def close(self) -> None:
        """For the transport: the client is gone."""
        self.is_closed = True
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            callback()


@dataclass(slots=True)
class HttpRequest:
    """One request as it came off the wire; nothing is decoded, authenticated or routed yet."""

    method: str
    target: str
    """The raw request-target, e.g. `/api/v1/pods?limit=5`."""
    path: str
    """The raw, still percent-encoded path."""
    query: str
    """The raw query without its question mark."""
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""
    body_truncated: bool = False
    """The body was larger than the transport's limit; `body` holds its beginning, the answer must be 413."""
    peer_certificate: bytes | None = None
    """DER of the client's certificate as presented: its key is proven, its issuer and dates are not checked,
    because Kubernetes answers a bad client certificate with 401 and not with a failed handshake."""
    peer_chain: tuple[bytes, ...] = ()
    """DER of the intermediates the client sent along."""
    remote_address: str = ""
    connection: dict[str, Any] = field(default_factory=dict)
    """Lives as long as the connection, e.g. for the identity that its certificate was verified to be."""
    closed: Closed = field(default_factory=Closed)
    identity: object | None = None
    """Set only by the in-process transport: who calls, already established."""


class StreamWriter(Protocol):
    """The body of a streamed response (a watch, followed logs)."""

    @property
    def buffered_bytes(self) -> int:
        """What the client has not taken yet; a watch that lets this grow must cut the client."""
        ...

    @property
    def closed(self) -> bool: ...

    def write(self, data: bytes) -> None:
        """Sends `data` as one chunk, at once. Does nothing when the client is gone."""
        ...

    def write_framed(self, framed: bytes) -> None:
        """Sends what `frame_chunk` made: one watch event is framed once and written to every watcher."""
        ...

    def on_close(self, callback: Callable[[], None]) -> None: ...

    async def drain(self) -> None:
        """Waits until the client has taken enough, or is gone."""
        ...

    def abort(self) -> None:
        """Cuts the connection without the final chunk: the client sees an unexpected EOF."""
        ...


class RawConnection(Protocol):
    """The byte stream that is left of a connection after `101 Switching Protocols`."""

    @property
    def closed(self) -> bool: ...

    async def read(self) -> bytes:
        """Whatever arrived next; empty when the client has closed."""
        ...

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    def abort(self) -> None: ...


@dataclass(slots=True)
class HttpResponse:
    """What to answer: a body, or a `stream` that writes it, or an `upgrade` that takes the connection over.

    Leaving `stream` ends the body properly; an exception in it cuts the connection. The transport adds
    Date, Content-Length, Transfer-Encoding and Connection; header names are sent as they are given.
    """

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    stream: Callable[[StreamWriter], Awaitable[None]] | None = None
    upgrade: Callable[[RawConnection], Awaitable[None]] | None = None


Handler = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]
"""The api-server as transports see it."""


def frame_chunk(data: bytes) -> bytes:
    """`data` as one HTTP/1.1 chunk. Empty data frames to nothing, because an empty chunk ends the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


LAST_CHUNK = b"0\r\n\r\n"


def unframe_chunk(framed: bytes) -> bytes:
    """What `frame_chunk` was given; for transports that do not frame."""
    if not framed:
        return b""
    start = framed.index(b"\r\n") + 2
    return framed[start : start + int(framed[: start - 2], 16)]
