"""Writing the head of an HTTP/1.1 response, with the headers that Go's server adds by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus

from clusters.emulated.apiserver.http import HttpResponse

# Where Go's text differs from the one that Python knows.
_GO_TEXTS = {413: "Request Entity Too Large", 414: "Request URI Too Long", 418: "I'm a teapot"}
# Not by strftime, whose names of days and months follow the locale.
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TEXTS = {int(status): _GO_TEXTS.get(int(status), status.phrase) for status in HTTPStatus}


def status_text(status: int) -> str:
    """`Not Found` for 404; Go writes `status code N` for numbers it does not know."""
    return _TEXTS.get(status) or f"status code {status}"


_STATUS_LINES = {status: f"HTTP/1.1 {status} {text}\r\n" for status, text in _TEXTS.items()}


def bodyless(status: int) -> bool:
    """Whether a response with this status has neither body nor Content-Length."""
    return status < 200 or status in (204, 304)


def response_head(
    status: int, headers: list[tuple[str, str]], date: str, *, framing: str = "", http_1_0: bool = False
) -> bytes:
    """Status line, `headers` as given, Date, then `framing` (whole lines), and the empty line."""
    line = _STATUS_LINES.get(status) or f"HTTP/1.1 {status} {status_text(status)}\r\n"
    if http_1_0:
        line = "HTTP/1.0" + line[8:]
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    head = f"{line}{''.join(lines)}{date}{framing}\r\n"
    # Each line has exactly one line end; one more came out of a value and would forge a header.
    if head.count("\n") != len(lines) + 2 + date.count("\n") + framing.count("\n"):
        lines = [f"{name}: {_one_line(value)}\r\n" for name, value in headers]
        head = f"{line}{''.join(lines)}{date}{framing}\r\n"
    return head.encode("latin-1", "replace")


def _one_line(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")


def crash_response() -> HttpResponse:
    """What a client gets when the handler itself fails, which is a bug of ours."""
    return HttpResponse(
        500,
        [("Content-Type", "application/json")],
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"Internal Server Error","reason":"InternalError","code":500}\n',
    )


class DateLine:
    """The Date header of the moment, written anew once per second of cluster time."""

    __slots__ = ("_line", "_now_s", "_second")

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._second = -1
        self._line = ""

    def __call__(self) -> str:
        second = int(self._now_s())
        if second != self._second:
            self._second = second
            moment = datetime.fromtimestamp(second, UTC)
            day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
            self._line = f"Date: {day}, {moment:%d} {month} {moment:%Y %H:%M:%S} GMT\r\n"
        return self._line
