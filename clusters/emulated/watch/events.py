"""What the cache hands out: events, lists, and the reasons why a subscription ended."""

from __future__ import annotations

from enum import Enum
from typing import Final, Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")

CacheEventKind = Literal["ADDED", "MODIFIED", "DELETED"]
ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"


class CacheEvent(NamedTuple, Generic[T]):
    """One change of one object.

    ADDED has no previous object. DELETED carries the last state as both `object` and `previous_object`; its
    new resourceVersion is `revision`, which the api-server writes into what it sends.
    """

    kind: CacheEventKind
    key: str
    object: T
    previous_object: T | None
    revision: int


class Listing(NamedTuple, Generic[T]):
    """Objects in key order and the revision at which they were all current together."""

    items: list[T]
    revision: int


class Page(NamedTuple, Generic[T]):
    """A part of a listing: `remaining` counts what follows, the last key is where to go on after."""

    keys: list[str]
    items: list[T]
    revision: int
    remaining: int


class EndReason(Enum):
    """Why the cache ended a subscription; the client's stream ends with it, and the client resumes or relists."""

    REINITIALISED = "the cache was initialised anew: what lies between is not known event by event"
    STOPPED = "the api-server shuts down"
    DELIVERY_FAILED = "the subscriber raised an error"
