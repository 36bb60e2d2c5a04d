"""The write-ahead log: a round of requests becomes one frame, written and fsynced before it is applied.

    frame = magic, payload length, CRC-32 of index and payload, index of its first request | payload

A frame is written only after the one before it is durable. So a bad frame at the very end is a torn write of
requests that nobody was told had succeeded, and is cut off; a bad frame with a good one after it is damage.
"""

from __future__ import annotations

import asyncio
import os
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clusters.emulated.store.codec import decode_requests, encode_requests
from clusters.emulated.store.errors import CorruptLog, WriteAheadLogFailed
from clusters.emulated.store.requests import Request

MAGIC: Final = b"\xf5WAL"
HEADER: Final = struct.Struct("<4sIIQ")
INDEX: Final = struct.Struct("<Q")
FRAME_BYTES_MAX: Final = 1 << 30


class WriteAheadLog:
    """The open end of the log. One `append` at a time; the disk work is done in a thread of its own."""

    def __init__(self, file: Path, next_index: int) -> None:
        self.file = file
        self.next_index = next_index
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.size_bytes = os.fstat(self._descriptor).st_size
        self._unapplied = 0
        self._thread = ThreadPoolExecutor(1, "store-fsync")
        sync_directory(file.parent)

    @property
    def settled(self) -> bool:
        """Whether everything that was appended has also been applied: only then may the file be left."""
        return self._unapplied == 0

    def applied(self) -> None:
        self._unapplied -= 1

    async def append(self, requests: list[Request]) -> None:
        """Returns when the requests are on the disk."""
        frame = encode_frame(self.next_index, encode_requests(requests))
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._write, frame)
        except OSError as error:
            raise WriteAheadLogFailed(self.file, error) from error
        self._unapplied += len(requests)
        self.next_index += len(requests)
        self.size_bytes += len(frame)

    def _write(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            view = view[os.write(self._descriptor, view) :]
        os.fdatasync(self._descriptor)

    def start_file(self, file: Path) -> None:
        """Goes on in a new file: everything before it is in a snapshot."""
        os.close(self._descriptor)
        self.file = file
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self.size_bytes = 0
        sync_directory(file.parent)

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        os.close(self._descriptor)


@dataclass(frozen=True)
class Recovered:
    """What a log file holds, and where its trustworthy part ends."""

    requests: list[tuple[int, Request]]
    end_offset: int
    torn: bool


def encode_frame(index: int, payload: bytes) -> bytes:
    checksum = zlib.crc32(payload, zlib.crc32(INDEX.pack(index)))
    return HEADER.pack(MAGIC, len(payload), checksum, index) + payload


def read_log(file: Path, *, last: bool) -> Recovered:
    """Every request of a log file with its index. Only the last file may end in a torn frame."""
    data = file.read_bytes()
    requests: list[tuple[int, Request]] = []
    offset = 0
    while offset < len(data):
        frame = read_frame(data, offset)
        if frame is None:
            if not last or _has_good_frame_after(data, offset):
                raise CorruptLog(file, offset, "this record is damaged, and good records follow it")
            return Recovered(requests, offset, True)
        index, payload = frame
        try:
            decoded = decode_requests(payload)
        except (ValueError, IndexError, struct.error) as error:
            raise CorruptLog(file, offset, f"the record is intact but cannot be decoded ({error})") from error
        requests += [(index + position, request) for position, request in enumerate(decoded)]
        offset += HEADER.size + len(payload)
    return Recovered(requests, offset, False)


def read_frame(data: bytes, offset: int) -> tuple[int, bytes] | None:
    """The frame at this offset, or None if it is incomplete or damaged."""
    if offset + HEADER.size > len(data):
        return None
    magic, length, checksum, index = HEADER.unpack_from(data, offset)
    start = offset + HEADER.size
    if magic != MAGIC or length > FRAME_BYTES_MAX or start + length > len(data):
        return None
    payload = data[start : start + length]
    if zlib.crc32(payload, zlib.crc32(INDEX.pack(index))) != checksum:
        return None
    return index, payload


def _has_good_frame_after(data: bytes, offset: int) -> bool:
    position = data.find(MAGIC, offset + 1)
    while position != -1:
        if read_frame(data, position) is not None:
            return True
        position = data.find(MAGIC, position + 1)
    return False


def sync_directory(directory: Path) -> None:
    """Makes the creation or renaming of files in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
