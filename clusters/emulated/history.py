"""What happened in a cluster, in order: every commit of the store and every request, and a digest of it all.

Two runs of the same scenario with the same seed and virtual time have the same digest. Where they differ,
`difference` names the first entry that does. Keys, certificates and tokens are made by real chance, never from the
seed, so they do not count.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from typing import Final, NamedTuple

from clusters.emulated.apiserver.http import Handler, HttpRequest, HttpResponse
from clusters.emulated.clock import Clock
from clusters.emulated.store.protocol import WatchBatch

ENTRIES_MAX: Final = 100_000

# PEM blocks, the same in base64, and signed tokens in either form.
_SECRET: Final = re.compile(
    rb"-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----"
    rb"|LS0tLS1CRUdJTi[A-Za-z0-9+/=]+"
    rb"|eyJhbGciOi[A-Za-z0-9_.-]+"
    rb"|ZXlKaGJHY2lPa[A-Za-z0-9+/=]+",
    re.DOTALL,
)
_SECRET_BEGINNINGS: Final = (b"-----BEGIN ", b"LS0tLS1CRUdJTi", b"eyJhbGciOi", b"ZXlKaGJHY2lPa")


class Entry(NamedTuple):
    """`what` is `PUT key@revision hash` of a commit, or `GET target by user: 200` of a request."""

    time_s: float
    what: str

    def __str__(self) -> str:
        return f"{self.time_s:.6f} {self.what}"


class History:
    """The last `ENTRIES_MAX` entries are kept; the digest is of all."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._digest = hashlib.sha256()
        self._entries: deque[Entry] = deque(maxlen=ENTRIES_MAX)
        self.length = 0

    def digest(self) -> str:
        """Of everything so far, in hexadecimal."""
        return self._digest.hexdigest()

    def entries(self) -> list[Entry]:
        return [*self._entries]

    def difference(self, other: History) -> tuple[Entry | None, Entry | None] | None:
        """The first entries in which two histories differ, as far as they are kept; None if they are the same."""
        mine, others = self.entries(), other.entries()
        for one, another in zip(mine, others, strict=False):
            if one != another:
                return one, another
        if len(mine) == len(others):
            return None
        shorter = min(len(mine), len(others))
        return (mine[shorter] if len(mine) > shorter else None), (others[shorter] if len(others) > shorter else None)

    # What tells it

    def committed(self, batch: WatchBatch) -> None:
        """A subscription of the store."""
        for event in batch.events:
            kv = event.kv
            value = _without_secrets(kv.value)
            short = hashlib.blake2b(value, digest_size=8).hexdigest()
            self._note(f"{event.kind} {kv.key}@{batch.revision} {short}")

    def recorded(self, handler: Handler) -> Handler:
        """The same handler, with its requests noted when they are answered."""

        async def answer(http: HttpRequest) -> HttpResponse:
            response = await handler(http)
            user = getattr(http.identity, "name", "-")
            self._note(f"{http.method} {http.target} by {user}: {response.status}")
            return response

        return answer

    def _note(self, what: str) -> None:
        entry = Entry(self._clock.monotonic_s(), what)
        self._entries.append(entry)
        self._digest.update(str(entry).encode() + b"\n")
        self.length += 1


def _without_secrets(value: bytes) -> bytes:
    if any(beginning in value for beginning in _SECRET_BEGINNINGS):
        return _SECRET.sub(b"(secret)", value)
    return value
