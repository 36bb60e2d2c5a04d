"""A byte stream to a server, in plain or in TLS, whose errors read as Go's."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Any

from clusters.emulated.outbound.dial import ByteStream
from clusters.emulated.outbound.errors import (
    ConnectionBrokenError,
    HandshakeError,
    system_call_text,
)

_READ_BYTES = 64 * 1024
_TLS_ALERT, _TLS_HANDSHAKE = 21, 22

# OpenSSL's names of alerts that a server sends, in Go's words.
_ALERTS = {
    "UNEXPECTED_MESSAGE": "unexpected message",
    "BAD_RECORD_MAC": "bad record MAC",
    "HANDSHAKE_FAILURE": "handshake failure",
    "BAD_CERTIFICATE": "bad certificate",
    "UNSUPPORTED_CERTIFICATE": "unsupported certificate",
    "CERTIFICATE_REVOKED": "revoked certificate",
    "CERTIFICATE_EXPIRED": "expired certificate",
    "CERTIFICATE_UNKNOWN": "unknown certificate",
    "ILLEGAL_PARAMETER": "illegal parameter",
    "UNKNOWN_CA": "unknown certificate authority",
    "ACCESS_DENIED": "access denied",
    "DECODE_ERROR": "error decoding message",
    "DECRYPT_ERROR": "error decrypting message",
    "PROTOCOL_VERSION": "protocol version not supported",
    "INSUFFICIENT_SECURITY": "insufficient security level",
    "INTERNAL_ERROR": "internal error",
    "UNRECOGNIZED_NAME": "unrecognized name",
    "CERTIFICATE_REQUIRED": "certificate required",
    "NO_APPLICATION_PROTOCOL": "no application protocol",
}


class Wire:
    """Bytes to and from one server. `read` gives b"" at the end of the stream."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    @property
    def usable(self) -> bool:
        """Whether the server has kept the connection open and sent nothing unasked."""
        return self._stream.open and not self._stream.take()

    async def read(self) -> bytes:
        try:
            return await self._stream.read()
        except BrokenPipeError as error:
            raise ConnectionBrokenError(f"write tcp {self._stream.route}: write: broken pipe") from error
        except OSError as error:
            raise ConnectionBrokenError(f"read tcp {self._stream.route}: {system_call_text('read', error)}") from error

    def write(self, data: bytes) -> None:
        """Sends `data`. If that fails, the next `read` says so."""
        self._stream.write(data)

    def close(self) -> None:
        self._stream.close()


class TlsWire(Wire):
    """TLS over a `Wire`. Whether the certificate is good is for the caller to say, from `peer_chain`."""

    def __init__(self, stream: ByteStream, context: ssl.SSLContext, server_name: str) -> None:
        super().__init__(stream)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)

    @property
    def usable(self) -> bool:
        """Session tickets may have come unasked; a closing alert may have come along with the last response."""
        if not self._stream.open:
            return False
        self._incoming.write(self._stream.take())
        try:
            self._tls.read(1)
        except ssl.SSLWantReadError:
            return True
        except ssl.SSLError:
            return False
        return False

    async def handshake(self) -> None:
        received = b""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
            except ssl.SSLError as error:
                self._flush()
                raise HandshakeError(_handshake_text(error)) from error
            else:
                self._flush()
                return
            data = await super().read()
            if not data:
                raise HandshakeError("EOF" if _whole_records(received) else "unexpected EOF")
            received += data
            _check_first_record(received[:5])
            self._incoming.write(data)

    def peer_chain(self) -> Sequence[bytes]:
        """DER of the certificates that the server showed, its own first."""
        # Public as SSLObject.get_unverified_chain only from Python 3.13 on.
        native: Any = self._tls._sslobj  # type: ignore[attr-defined]
        return [link.public_bytes(2) for link in native.get_unverified_chain() or []]

    async def read(self) -> bytes:
        while True:
            try:
                return self._tls.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                self._flush()
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLError as error:
                raise ConnectionBrokenError(_handshake_text(error)) from error
            data = await super().read()
            if not data:
                return b""
            self._incoming.write(data)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._tls.write(view) :]
        self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending:
            super().write(self._outgoing.read())


def _check_first_record(first: bytes) -> None:
    """Refuses what is no TLS record, before OpenSSL sees it: Go tells plain HTTP from other bytes."""
    if first[0] in (_TLS_ALERT, _TLS_HANDSHAKE) and (len(first) < 3 or first[1] < 0x10):
        return
    if len(first) < 5:
        return
    if first == b"HTTP/":
        raise HandshakeError("http: server gave HTTP response to HTTPS client")
    raise HandshakeError("tls: first record does not look like a TLS handshake")


def _whole_records(received: bytes) -> bool:
    """Whether the bytes end where a TLS record ends; Go calls an end inside of one unexpected."""
    position = 0
    while position + 5 <= len(received):
        position += 5 + int.from_bytes(received[position + 3 : position + 5], "big")
    return position == len(received)


def _handshake_text(error: ssl.SSLError) -> str:
    reason = error.reason or ""
    _, alert, name = reason.partition("_ALERT_")
    if alert:
        return f"remote error: tls: {_ALERTS.get(name, name.lower().replace('_', ' '))}"
    if reason == "UNSUPPORTED_PROTOCOL":
        return "tls: server selected unsupported protocol version 301"
    return f"tls: {reason.lower().replace('_', ' ')}" if reason else str(error)
