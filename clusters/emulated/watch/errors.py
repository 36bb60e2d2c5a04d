"""Why the cache cannot answer; each says what the api-server makes of it."""

from __future__ import annotations


class TooOld(Exception):
    """The window no longer reaches back so far: 410 Expired with this text. The client must list again."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {requested} ({oldest})")
        self.requested = requested
        self.oldest = oldest


class TooLargeResourceVersion(Exception):
    """This replica is behind what was asked for: 504, cause ResourceVersionTooLarge, retry after 1 s."""

    def __init__(self, requested: int, current: int) -> None:
        super().__init__(f"Too large resource version: {requested}, current: {current}")
        self.requested = requested
        self.current = current


class CacheNotReady(Exception):
    """The cache is not initialised: 429 with Retry-After, or go to the store instead."""

    def __init__(self, prefix: str) -> None:
        super().__init__("storage is (re)initializing")
        self.prefix = prefix
