"""All objects of one resource: reads through this replica's watch cache, writes to the store.

Which read may be stale is decided here and nowhere else:

    resourceVersion unset   current: the store's revision is asked first, the cache must have reached it
    resourceVersion=0       whatever the cache has
    resourceVersion=X       not older than X: wait up to 3 s for the cache, then 504
    Exact, or a continue    the state at that revision, while cache or store still have it, else 410
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from clusters.emulated.apiserver.options import ListOptions
from clusters.emulated.apiserver.registry.stored import Stored, storage_form
from clusters.emulated.store import errors as store_errors
from clusters.emulated.store.protocol import Store
from clusters.emulated.watch.cache import WatchCache
from clusters.emulated.watch.errors import TooLargeResourceVersion, TooOld
from clusters.kube import errors, gojson
from clusters.kube.gostring import quote

Object = dict[str, Any]
Matches = Callable[[Object], bool]
Items = list[Stored]

FRESH_TIMEOUT_S = 3.0
_CONTINUE_VERSION = "meta.k8s.io/v1"
_EXPIRED_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)
_EXPIRED_LIST = "The resourceVersion for the provided list is too old."


@dataclass(slots=True)
class Page:
    """What a LIST found: the objects, the revision they are current at, and how to go on."""

    items: list[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


class ExpiredContinue(errors.StatusError):
    """410 on a continue token; the body carries a token that goes on inconsistently."""

    def __init__(self, token: str) -> None:
        super().__init__(410, "Expired", _EXPIRED_CONTINUE)
        self.token = token

    def status(self) -> errors.Status:
        status = super().status()
        status["metadata"] = {"continue": self.token}
        return status


class NotInitialised(errors.StatusError):
    """429 while this replica's cache is being (re)built."""

    def __init__(self) -> None:
        super().__init__(
            429, "TooManyRequests", "storage is (re)initializing", {"retryAfterSeconds": 1}, retry_after_s=1
        )


class ResourceStorage:
    def __init__(self, store: Store, cache: WatchCache[Stored], prefix: str) -> None:
        self.store = store
        self.cache = cache
        self.prefix = prefix

    def key(self, namespace: str, name: str) -> str:
        return f"{self.prefix}{namespace}/{name}" if namespace else self.prefix + name

    # Reads

    async def current(self, key: str) -> Stored | None:
        """The object as it is now, or None."""
        kv = await self.store.get(key)
        if kv is None:
            return None
        cached = self.cache.get(key)
        if cached is not None and cached.revision == kv.mod_revision:
            return cached
        return Stored.from_key_value(kv)

    async def get(self, key: str, resource_version: str) -> Stored | None:
        if not resource_version:
            return await self.current(key)
        revision = parse_revision(resource_version)
        self._check_ready()
        if revision:
            await self._reach(revision)
        return self.cache.get(key)

    async def list(self, prefix: str, options: ListOptions, matches: Matches | None) -> Page:
        if options.continue_token:
            return await self._continue(prefix, options, matches)
        if options.resource_version_match == "Exact":
            revision = parse_revision(options.resource_version, listing=True)
            return await self._exact(prefix, revision, "", options, matches)
        if options.resource_version:
            revision = parse_revision(options.resource_version, listing=True)
            self._check_ready()
            if revision:
                await self._reach(revision)
            elif not options.limit:
                items, at = self.cache.list(prefix)
                return Page([each for each in items if matches(each.object)] if matches else items, at)
        else:
            revision = await self.store.current_revision()
            if not await self._try_to_reach(revision):
                return await self._exact(prefix, revision, "", options, matches)
        items, at = self.cache.list(prefix)
        return self._page(prefix, items, at, options, matches)

    async def _continue(self, prefix: str, options: ListOptions, matches: Matches | None) -> Page:
        revision, start = decode_continue(options.continue_token)
        if options.resource_version and options.resource_version != "0":
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        if revision < 0:  # A token of a 410: go on from there with what is there now.
            revision = await self.store.current_revision()
        return await self._exact(prefix, revision, prefix + start.lstrip("/"), options, matches)

    async def _exact(
        self, prefix: str, revision: int, start: str, options: ListOptions, matches: Matches | None
    ) -> Page:
        snapshot = self._cached_at(prefix, revision)
        if snapshot is None:
            try:
                result = await self.store.range(prefix, prefix=True, revision=revision)
            except store_errors.Compacted:
                if start:
                    token = encode_continue(-1, start.removeprefix(prefix))
                    raise ExpiredContinue(token) from None
                raise errors.expired(_EXPIRED_LIST) from None
            except store_errors.FutureRevision:
                current = await self.store.current_revision()
                raise too_large_version(revision, current, retry_after_s=0) from None
            snapshot = [Stored.from_key_value(kv) for kv in result.kvs]
        if start:
            snapshot = [each for each in snapshot if self._key_of(each) >= start]
        return self._page(prefix, snapshot, revision, options, matches)

    def _cached_at(self, prefix: str, revision: int) -> Items | None:
        """The cache's memory of that revision, or None where only the store can tell."""
        if not self.cache.ready:
            return None
        try:
            return self.cache.list_at(prefix, revision).items
        except (TooOld, TooLargeResourceVersion):
            return None

    def _page(self, prefix: str, items: Items, revision: int, options: ListOptions, matches: Matches | None) -> Page:
        limit = options.limit
        if matches is not None:
            items = [each for each in items if matches(each.object)]
        if limit <= 0 or len(items) <= limit:
            return Page(items, revision)
        page = items[:limit]
        # With the slash, as the watch cache's pages have it (those of an etcd without progress requests do not).
        last = self._key_of(page[-1]).removeprefix(prefix.rstrip("/"))
        remaining = len(items) - limit if matches is None else None
        return Page(page, revision, encode_continue(revision, last + "\0"), remaining)

    def _key_of(self, stored: Stored) -> str:
        metadata = stored.object["metadata"]
        return self.key(metadata.get("namespace", ""), metadata["name"])

    async def _reach(self, revision: int) -> None:
        try:
            await self.cache.wait_until_fresh(revision, FRESH_TIMEOUT_S)
        except TooLargeResourceVersion as behind:
            raise too_large_version(behind.requested, behind.current) from None

    async def _try_to_reach(self, revision: int) -> bool:
        if not self.cache.ready:
            return False
        try:
            await self.cache.wait_until_fresh(revision, FRESH_TIMEOUT_S)
        except TooLargeResourceVersion:
            return False  # A frozen cache: a consistent read goes to the store instead.
        return True

    def _check_ready(self) -> None:
        if not self.cache.ready:
            raise NotInitialised

    # Writes

    async def create(self, key: str, obj: Object, lease: int = 0) -> Stored:
        value = storage_form(obj)
        revision = await self.store.create(key, value, lease)
        return self._written(key, value, revision)

    async def update(self, key: str, obj: Object, expected_revision: int, lease: int = 0) -> Stored:
        value = storage_form(obj)
        revision = await self.store.update(key, value, expected_revision, lease)
        return self._written(key, value, revision)

    async def delete(self, key: str, stored: Stored) -> int:
        return await self.store.delete(key, stored.revision)

    def _written(self, key: str, value: bytes, revision: int) -> Stored:
        cached = self.cache.get(key)
        if cached is not None and cached.revision == revision:
            return cached
        return Stored(value, revision)


def parse_revision(text: str, *, listing: bool = False) -> int:
    """A resourceVersion parameter as a number. A bad one is a 400 on LIST and a plain 500 elsewhere."""
    if text.isascii() and text.isdigit() and int(text) < 2**64:
        return int(text)
    problem = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
    detail = f"strconv.ParseUint: parsing {quote(text)}: {problem}"
    message = f"resourceVersion: Invalid value: {quote(text)}: {detail}"
    if listing:
        raise errors.bad_request(f"invalid resource version: {message}")
    raise errors.unknown(message)


def too_large_version(requested: int, current: int, retry_after_s: int = 1) -> errors.StatusError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    return errors.StatusError(504, "Timeout", message, {"causes": [cause]}, retry_after_s=retry_after_s)


def encode_continue(revision: int, start: str) -> str:
    token = orjson.dumps({"v": _CONTINUE_VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def decode_continue(token: str) -> tuple[int, str]:
    """(revision, start key below the list's prefix)."""
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _bad_continue("illegal base64 data at input byte 0") from None
    try:
        parsed = gojson.loads(data)
    except gojson.JsonError as error:
        raise _bad_continue(str(error)) from None
    if not isinstance(parsed, dict):
        raise _bad_continue("json: cannot unmarshal into Go value of type storage.continueToken")
    version, revision, start = parsed.get("v"), parsed.get("rv"), parsed.get("start")
    if version != _CONTINUE_VERSION:
        raise _bad_continue(f"server does not recognize this encoded version {version or ''}")
    if not isinstance(revision, int) or not revision:
        raise _bad_continue(f"incorrect encoded start resourceVersion (version {_CONTINUE_VERSION})")
    if not isinstance(start, str) or not start:
        raise _bad_continue(f"encoded start key empty (version {_CONTINUE_VERSION})")
    if ".." in start.split("/"):
        raise _bad_continue(start)
    return revision, start


def _bad_continue(why: str) -> errors.StatusError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {why}")
