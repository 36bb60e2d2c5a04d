"""Objects to and from protobuf, and the frames of a watch in protobuf."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from clusters.kube.protobuf.decode import decode_message
from clusters.kube.protobuf.encode import encode_message
from clusters.kube.protobuf.envelope import wrap
from clusters.kube.protobuf.messages import Messages
from clusters.kube.protobuf.wire import delimited, varint
from clusters.kube.schema import Struct

Object = dict[str, Any]
# Numbers are only ever added, so those of the newest version are right for all of them.
_NEWEST = "1.36"


class NotInProtobufError(LookupError):
    """The kind has no protobuf form (a Table, a custom resource): answer in JSON."""


class Protobuf:
    """Get it by `Protobuf.newest()`: data is read once per process, codecs are compiled when first needed."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    @staticmethod
    @lru_cache(maxsize=1)
    def newest() -> Protobuf:
        return Protobuf(Messages.of(_NEWEST))

    def decode(self, struct: Struct, data: bytes) -> Object:
        """The message in `data` as JSON would show it, without kind and apiVersion; raises ProtobufError."""
        return decode_message(self._messages, struct, data)

    def message(self, struct: Struct, obj: Object) -> bytes:
        """The bare message of an object, e.g. to be an item of a list."""
        return encode_message(self._messages, struct, obj)

    def encode(self, obj: Object) -> bytes:
        """The object in its envelope, by its own kind and apiVersion."""
        api_version, kind = obj.get("apiVersion") or "", obj["kind"]
        return wrap(api_version, kind, encode_message(self._messages, self._struct(api_version, kind), obj))

    def encode_list(self, api_version: str, kind: str, metadata: Object, items: list[bytes]) -> bytes:
        """A list of items that are messages already."""
        head = encode_message(self._messages, self._struct(api_version, kind), {"metadata": metadata})
        parts = [head]
        for item in items:
            parts += (b"\x12", varint(len(item)), item)
        return wrap(api_version, kind, b"".join(parts))

    def _struct(self, api_version: str, kind: str) -> Struct:
        group, _, version = api_version.rpartition("/")
        # Discovery documents name no version of their own.
        struct = self._messages.kind(group, version or "v1", kind)
        if struct is None:
            raise NotInProtobufError(f"{kind} of {api_version} has no protobuf form")
        return struct


def watch_frame(kind: str, enveloped: bytes) -> bytes:
    """One event of a watch: four bytes of length, then `WatchEvent{type = 1, object = 2 {raw = 1}}`, bare."""
    event = delimited(1, kind.encode()) + delimited(2, delimited(1, enveloped))
    return len(event).to_bytes(4, "big") + event
