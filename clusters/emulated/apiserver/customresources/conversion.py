"""Custom resources with several versions: what is stored is in one of them, requests come in any.

With the strategy None only the apiVersion changes; with Webhook a server outside is asked (`conversion_webhook`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from clusters.emulated.apiserver.registry.stored import Stored

if TYPE_CHECKING:
    from clusters.emulated.apiserver.customresources.conversion_webhook import ConversionWebhook

Object = dict[str, Any]


class Version(Protocol):
    """What of a CustomResource is needed to convert to it."""

    api_version: str

    def to_version(self, obj: Object) -> Object: ...

    def coerced(self, obj: Object) -> Object: ...


class RenamingConversion:
    """The strategy None. Reads are left as they are: whoever writes them out renames them."""

    calls_out = False

    def __init__(self, storage: Version, version: Version) -> None:
        self._storage = storage
        self._version = version

    async def load(self, stored: Stored) -> Stored:
        obj = self._version.to_version(stored.object)
        return stored if obj is stored.object else Stored.of(obj, stored.revision)

    async def for_reading(self, items: Sequence[Stored]) -> list[Stored]:
        return list(items)

    async def save(self, obj: Object) -> Object:
        return self._storage.to_version(obj)


class WebhookConversion:
    """The strategy Webhook: objects that are not in the wanted version are sent to the webhook together."""

    calls_out = True

    def __init__(self, storage: Version, version: Version, webhook: ConversionWebhook) -> None:
        self._storage = storage
        self._version = version
        self._webhook = webhook

    async def load(self, stored: Stored) -> Stored:
        return (await self.for_reading([stored]))[0]

    async def for_reading(self, items: Sequence[Stored]) -> list[Stored]:
        wanted = self._version.api_version
        others = [each.object for each in items if each.object.get("apiVersion") != wanted]
        if not others:
            return list(items)
        converted = iter(await self._webhook.convert(others, wanted))
        found = []
        for each in items:
            if each.object.get("apiVersion") == wanted:
                found.append(each)
            else:
                found.append(Stored.of(self._version.coerced(next(converted)), each.revision))
        return found

    async def save(self, obj: Object) -> Object:
        if obj.get("apiVersion") == self._storage.api_version:
            return obj
        plain = orjson.loads(orjson.dumps(obj))
        return self._storage.coerced((await self._webhook.convert([plain], self._storage.api_version))[0])
