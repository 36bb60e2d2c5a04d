"""Keeps a component from flooding the api-server with events, by client-go's three rules.

The same event again      the stored one is patched: count + 1
similar events            from the tenth different message within ten minutes on, one event takes them all:
                          "(combined from similar events): …"
one source, one object    25 events at once, then one every five minutes; the rest is dropped
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

Object = dict[str, Any]
V = TypeVar("V")

_ENTRIES_MAX: Final = 4096
_SIMILAR_MAX: Final = 10
_SIMILAR_S: Final = 600.0
_BURST: Final = 25
_REFILL_PER_S: Final = 1 / 300
COMBINED: Final = "(combined from similar events): "


@dataclass(frozen=True, slots=True)
class Correlated:
    """What to send: the event to create or, with `patch`, the change of a stored one of its name."""

    event: Object
    patch: Object | None


@dataclass(slots=True)
class _Similar:
    messages: dict[str, None] = field(default_factory=dict)
    last_s: float = float("-inf")


@dataclass(slots=True)
class _Observed:
    count: int
    first_timestamp: str
    name: str


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at_s: float


class _Recent(Generic[V]):
    """The entries used last; older ones are forgotten."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, ...], V] = OrderedDict()

    def get(self, key: tuple[str, ...]) -> V | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def set(self, key: tuple[str, ...], entry: V) -> None:
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > _ENTRIES_MAX:
            self._entries.popitem(last=False)


class EventCorrelator:
    def __init__(self) -> None:
        self._similar: _Recent[_Similar] = _Recent()
        self._observed: _Recent[_Observed] = _Recent()
        self._buckets: _Recent[_Bucket] = _Recent()

    def correlate(self, event: Object, now_s: float) -> Correlated | None:
        """What to send instead of this event, or None to drop it."""
        event, key = self._aggregate(event, now_s)
        correlated = self._count(event, key)
        return correlated if self._take_token(event, now_s) else None

    def stored(self, event: Object) -> None:
        """The api-server answered with this; the next one of its kind counts on from it."""
        self._observed.set(
            _event_key(event), _Observed(event.get("count", 1), event["firstTimestamp"], event["metadata"]["name"])
        )

    def _aggregate(self, event: Object, now_s: float) -> tuple[Object, tuple[str, ...]]:
        key = _aggregate_key(event)
        similar = self._similar.get(key)
        if similar is None or now_s - similar.last_s > _SIMILAR_S:
            similar = _Similar()
        similar.messages[event["message"]] = None
        similar.last_s = now_s
        self._similar.set(key, similar)
        if len(similar.messages) < _SIMILAR_MAX:
            return event, _event_key(event)
        # The set does not grow further, so that every other new message is combined as well.
        del similar.messages[next(iter(similar.messages))]
        combined = {name: value for name, value in event.items() if not name.startswith("reporting")}
        combined["message"] = COMBINED + event["message"]
        return combined, key

    def _count(self, event: Object, key: tuple[str, ...]) -> Correlated:
        last = self._observed.get(key)
        patch: Object | None = None
        if last is not None:
            metadata = {**event["metadata"], "name": last.name}
            count = last.count + 1
            event = {**event, "metadata": metadata, "firstTimestamp": last.first_timestamp, "count": count}
            patch = {"count": count, "lastTimestamp": event["lastTimestamp"], "message": event["message"]}
        self._observed.set(key, _Observed(event["count"], event["firstTimestamp"], event["metadata"]["name"]))
        return Correlated(event, patch)

    def _take_token(self, event: Object, now_s: float) -> bool:
        key = _spam_key(event)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = _Bucket(_BURST, now_s)
            self._buckets.set(key, bucket)
        bucket.tokens = min(_BURST, bucket.tokens + (now_s - bucket.filled_at_s) * _REFILL_PER_S)
        bucket.filled_at_s = now_s
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _source(event: Object) -> tuple[str, ...]:
    source = event["source"]
    return source["component"], source.get("host", "")


def _involved(event: Object) -> tuple[str, ...]:
    involved = event["involvedObject"]
    return tuple(str(involved.get(name, "")) for name in ("kind", "namespace", "name", "uid", "apiVersion"))


def _event_key(event: Object) -> tuple[str, ...]:
    path = str(event["involvedObject"].get("fieldPath", ""))
    return "event", *_source(event), *_involved(event), path, event["type"], event["reason"], event["message"]


def _aggregate_key(event: Object) -> tuple[str, ...]:
    reporting = (event.get("reportingComponent", ""), event.get("reportingInstance", ""))
    return "similar", *_source(event), *_involved(event), event["type"], event["reason"], *reporting


def _spam_key(event: Object) -> tuple[str, ...]:
    return *_source(event), *_involved(event), event["type"]
