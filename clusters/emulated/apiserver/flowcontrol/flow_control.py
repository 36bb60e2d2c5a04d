"""The handler between impersonation and authorization: classify, seat or queue or reject, and say so in headers.

A watch holds its seat until its stream begins; other long-running requests (logs, exec, proxies) take none and get
no headers. A list costs a seat for every hundred objects of the resource, at most ten; everything else costs one.
The real server also charges writes for the watchers they wake, for some milliseconds after their answer; this one
does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.apiserver.flowcontrol.level import PriorityLevel, RejectionError
from clusters.emulated.apiserver.flowcontrol.matching import Matches, matcher
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.metrics.histogram import WAITS_S, Histogram
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.apiserver.request import Request
from clusters.emulated.clock import Clock
from clusters.emulated.store.levers import Lever

Object = dict[str, Any]

#: --max-requests-inflight (400) and --max-mutating-requests-inflight (200) together.
CONCURRENCY_LIMIT = 600
RETRY_AFTER_S = 1
_WAIT_SHARE = 4  # A request waits for a quarter of the time it has.
_OBJECTS_PER_SEAT, _LIST_SEATS_MAX = 100, 10
_KNOWN_FLOWS_MAX = 4096
_UNTRACKED_SUBRESOURCES = frozenset(("attach", "exec", "proxy", "log", "portforward"))
_SCHEMAS = "flowschemas.flowcontrol.apiserver.k8s.io"
_LEVELS = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"


@dataclass(slots=True, eq=False)
class Schema:
    """A FlowSchema, ready to match; it counts what became of its requests."""

    name: str
    level: PriorityLevel
    matches: Matches
    headers: tuple[tuple[str, str], tuple[str, str]]
    distinguisher: str = ""
    dispatched: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    #: How long requests waited in a queue, by whether they got a seat at last.
    waits_s: dict[bool, Histogram] = field(default_factory=dict)

    def note_wait(self, waited_s: float, *, seated: bool) -> None:
        self.waits_s.setdefault(seated, Histogram(WAITS_S)).observe(waited_s)


class FlowControl:
    """Follows the cluster's FlowSchemas and PriorityLevelConfigurations; `await flow_control(request)`."""

    def __init__(self, storages: dict[str, ResourceStorage], clock: Clock) -> None:
        self._storages = storages
        self._clock = clock
        self._schemas_cache = storages[_SCHEMAS].cache
        self._levels_cache = storages[_LEVELS].cache
        self._seen = (-1, -1)
        self._concurrency_limit = CONCURRENCY_LIMIT
        self._flows: dict[tuple[object, ...], Schema] = {}
        self._starving: dict[str, Lever] = {}
        self.levels: dict[str, PriorityLevel] = {}
        self.schemas: list[Schema] = []

    async def __call__(self, request: Request) -> HttpResponse | None:
        schemas, levels = self._schemas_cache, self._levels_cache
        seen = (schemas.changed_revision, levels.changed_revision)
        if seen != self._seen:
            self._configure()
            self._seen = seen
        info, user = request.info, request.user
        if info.subresource in _UNTRACKED_SUBRESOURCES or info.verb == "proxy":
            return None
        if info.is_resource:
            key: tuple[object, ...] = (
                user.name, user.groups, info.verb, info.resource, info.subresource, info.group, info.namespace,
            )  # fmt: skip
        else:
            key = (user.name, user.groups, info.verb, info.path)
        schema = self._flows.get(key)
        if schema is None:
            schema = self._classify(request, key)
        request.closing_headers = schema.headers
        level = schema.level
        if level.exempt:
            schema.dispatched += 1
            return None
        seats = 1 if info.verb != "list" else self._list_seats(request, level)
        if level.forced_limit is None and not level.waiting and level.executing + seats <= level.limit:
            level.executing += seats
        else:
            response = await self._seat(request, schema, seats)
            if response is not None:
                return response
        schema.dispatched += 1
        request.at_end.append(self._releaser(level, seats))
        return None

    async def _seat(self, request: Request, schema: Schema, seats: int) -> HttpResponse | None:
        """Room beyond the level's own, or a place in a queue, or 429."""
        level = schema.level
        limit = level.current_limit(self._limited)
        if not level.waiting and limit and level.executing + seats <= limit:
            level.executing += seats
            return None
        lever = self._starving.get(level.name)
        if lever is not None:
            lever.fired += 1
        began_s = self._clock.monotonic_s()
        left_s = request.deadline_s - began_s
        try:
            await level.wait(self._flow(request, schema), seats, left_s / _WAIT_SHARE)
        except RejectionError as rejection:
            reason = str(rejection)
            schema.rejected[reason] = schema.rejected.get(reason, 0) + 1
            schema.note_wait(self._clock.monotonic_s() - began_s, seated=False)
            return too_many_requests(request)
        except BaseException:
            level.dispatch(level.current_limit(self._limited))
            raise
        schema.note_wait(self._clock.monotonic_s() - began_s, seated=True)
        return None

    def _releaser(self, level: PriorityLevel, seats: int) -> Callable[[], None]:
        def release() -> None:
            level.executing -= seats
            if level.waiting:
                level.dispatch(level.current_limit(self._limited))

        return release

    def _list_seats(self, request: Request, level: PriorityLevel) -> int:
        storage = self._storages.get(request.info.group_resource)
        if storage is None or len(storage.cache) <= _OBJECTS_PER_SEAT or request.info.name:
            return 1
        count = len(storage.cache)
        wanted = request.parameter("limit")
        if wanted.isdecimal() and int(wanted):
            count = min(count, int(wanted))
        return min(-(-count // _OBJECTS_PER_SEAT), _LIST_SEATS_MAX, level.seats_max)

    @staticmethod
    def _flow(request: Request, schema: Schema) -> str:
        if schema.distinguisher == "ByUser":
            return f"{schema.name}/{request.user.name}"
        if schema.distinguisher == "ByNamespace":
            return f"{schema.name}/{request.info.namespace}"
        return schema.name

    def _classify(self, request: Request, key: tuple[object, ...]) -> Schema:
        found = next(each for each in self.schemas if each.matches(request.user, request.info))
        if len(self._flows) >= _KNOWN_FLOWS_MAX:
            self._flows.clear()
        self._flows[key] = found
        return found

    # Configuration

    @property
    def _limited(self) -> list[PriorityLevel]:
        return list(self.levels.values())

    def _configure(self) -> None:
        """Reads the objects anew; levels that stay keep their seats and queues' waiters their turn."""
        self._flows.clear()
        old = self.levels
        levels: dict[str, PriorityLevel] = {}
        for stored in self._levels_cache.list(self._storages[_LEVELS].prefix).items:
            level = PriorityLevel.of(stored.object, self._clock)
            known = old.get(level.name)
            if known is not None:
                level = _updated(known, level)
            levels[level.name] = level
        for name in ("exempt", "catch-all"):  # Always there, also before their objects are.
            if name not in levels:
                levels[name] = PriorityLevel(name, "", self._clock, exempt=name == "exempt", shares=5)
        self.levels = levels
        self._share_out()
        counts = {each.name: each for each in self.schemas}
        schemas = [
            _schema(stored.object, levels, counts)
            for stored in sorted(
                self._schemas_cache.list(self._storages[_SCHEMAS].prefix).items, key=lambda each: _order(each.object)
            )
            if _level_name(stored.object) in levels
        ]
        masters = Schema("exempt", levels["exempt"], lambda user, _: "system:masters" in user.groups, _headers("", ""))
        everyone = Schema("catch-all", levels["catch-all"], lambda user, info: True, _headers("", ""))
        self.schemas = [*schemas, masters, everyone]

    def _share_out(self) -> None:
        """Seats in proportion to the shares, rounded up; what may be lent, to the nearest, a half up."""
        shares = sum(level.shares for level in self.levels.values()) or 1
        for level in self.levels.values():
            level.limit = math.ceil(self._concurrency_limit * level.shares / shares)
            level.lendable = math.floor(level.limit * level.lendable_percent / 100 + 0.5)
            if level.waiting:
                level.dispatch(level.current_limit(self._limited))

    # Levers

    def starve(self, level: str) -> Lever:
        """This priority level has no seats: its requests wait in queues and are rejected, 429."""

        def pull(lever: Lever) -> None:
            self._refresh()
            self.levels[level].forced_limit = 0
            self._starving[level] = lever

        def release(lever: Lever) -> None:
            self._starving.pop(level, None)
            found = self.levels.get(level)
            if found is not None:
                found.forced_limit = None
                found.dispatch(found.current_limit(self._limited))

        return Lever("flowcontrol.starve", pull, release)

    def limit_in_flight(self, requests: int) -> Lever:
        """The whole server has so many seats, as if its in-flight flags said so."""

        def pull(lever: Lever) -> None:
            self._refresh()
            self._concurrency_limit = requests
            self._share_out()
            for name in self.levels:
                self._starving.setdefault(name, lever)

        def release(lever: Lever) -> None:
            self._concurrency_limit = CONCURRENCY_LIMIT
            self._starving = {name: each for name, each in self._starving.items() if each is not lever}
            self._share_out()

        return Lever("flowcontrol.limit_in_flight", pull, release)

    def _refresh(self) -> None:
        self._configure()
        self._seen = (self._schemas_cache.changed_revision, self._levels_cache.changed_revision)


def too_many_requests(request: Request) -> HttpResponse:
    headers = [
        *request.response_headers,
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Retry-After", str(RETRY_AFTER_S)),
        ("X-Content-Type-Options", "nosniff"),
    ]
    return HttpResponse(429, headers, b"Too many requests, please try again later.\n")


def _updated(known: PriorityLevel, new: PriorityLevel) -> PriorityLevel:
    """The level as configured now; if its queues are the same, those who wait in them stay."""
    shape = (new.queues_count, new.hand_size, new.queue_length_max, new.exempt)
    if shape == (known.queues_count, known.hand_size, known.queue_length_max, known.exempt):
        known.uid, known.shares = new.uid, new.shares
        known.lendable_percent, known.borrowing_percent = new.lendable_percent, new.borrowing_percent
        return known
    new.take_over(known)
    return new


def _level_name(schema: Object) -> str:
    name: str = ((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name", "")
    return name


def _order(schema: Object) -> tuple[int, str]:
    return (schema.get("spec") or {}).get("matchingPrecedence", 1000), schema["metadata"]["name"]


def _schema(obj: Object, levels: dict[str, PriorityLevel], counts: dict[str, Schema]) -> Schema:
    level = levels[_level_name(obj)]
    metadata = obj["metadata"]
    distinguisher = ((obj.get("spec") or {}).get("distinguisherMethod") or {}).get("type", "")
    headers = _headers(metadata.get("uid", ""), level.uid)
    schema = Schema(metadata["name"], level, matcher(obj), headers, distinguisher)
    known = counts.get(schema.name)
    if known is not None:
        schema.dispatched, schema.rejected, schema.waits_s = known.dispatched, known.rejected, known.waits_s
    return schema


def _headers(schema_uid: str, level_uid: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (
        ("X-Kubernetes-Pf-Flowschema-Uid", schema_uid),
        ("X-Kubernetes-Pf-Prioritylevel-Uid", level_uid),
    )
