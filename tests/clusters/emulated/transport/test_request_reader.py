"""Requests out of a byte stream, wherever it is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.emulated.transport.request_reader import RequestReader

STREAM = (
    b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5;e=1\r\nhello\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\n"
    b"GET /b?c=d HTTP/1.1\r\nHost: x\r\n\r\n"
    b"PUT /e HTTP/1.1\nHost: x\nContent-Length: 4\n\nbody"
    b"POST /f HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n\r\n"
    b"GET /g HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n folded\r\nX-A: 2\r\n\r\n"
)
EXPECTED = [
    ("POST", "/a", b"hello!"),
    ("GET", "/b", b""),
    ("PUT", "/e", b"body"),
    ("POST", "/f", b""),
    ("GET", "/g", b""),
]


@given(st.lists(st.integers(1, len(STREAM) - 1)))
def test_the_same_requests_come_out_however_the_bytes_arrive(cuts: list[int]) -> None:
    reader = RequestReader(header_bytes_max=1000, body_bytes_max=1000)
    found = []
    start = 0
    for end in [*sorted(cuts), len(STREAM)]:
        if STREAM[start:end]:
            reader.feed(STREAM[start:end])
        start = end
        while (request := reader.next()) is not None:
            found.append((request.head.method, request.head.path, request.body))
            last = request
    assert found == EXPECTED
    assert last.head.block.headers.get_all("X-A") == ["1 folded", "2"]
    assert reader.buffer == b""


def test_equal_header_blocks_are_parsed_once() -> None:
    reader = RequestReader(header_bytes_max=1000, body_bytes_max=1000)
    reader.feed(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n")
    first, second = reader.next(), reader.next()
    assert first is not None
    assert second is not None
    assert first.head.block is second.head.block


def test_a_body_beyond_the_limit_is_cut_and_complete() -> None:
    reader = RequestReader(header_bytes_max=1000, body_bytes_max=3)
    reader.feed(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\nabcdef")
    request = reader.next()
    assert request is not None
    assert request.truncated
    assert request.body == b"abc"
