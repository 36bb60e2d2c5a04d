"""How admission asks the api-server for an object in another version, and for one read anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.matching import Resource

Object = dict[str, Any]


class Convert(Protocol):
    """The object in the version `group/version`, with apiVersion and kind; never the same dict."""

    def __call__(self, obj: Object, group: str, version: str, kind: str) -> Object: ...


class Redecode(Protocol):
    """What somebody patched, decoded as the kind it now says it is (unknown fields fall away), defaulted
    and back in the storage version.

    Raises a StatusError or a ValueError whose text says what cannot be decoded."""

    def __call__(self, attributes: Attributes, obj: Object) -> Object: ...


def keep_version(obj: Object, group: str, version: str, kind: str) -> Object:
    """A `Convert` for objects whose shape is the same in all versions."""
    api_version = f"{group}/{version}" if group else version
    rest = {name: obj[name] for name in obj if name not in ("kind", "apiVersion")}
    return {"kind": kind, "apiVersion": api_version, **rest}


def keep_object(attributes: Attributes, obj: Object) -> Object:
    """A `Redecode` that trusts whoever patched."""
    return obj


class Versioned:
    """The request's objects in the versions that webhooks and policies asked for, converted once each."""

    __slots__ = ("_convert", "_new", "_old", "attributes")

    def __init__(self, attributes: Attributes, convert: Convert) -> None:
        self.attributes = attributes
        self._convert: Callable[[Object, str, str, str], Object] = convert
        self._new: dict[tuple[str, str, str], tuple[Object | None, Object | None]] = {}
        self._old: dict[tuple[str, str, str], Object | None] = {}

    def new(self, resource: Resource) -> Object | None:
        key = (resource.kind_group, resource.kind_version, resource.kind)
        current = self.attributes.object
        kept = self._new.get(key)
        if kept is None or kept[0] is not current:
            converted = None if current is None else self._convert(current, *key)
            kept = self._new[key] = (current, converted)
        return kept[1]

    def old(self, resource: Resource) -> Object | None:
        key = (resource.kind_group, resource.kind_version, resource.kind)
        if key not in self._old:
            old = self.attributes.old_object
            self._old[key] = None if old is None else self._convert(old, *key)
        return self._old[key]

    def forget_new(self) -> None:
        """After the object was changed in place."""
        self._new.clear()
