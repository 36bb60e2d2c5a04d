"""WATCH: the cache's events of one selection as a stream of JSON lines, or of protobuf frames.

Never dropped, reordered, merged or repeated within one watch. A client that must miss something is cut off,
or told with an ERROR event (410) that it has to list again.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse, StreamWriter, frame_chunk
from clusters.emulated.apiserver.media.negotiation import MediaType, no_such_stream
from clusters.emulated.apiserver.options import ListOptions
from clusters.emulated.apiserver.registry.served import Conversion, Served
from clusters.emulated.apiserver.registry.storage import (
    NotInitialised,
    ResourceStorage,
    parse_revision,
    too_large_version,
)
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.selection import Selection
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.tables import table
from clusters.emulated.apiserver.verbs.read import partial
from clusters.emulated.store import errors as store_errors
from clusters.emulated.watch.errors import CacheNotReady, TooLargeResourceVersion, TooOld
from clusters.emulated.watch.events import CacheEvent, EndReason
from clusters.emulated.watch.fan_out import CacheSubscription
from clusters.kube import errors
from clusters.kube.schema import shape

Object = dict[str, Any]

TIMEOUT_MIN_S = 1800.0  # A watch without timeoutSeconds lives between one and two of these.
BOOKMARK_EVERY_S = 60.0
CONVERSION_RETRY_S = 1.0
BOOKMARK_BEFORE_END_S = 2.0
#: A client that leaves more than this unread is cut: it reconnects and resumes, or lists again.
UNREAD_BYTES_MAX = 8 * 1024 * 1024
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def watch(request: Request, served: Served, services: Services, options: ListOptions, media: MediaType) -> HttpResponse:
    if media.yaml:
        raise no_such_stream()
    selection = Selection.of(served, options)
    if request.info.name:
        selection = selection.named(request.info.name)
    if options.resource_version:
        parse_revision(options.resource_version)
    storage = services.storage(served)
    if not storage.cache.ready:
        raise NotInitialised
    timeout_s = float(options.timeout_s or 0)
    if timeout_s <= 0:
        timeout_s = TIMEOUT_MIN_S * (1 + services.randomness.fraction())
    converted = served.conversion is not None and served.conversion.calls_out
    stream = (_ConvertedStream if converted else _Stream)(
        request, served, services, storage, options, selection, media, timeout_s
    )
    content_type = f"{respond.PROTOBUF};stream=watch" if media.protobuf else "application/json"
    headers = [*request.response_headers, ("Content-Type", content_type)]
    return HttpResponse(200, headers, stream=stream.run)


class _Stream:
    """One watch from its first byte to its last."""

    def __init__(
        self,
        request: Request,
        served: Served,
        services: Services,
        storage: ResourceStorage,
        options: ListOptions,
        selection: Selection,
        media: MediaType,
        timeout_s: float,
    ) -> None:
        self.request = request
        self.served = served
        self.services = services
        self.storage = storage
        self.options = options
        self.matches = selection.matches
        self.media = media
        self.timeout_s = timeout_s
        namespace = request.info.namespace or selection.namespace or ""
        self.prefix = storage.prefix + (f"{namespace}/" if namespace and served.resource.namespaced else "")
        if selection.name is not None and (namespace or not served.resource.namespaced):
            self.prefix += selection.name
        self.plain = not media.as_kind and not media.protobuf
        self.sent_columns = False
        self.sent_revision = 0
        self.subscription: CacheSubscription[Stored] | None = None

    async def run(self, writer: StreamWriter) -> None:
        self.writer = writer
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        writer.on_close(self.finish)
        timers = [self.services.clock.call_later(self.timeout_s, self.finish)]
        try:
            await self._begin()
            if self.options.allow_bookmarks:
                timers.append(self._bookmark_later(BOOKMARK_EVERY_S))
                if self.timeout_s > BOOKMARK_BEFORE_END_S:
                    before_end_s = self.timeout_s - BOOKMARK_BEFORE_END_S
                    timers.append(self.services.clock.call_later(before_end_s, self._bookmark))
            await self.done
        except errors.StatusError as failure:
            self._send_error(failure)
        except store_errors.StoreError as failure:
            self._send_error(errors.internal(str(failure)))
        finally:
            for timer in timers:
                timer.cancel()
            if self.subscription is not None:
                self.subscription.cancel()

    def finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    async def _begin(self) -> None:
        options, cache = self.options, self.storage.cache
        wanted = int(options.resource_version or 0)
        if options.send_initial_events:
            if not options.resource_version:
                wanted = await self.storage.store.current_revision()
            if wanted:
                await self._reach(wanted)
            self._send_initial()
            return
        if not wanted:  # sendInitialEvents=false without a version: only what comes from now on.
            wanted = await self.storage.store.current_revision()
        self.sent_revision = wanted
        self._subscribe(wanted)
        if cache.revision < wanted:
            return  # A version from the future: silent until it comes.

    async def _reach(self, revision: int) -> None:
        try:
            await self.storage.cache.wait_until_fresh(revision)
        except TooLargeResourceVersion as behind:
            raise too_large_version(behind.requested, behind.current) from None

    def _send_initial(self) -> None:
        cache = self.storage.cache
        if self.prefix.endswith("/"):
            items, revision = cache.list(self.prefix)
        else:
            found = cache.get(self.prefix)
            items, revision = [found] if found is not None else [], cache.revision
        matches = self.matches
        for stored in items:
            if matches is None or matches(stored.object):
                self._send("ADDED", stored)
        self.sent_revision = revision
        if self.options.allow_bookmarks:
            self._bookmark(initial_end=True)
        self._subscribe(revision)

    def _subscribe(self, revision: int) -> None:
        try:
            self.subscription = self.storage.cache.subscribe(self.prefix, revision, self._deliver, self._ended)
        except TooOld as old:
            raise errors.expired(f"too old resource version: {old.requested} ({old.oldest})") from None
        except CacheNotReady:
            raise NotInitialised from None

    def _ended(self, reason: EndReason) -> None:
        self.finish()

    def _deliver(self, event: CacheEvent[Stored]) -> None:
        """Translates a change of an object into a change of the selection."""
        kind, _, stored, previous, revision = event
        matches = self.matches
        if matches is not None:
            before = previous is not None and matches(previous.object)
            after = kind != "DELETED" and matches(stored.object)
            if not before and not after:
                return
            if before and not after:
                kind = "DELETED"
                stored = previous if previous is not None else stored
            else:
                kind = "MODIFIED" if before else "ADDED"
        self.sent_revision = revision
        if kind == "DELETED":
            self._send(kind, _at_revision(stored, revision))
        else:
            self._send(kind, stored)
        if self.writer.buffered_bytes > UNREAD_BYTES_MAX:
            self.writer.abort()
            self.finish()

    def _send(self, kind: str, stored: Stored) -> None:
        if self.plain:
            form = f"{kind}:{self.served.resource.group_version}"
            framed = stored.cached(form)
            if framed is None:
                framed = stored.keep(form, _framed(kind, self.served.body(stored)))
            self.writer.write_framed(framed)
        elif self.media.as_kind:
            self._send_object(kind, self._transformed(stored))
        else:
            from clusters.emulated.apiserver.media import protobuf_answer  # Only protobuf clients pay for it.

            self.writer.write_framed(protobuf_answer.event_chunk(kind, self.served, stored))

    def _send_object(self, kind: str, obj: Object) -> None:
        """An event that no other watcher gets in the same bytes."""
        if self.media.protobuf:
            from clusters.emulated.apiserver.media import protobuf_answer

            self.writer.write_framed(protobuf_answer.object_chunk(kind, obj))
        else:
            self.writer.write_framed(_framed(kind, orjson.dumps(obj)))

    def _transformed(self, stored: Stored) -> Object:
        if self.media.as_kind == "PartialObjectMetadata":
            return partial(stored.object, self.media.as_version)
        metadata = {"resourceVersion": stored.object["metadata"]["resourceVersion"]}
        shown = table(self.served, [stored], metadata, self.request.query, self.services.clock, self.media.as_version)
        if self.sent_columns:
            shown["columnDefinitions"] = None  # The first event has told them.
        self.sent_columns = True
        return shown

    def _send_error(self, failure: errors.StatusError) -> None:
        if not self.writer.closed:
            self._send_object("ERROR", failure.status())

    def _bookmark_later(self, delay_s: float) -> Any:
        def again() -> None:
            if not self.done.done():
                self._bookmark()
                self._bookmark_later(BOOKMARK_EVERY_S)

        return self.services.clock.call_later(delay_s, again)

    def _bookmark(self, *, initial_end: bool = False) -> None:
        if self.done.done():
            return
        self.sent_revision = max(self.sent_revision, self.storage.cache.revision)
        metadata: Object = {"resourceVersion": str(self.sent_revision)}
        if initial_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        self._send_object("BOOKMARK", self._bookmark_object(metadata))

    def _bookmark_object(self, metadata: Object) -> Object:
        resource = self.served.resource
        if self.media.as_kind == "PartialObjectMetadata":
            return partial({"metadata": metadata}, self.media.as_version)
        if self.media.as_kind == "Table":
            kind = {"kind": "Table", "apiVersion": f"meta.k8s.io/{self.media.as_version}"}
            return {**kind, "metadata": metadata, "columnDefinitions": None, "rows": None}
        obj = {"kind": resource.kind, "apiVersion": resource.group_version, "metadata": metadata}
        if self.served.struct is not None:
            return shape(self.served.struct, obj)
        return {**dict(sorted(obj.items())), "metadata": dict(sorted(metadata.items()))}


class _ConvertedStream(_Stream):
    """A watch whose objects somebody outside has to convert: one after the other, in order."""

    async def run(self, writer: StreamWriter) -> None:
        self.unsent: asyncio.Queue[tuple[str, Stored | Object]] = asyncio.Queue()
        task = asyncio.get_running_loop().create_task(self._send_converted(), name="converted watch")
        try:
            await super().run(writer)
        finally:
            task.cancel()

    def _send(self, kind: str, stored: Stored) -> None:
        self.unsent.put_nowait((kind, stored))

    def _send_object(self, kind: str, obj: Object) -> None:
        if kind == "BOOKMARK":  # Not before what it says has been sent.
            self.unsent.put_nowait((kind, obj))
        else:
            super()._send_object(kind, obj)

    async def _send_converted(self) -> None:
        conversion = self.served.conversion
        assert conversion is not None
        while True:
            kind, found = await self.unsent.get()
            if not isinstance(found, Stored):
                super()._send_object(kind, found)
                continue
            super()._send(kind, await self._converted(conversion, found))

    async def _converted(self, conversion: Conversion, found: Stored) -> Stored:
        """While nobody converts it the watch is silent, as one on a cache that cannot be filled."""
        while True:
            try:
                return (await conversion.for_reading([found]))[0]
            except errors.StatusError:
                await self.services.clock.sleep(CONVERSION_RETRY_S)


def _framed(kind: str, body: bytes) -> bytes:
    return frame_chunk(b'{"type":"%s","object":%s}\n' % (kind.encode(), body))


def _at_revision(stored: Stored, revision: int) -> Stored:
    """The last state of a deleted object carries the revision of its deletion."""
    obj = stored.object
    return Stored.of({**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}, revision)
