"""Reading the head of an HTTP/1.x request with the rules, and the refusals, of Go's net/http server."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusters.emulated.apiserver.http import Headers

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_BAD_TARGET = re.compile(r"[\x00-\x20\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BAD_VALUE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)")
_BAD_HOST = re.compile(r"[^!$%&'()*+,\-./:;=@\[\]_~0-9A-Za-z]")
_VERSION = re.compile(r"HTTP/(\d)\.(\d)\Z")
_ERROR_HEADERS = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"


class BadRequestError(Exception):
    """The bytes are no request that Go would serve: send `reply` and close the connection."""

    def __init__(self, public: str, body: str | None = None) -> None:
        super().__init__(public)
        text = f"HTTP/1.1 {public}{_ERROR_HEADERS}{public if body is None else body}"
        self.reply = text.encode("latin-1")


def header_too_large() -> BadRequestError:
    return BadRequestError("431 Request Header Fields Too Large")


def malformed() -> BadRequestError:
    return BadRequestError("400 Bad Request")


def expectation_failed() -> BadRequestError:
    refusal = BadRequestError("417 Expectation Failed")
    refusal.reply = b"HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    return refusal


@dataclass(slots=True)
class HeaderBlock:
    """The headers of a request, and what they mean for the connection.

    A client sends the same block with almost every request of a connection; it is parsed once.
    """

    headers: Headers
    content_length: int
    chunked: bool
    close: bool
    keep_alive: bool
    expect: str | None
    host: bool


@dataclass(slots=True)
class RequestHead:
    method: str
    target: str
    path: str
    query: str
    http_1_0: bool
    block: HeaderBlock

    @property
    def closes(self) -> bool:
        """Whether the connection ends after the answer."""
        block = self.block
        return block.close or (self.http_1_0 and not block.keep_alive)


def parse_request_line(line: str) -> tuple[str, str, str, str, bool]:
    """Method, target, path, query and whether it is HTTP/1.0, e.g. of `GET /api?x=1 HTTP/1.1`."""
    parts = line.split(" ", 2)
    if len(parts) != 3:
        raise malformed()
    method, target, version = parts
    if version == "HTTP/1.1":
        http_1_0 = False
    else:
        match = _VERSION.match(version)
        if match is None:
            raise malformed()
        if match[1] != "1":
            raise BadRequestError("505 HTTP Version Not Supported: unsupported protocol version")
        http_1_0 = match[2] == "0"
    if not (method.isalpha() and method.isascii()) and _TOKEN.match(method) is None:
        raise malformed()
    if _BAD_TARGET.search(target) is not None:
        raise malformed()
    path, _, query = target.partition("?")
    if not path.startswith("/"):
        path = _path_of_other_form(path)
    if "%" in path and _BAD_ESCAPE.search(path) is not None:
        raise malformed()
    return method, target, path, query, http_1_0


def _path_of_other_form(path: str) -> str:
    """The path of an absolute-form target (`http://host/path`) or of `*`; anything else is refused."""
    if path == "*":
        return path
    scheme, separator, rest = path.partition("://")
    if not separator or not scheme.isalnum():
        raise malformed()
    _, slash, path = rest.partition("/")
    return slash + path


def parse_header_block(text: str) -> HeaderBlock:
    """The header lines after the request line, without the empty line that ends them."""
    pairs: list[tuple[str, str]] = []
    if text:
        for line in text.split("\n"):
            if line[:1] in (" ", "\t"):
                if not pairs:
                    raise malformed()
                # Obsolete line folding: Go joins the continuation with one space.
                name, value = pairs[-1]
                pairs[-1] = (name, f"{value} {line.strip()}")
                continue
            name, colon, value = line.partition(":")
            if not colon or _TOKEN.match(name) is None:
                if colon and _TOKEN.match(name.replace(" ", "")) is not None:
                    raise BadRequestError("400 Bad Request: invalid header name")
                raise malformed()
            pairs.append((name.lower(), value.strip(" \t\r")))
    if _BAD_VALUE.search(text) is not None:
        raise malformed()
    return _framing(pairs)


def _framing(pairs: list[tuple[str, str]]) -> HeaderBlock:
    lengths: set[str] = set()
    hosts: list[str] = []
    encodings: list[str] = []
    close = keep_alive = False
    expect = None
    for name, value in pairs:
        if name == "host":
            hosts.append(value)
        elif name == "content-length":
            lengths.add(value)
        elif name == "transfer-encoding":
            encodings.append(value.lower())
        elif name == "connection":
            options = [option.strip() for option in value.lower().split(",")]
            close = close or "close" in options
            keep_alive = keep_alive or "keep-alive" in options
        elif name == "expect":
            expect = value.lower()
    if len(hosts) > 1:
        raise malformed()
    if hosts and _BAD_HOST.search(hosts[0]) is not None:
        raise BadRequestError("400 Bad Request: malformed Host header")
    if encodings and encodings != ["chunked"]:
        raise BadRequestError("501 Not Implemented", "Unsupported transfer encoding")
    content_length = 0
    if lengths and not encodings:
        length = lengths.pop()
        if lengths or not (length.isascii() and length.isdigit()):
            raise malformed()
        content_length = int(length)
    return HeaderBlock(
        Headers.from_lower(pairs), content_length, bool(encodings), close, keep_alive, expect, bool(hosts)
    )
