"""TLS over a plain transport: bytes in, plaintext out, and the other way round.

Done here on memory buffers rather than by the loop's own TLS, because the listener must see what comes before
a handshake (plain HTTP gets an answer in plain), must hand over the client's certificate unverified, and keeps
no read buffer per connection: a thousand idle watches cost a thousand OpenSSL objects and nothing else.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Any

# One TLS record holds at most this much; a larger read would only allocate more.
_RECORD_BYTES = 16384


class TlsChannel:
    """One connection's TLS state. Errors of the peer come as `ssl.SSLError`; then flush `outgoing` and close."""

    __slots__ = ("_incoming", "_object", "_outgoing", "established")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.established = False

    def handshake(self, data: bytes) -> bool:
        """Feeds handshake bytes; True when it is done (plaintext may have come along: call `receive(b"")`)."""
        self._incoming.write(data)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self.established = True
        return True

    def receive(self, data: bytes) -> tuple[bytes, bool]:
        """The plaintext in `data` (and in what was kept of a record before), and whether the peer closed."""
        incoming, tls = self._incoming, self._object
        if data:
            incoming.write(data)
        elif not incoming.pending:
            return b"", False
        first = b""
        more: list[bytes] | None = None
        try:
            while True:
                piece = tls.read(_RECORD_BYTES)
                if not piece:
                    return (first if more is None else b"".join(more)), True
                if not first:
                    first = piece
                elif more is None:
                    more = [first, piece]
                else:
                    more.append(piece)
                # Asking for more than there is would raise, which costs more than these two questions.
                if not incoming.pending and not tls.pending():
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            return (first if more is None else b"".join(more)), True
        return (first if more is None else b"".join(more)), False

    def encrypt(self, data: bytes) -> bytes:
        """`data` as TLS records, and whatever else OpenSSL wants to be sent first."""
        write = self._object.write
        size = len(data)
        written = write(data)
        if written < size:
            view = memoryview(data)
            while written < size:
                written += write(view[written:])
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """What has to be sent now: handshake messages, alerts."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def close_notify(self) -> bytes:
        """The closing alert. An answer to it is not waited for."""
        # The error says that the peer's own alert is missing, as it should be at this point; ours is written.
        with suppress(ssl.SSLError):
            self._object.unwrap()
        return self._outgoing.read()

    def peer_certificates(self) -> tuple[bytes | None, tuple[bytes, ...]]:
        """DER of the client's certificate and of the intermediates that it sent."""
        leaf = self._object.getpeercert(binary_form=True)
        if leaf is None:
            return None, ()
        # Public as SSLObject.get_unverified_chain only from Python 3.13 on.
        native: Any = self._object._sslobj  # type: ignore[attr-defined]
        chain = native.get_unverified_chain() or []
        ders = (bytes(link) if isinstance(link, bytes) else link.public_bytes(2) for link in chain)
        return leaf, tuple(der for der in ders if der != leaf)
