"""Keys in order, with quick insertion, removal, prefix ranges and cheap copies.

A list of short sorted lists: with 100,000 keys an insertion moves some hundred pointers, not 100,000, and a
copy is one copy per short list. `SortedKeys(["/b", "/a"]).between("/a", "/b") == ["/a"]`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

CHUNK_KEYS_MAX: Final = 1024


class SortedKeys:
    """A set of strings in code-point order, which is also the order of their UTF-8 bytes."""

    __slots__ = ("_chunks", "_length", "_shared")

    def __init__(self, keys: Iterable[str] = ()) -> None:
        ordered = sorted(keys)
        half = CHUNK_KEYS_MAX // 2
        self._chunks: list[list[str]] = [ordered[i : i + half] for i in range(0, len(ordered), half)]
        self._length = len(ordered)
        self._shared: set[int] = set()  # ids of chunks that a copy also holds

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        for chunk in self._chunks:
            yield from chunk

    def copy(self) -> SortedKeys:
        """An independent set that shares its chunks with this one until either changes them."""
        other = SortedKeys()
        other._chunks = self._chunks.copy()
        other._length = self._length
        self._shared = {id(chunk) for chunk in self._chunks}
        other._shared = self._shared.copy()
        return other

    def add(self, key: str) -> None:
        """Adds a key that is not there yet."""
        chunks = self._chunks
        self._length += 1
        if not chunks:
            chunks.append([key])
            return
        index = self._chunk_index(key)
        if index == len(chunks):
            index -= 1
        chunk = self._own(index)
        insort(chunk, key)
        if len(chunk) > CHUNK_KEYS_MAX:
            half = len(chunk) // 2
            chunks[index : index + 1] = [chunk[:half], chunk[half:]]

    def remove(self, key: str) -> None:
        """Removes a key that is there."""
        index = self._chunk_index(key)
        chunk = self._own(index)
        position = bisect_left(chunk, key)
        assert chunk[position] == key, f"{key} is not in these keys"
        del chunk[position]
        self._length -= 1
        if not chunk:
            del self._chunks[index]

    def between(self, start: str, end: str) -> list[str]:
        """The keys with start <= key < end; an empty end means no upper bound."""
        chunks = self._chunks
        first = self._chunk_index(start)
        if first == len(chunks):
            return []
        found: list[str] = []
        for index in range(first, len(chunks)):
            chunk = chunks[index]
            low = bisect_left(chunk, start) if index == first else 0
            if end and chunk[-1] >= end:
                found += chunk[low : bisect_left(chunk, end)]
                break
            found += chunk[low:]
        return found

    def _chunk_index(self, key: str) -> int:
        """The first chunk whose last key is not before this one."""
        low, high = 0, len(self._chunks)
        chunks = self._chunks
        while low < high:
            middle = (low + high) // 2
            if chunks[middle][-1] < key:
                low = middle + 1
            else:
                high = middle
        return low

    def _own(self, index: int) -> list[str]:
        """The chunk, copied first if another set still reads it."""
        chunk = self._chunks[index]
        if self._shared and id(chunk) in self._shared:
            # An id stays in `_shared` only while this set holds that very chunk, so no later list can be
            # mistaken for it.
            self._shared.discard(id(chunk))
            chunk = self._chunks[index] = chunk.copy()
        return chunk
