"""One stored object as the api-server holds it in memory: decoded once, encoded at most once per form."""

from __future__ import annotations

from typing import Any

import orjson

from clusters.emulated.store.protocol import KeyValue

Object = dict[str, Any]


class Stored:
    """An object at a revision. `object` is shared by everyone who reads it and must not be changed."""

    __slots__ = ("_encoded", "_object", "_value", "revision")

    def __init__(self, value: bytes, revision: int) -> None:
        self.revision = revision
        self._value: bytes | None = value
        self._object: Object | None = None
        self._encoded: dict[str, bytes] | None = None

    @staticmethod
    def from_key_value(kv: KeyValue) -> Stored:
        return Stored(kv.value, kv.mod_revision)

    @staticmethod
    def of(obj: Object, revision: int) -> Stored:
        """An object that is not (or not yet) in the store, e.g. the outcome of a dry run."""
        stored = Stored(b"", revision)
        stored._object = obj
        stored._value = None
        return stored

    @property
    def object(self) -> Object:
        """Decoded when first asked for: a cluster starts with many objects nobody will look at."""
        obj = self._object
        if obj is None:
            obj = orjson.loads(self._value or b"")
            obj["metadata"]["resourceVersion"] = str(self.revision)
            self._object = obj
            self._value = None
        return obj

    def mentions(self, text: bytes) -> bool:
        """False only if the object certainly does not hold this text: asked before decoding many for a few."""
        return self._value is None or text in self._value

    def cached(self, form: str) -> bytes | None:
        return None if self._encoded is None else self._encoded.get(form)

    def keep(self, form: str, encoded: bytes) -> bytes:
        if self._encoded is None:
            self._encoded = {}
        self._encoded[form] = encoded
        return encoded


def storage_form(obj: Object) -> bytes:
    """What is written to the store: everything but the resourceVersion, which the store's revision is.

    An empty resourceVersion keeps its place, so that reading puts the number where Kubernetes shows it.
    """
    metadata = obj["metadata"]
    ordered = {}
    for name in ("name", "generateName", "namespace", "selfLink", "uid"):
        if name in metadata:
            ordered[name] = metadata[name]
    ordered["resourceVersion"] = ""
    for name, value in metadata.items():
        if name not in ordered:
            ordered[name] = value
    return orjson.dumps({**obj, "metadata": ordered})
