"""Answers in protobuf: objects, lists and watch events, each encoded once per object and form.

Imported when the first client asks for protobuf.
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.http import frame_chunk
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.kube.protobuf import Protobuf, watch_frame, wrap

Object = dict[str, Any]


def enveloped(obj: Object) -> bytes:
    """An object that names its kind and apiVersion, e.g. a Status, a review, an object's metadata."""
    return Protobuf.newest().encode(obj)


def body(served: Served, stored: Stored) -> bytes:
    """One object in its envelope."""
    resource = served.resource
    return wrap(resource.group_version, resource.kind, _message(served, stored))


def list_body(served: Served, items: list[Stored], metadata: Object) -> bytes:
    """A list in its envelope, joined from the items' own messages."""
    resource = served.resource
    messages = [_message(served, each) for each in items]
    return Protobuf.newest().encode_list(resource.group_version, resource.list_kind, metadata, messages)


def event_chunk(kind: str, served: Served, stored: Stored) -> bytes:
    """A watch event about a stored object as an HTTP chunk, the same bytes for every watcher."""
    form = f"{kind}:protobuf/{served.resource.group_version}"
    return stored.cached(form) or stored.keep(form, frame_chunk(watch_frame(kind, body(served, stored))))


def object_chunk(kind: str, obj: Object) -> bytes:
    """A watch event about anything that names its kind: an error, a bookmark, an object's metadata."""
    return frame_chunk(watch_frame(kind, enveloped(obj)))


def _message(served: Served, stored: Stored) -> bytes:
    form = f"protobuf/{served.resource.group_version}"
    known = stored.cached(form)
    if known is not None:  # May be empty.
        return known
    struct = served.struct
    assert struct is not None, "custom resources have no protobuf"
    return stored.keep(form, Protobuf.newest().message(struct, served.to_version(stored.object)))
