"""Answers: an object, a list, a Table or a Status becomes an HttpResponse in the form the client accepts."""

from __future__ import annotations

import zlib
from typing import Any

import orjson

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media import yaml_text
from clusters.emulated.apiserver.media.negotiation import PLAIN, MediaType
from clusters.emulated.apiserver.request import Request
from clusters.kube.errors import StatusError
from clusters.kube.gostring import html_escaped

Object = dict[str, Any]

PROTOBUF = "application/vnd.kubernetes.protobuf"
# Of characters in all Warning headers together, and in one of them once there are too many.
_WARNINGS_MAX, _WARNING_MAX = 4096, 256
GZIP_BYTES_MIN = 128 * 1024
# Browsers and plain HTTP tools are read by people: they get indented JSON unless they say otherwise.
_READ_BY_PEOPLE = ("curl/", "Wget/", "Mozilla/")


#: What Go reads as true; anything else is not.
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))


def is_pretty(request: Request, media: MediaType) -> bool:
    if media.pretty is not None:
        return media.pretty
    asked = request.query.get("pretty")
    if asked is not None and asked[0]:
        return asked[0] in _TRUE
    return (request.http.headers.get("user-agent") or "").startswith(_READ_BY_PEOPLE)


def json_body(request: Request, status: int, body: bytes, media: MediaType = PLAIN) -> HttpResponse:
    """`body` is compact JSON; it is written as it is, indented, or turned into YAML."""
    if media.yaml:
        return _response(request, status, "application/yaml", yaml_text.dumps(orjson.loads(body)))
    if is_pretty(request, media):
        return _response(request, status, "application/json", indented(orjson.loads(body)))
    return _response(request, status, "application/json", body + b"\n")


def indented(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def obj(request: Request, status: int, value: Object, media: MediaType = PLAIN) -> HttpResponse:
    """`value` names its kind: in protobuf it is written by the numbers of that kind."""
    if media.protobuf:
        from clusters.emulated.apiserver.media import protobuf_answer  # Only protobuf clients pay for it.

        return protobuf_body(request, status, protobuf_answer.enveloped(value))
    return json_body(request, status, html_escaped(orjson.dumps(value)), media)


def protobuf_body(request: Request, status: int, body: bytes) -> HttpResponse:
    """`body` is in its envelope."""
    return _response(request, status, PROTOBUF, body)


def text(request: Request, status: int, content: str, *, nosniff: bool = True) -> HttpResponse:
    response = _response(request, status, "text/plain; charset=utf-8", content.encode())
    if nosniff:
        response.headers.append(("X-Content-Type-Options", "nosniff"))
    return response


def error(request: Request, failure: StatusError, media: MediaType = PLAIN) -> HttpResponse:
    status = failure.status()
    if failure.retry_after_s:
        request.response_headers.append(("Retry-After", str(failure.retry_after_s)))
    return obj(request, failure.code, status, media)


def page_not_found(request: Request) -> HttpResponse:
    return text(request, 404, "404 page not found\n")


def _response(request: Request, status: int, content_type: str, body: bytes) -> HttpResponse:
    headers = [*request.response_headers, ("Content-Type", content_type)]
    if len(body) > GZIP_BYTES_MIN and "gzip" in (request.http.headers.get("accept-encoding") or ""):
        body = _gzipped(body)
        headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    if request.warnings:
        headers += [("Warning", _warning(each)) for each in _fitting(request.warnings)]
    return HttpResponse(status, headers, body)


def _gzipped(body: bytes) -> bytes:
    """Level 1, as the real server: it trades size for time."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    return compressor.compress(body) + compressor.flush()


def _fitting(warnings: list[str]) -> list[str]:
    """What goes into headers: all if it is not much, else as many as fit, each cut short."""
    if sum(map(len, warnings)) <= _WARNINGS_MAX:
        return warnings
    kept: list[str] = []
    cut = False
    for position, each in enumerate(warnings):
        if cut and sum(map(len, kept)) >= _WARNINGS_MAX:
            break
        if cut or sum(map(len, kept)) + len(each) <= _WARNINGS_MAX:
            kept.append(each[:_WARNING_MAX] if cut else each)
        else:  # The one that is too much makes those before it be written again, cut short.
            cut = True
            kept = [text[:_WARNING_MAX] for text in warnings[: position + 1]]
    return kept


def _warning(message: str) -> str:
    """`299 - "text"` with quotes and backslashes escaped; control characters have no place in a header."""
    cleaned = "".join(" " if ord(character) < 0x20 else character for character in message)
    escaped = cleaned.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
