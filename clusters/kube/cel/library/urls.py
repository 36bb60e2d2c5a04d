"""URLs: ``url(...)`` and its parts, parsed as Go's net/url does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote_plus

from clusters.kube.cel import types as t
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.library.formatting import go_quote
from clusters.kube.cel.values import Opaque

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*\Z")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_HOST_OK = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"%\x80-\U0010FFFF]*\Z")
_PATH_KEPT = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:@/\[\]%]*\Z")


class URLError(ValueError):
    """Why net/url would not parse it."""


class URL(Opaque):
    __slots__ = ("host", "path", "query", "scheme", "text")
    cel_type = t.URL

    def __init__(self, text: str, scheme: str, host: str, path: str, query: str) -> None:
        self.text = text
        self.scheme = scheme
        self.host = host
        self.path = path
        self.query = query

    def equals(self, other: object) -> bool:
        return isinstance(other, URL) and self.text == other.text

    def hostname(self) -> str:
        host = self.host
        if host.startswith("["):
            return host[1 : host.find("]")]
        return host.partition(":")[0] if re.search(r":\d*\Z", host) else host

    def port(self) -> str:
        match = re.search(r":(\d*)\Z", self.host)
        if not match or (self.host.startswith("[") and self.host.find("]") > match.start()):
            return ""
        return match.group(1)


def parse_request_uri(text: str) -> URL:
    """The URL, which must be absolute or begin with a slash; raises URLError in net/url's words."""
    try:
        return _parse(text)
    except URLError as error:
        raise URLError(f"parse {go_quote(text)}: {error}") from error


def _parse(text: str) -> URL:
    if any(char < " " or char == "\x7f" for char in text):
        raise URLError("net/url: invalid control character in URL")
    if not text:
        raise URLError("empty url")
    if text == "*":
        return URL(text, "", "", "*", "")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(text, scheme, "", "", query)
        raise URLError("invalid URI for request")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, tail = rest[2:].partition("/")
        rest = slash + tail
        host = _host(authority)
    bad = _BAD_ESCAPE.search(rest)
    if bad:
        raise URLError(f"invalid URL escape {go_quote(bad.group())}")
    return URL(text, scheme, host, rest, query.partition("#")[0])


def _scheme(text: str) -> tuple[str, str]:
    head, colon, tail = text.partition(":")
    if not colon or not re.match(r"[A-Za-z0-9+.\-]*\Z", head):
        return "", text
    if not head:
        raise URLError("missing protocol scheme")
    if not _SCHEME.match(head):
        return "", text
    return head.lower(), tail


def _host(authority: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    if at and not re.match(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z", userinfo):
        raise URLError("net/url: invalid userinfo")
    if host.startswith("["):
        close = host.rfind("]")
        if close < 0:
            raise URLError("missing ']' in host")
        port = host[close + 1 :]
    else:
        colon = host.rfind(":")
        port = host[colon:] if colon >= 0 else ""
    if port and not re.match(r":\d*\Z", port):
        raise URLError(f"invalid port {go_quote(port)} after host")
    bad = _BAD_ESCAPE.search(host)
    if bad:
        raise URLError(f"invalid URL escape {go_quote(bad.group())}")
    for char in host:
        if not _HOST_OK.match(char):
            raise URLError(f"invalid character {go_quote(char)} in host name")
    return host


def _to_url(text: str) -> URL:
    try:
        url = parse_request_uri(text)
    except URLError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from error
    # A second, ordinary parse splits off the fragment, which a request URI does not have.
    return URL(text, url.scheme, url.host, url.path.partition("#")[0], url.query)


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except URLError:
        return False
    return True


def _escaped_path(url: URL) -> str:
    if _PATH_KEPT.match(url.path):
        return url.path
    out = []
    for char in url.path:
        out.append(char if _PATH_KEPT.match(char) and char not in "[]" else "".join(f"%{b:02X}" for b in char.encode()))
    return "".join(out)


def _query(url: URL) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for part in url.query.split("&"):
        if not part or ";" in part or _BAD_ESCAPE.search(part):
            continue
        key, _, value = part.partition("=")
        out.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return out


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "url": [("string_to_url", "(string): URL", _to_url)],
    "getScheme": [("url_get_scheme", "URL.(): string", lambda url: url.scheme)],
    "getHost": [("url_get_host", "URL.(): string", lambda url: url.host)],
    "getHostname": [("url_get_hostname", "URL.(): string", URL.hostname)],
    "getPort": [("url_get_port", "URL.(): string", URL.port)],
    "getEscapedPath": [("url_get_escaped_path", "URL.(): string", _escaped_path)],
    "getQuery": [("url_get_query", "URL.(): map<string, list<string>>", _query)],
    "isURL": [("is_url_string", "(string): bool", _is_url)],
}
