"""Seeded randomness: object names, UIDs and jitter of a cluster all come from one seed."""

from __future__ import annotations

import hashlib
import random
import secrets
from uuid import UUID

# The letters Kubernetes draws generated name suffixes from: no vowels (no accidental words), no 0/1/3.
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Randomness:
    """Everything random that may be replayed. Secrets (keys, tokens) never come from here."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = secrets.randbits(63) if seed is None else seed
        self._random = random.Random(self.seed)

    def suffix(self, length: int = 5) -> str:
        """A generateName suffix, e.g. `x7kqp`."""
        return "".join(self._random.choices(SUFFIX_LETTERS, k=length))

    def uid(self) -> str:
        """A version 4 UUID, as metadata.uid and Audit-Id carry it."""
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def fraction(self) -> float:
        """A number in [0, 1), for jitter."""
        return self._random.random()

    def derived(self, name: str) -> Randomness:
        """A source of its own for `name`: what others draw does not change what it gives."""
        digest = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
        return Randomness(int.from_bytes(digest[:8], "big"))
