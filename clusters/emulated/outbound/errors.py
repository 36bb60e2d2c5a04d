"""What can go wrong with a call, worded as Go's net, crypto/tls and net/http word it."""

from __future__ import annotations

import errno

from clusters.kube.gostring import quote

_ERRNO_TEXTS = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset by peer",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network is unreachable",
    errno.ETIMEDOUT: "connection timed out",
    errno.EPIPE: "broken pipe",
    errno.EACCES: "permission denied",
    errno.EPERM: "operation not permitted",
    errno.EADDRNOTAVAIL: "cannot assign requested address",
    errno.ECONNABORTED: "software caused connection abort",
    errno.EMFILE: "too many open files",
}


class OutboundError(Exception):
    """A call failed; the text is the one that Go's client would have given, without the URL."""


class DialError(OutboundError):
    """No connection came about. Nothing was sent."""


class HandshakeError(OutboundError):
    """TLS was not established, or the server's certificate was refused. Nothing was sent."""


class ConnectionBrokenError(OutboundError):
    """The connection ended before a response head; whether the server acted is unknown."""


class MalformedResponseError(OutboundError):
    """What came back is not HTTP."""


class DeadlineExceededError(OutboundError):
    """The caller's time was up."""


class UrlError(OutboundError):
    """Any of the above with the request it happened to, as Go's `*url.Error`: `Post "https://…": EOF`."""

    def __init__(self, method: str, url: str, cause: OutboundError) -> None:
        super().__init__(f"{method[:1].upper()}{method[1:].lower()} {quote(url)}: {cause}")
        self.cause = cause


class BodyError(OutboundError):
    """The response head had come, but reading its body failed; Go's clients show this without the URL."""


def system_call_text(call: str, error: OSError) -> str:
    """`connect: connection refused`, as Go's `os.SyscallError` puts it."""
    text = _ERRNO_TEXTS.get(error.errno or 0) or (error.strerror or str(error)).lower()
    return f"{call}: {text}"


def join_host_port(host: str, port: int) -> str:
    """`127.0.0.1:443`, `[::1]:443`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
