"""Request bodies in protobuf, read into the document that their JSON would be.

Imported when the first client sends one.
"""

from __future__ import annotations

from typing import Any

from clusters.kube.protobuf import Envelope, Protobuf, ProtobufError, unwrap
from clusters.kube.schema import Struct

__all__ = ["ProtobufError", "claimed", "document", "unwrap"]

Object = dict[str, Any]


def claimed(envelope: Envelope) -> Object:
    """The kind and apiVersion the body says it has; Go takes a version that it cannot parse for none."""
    api_version = envelope.api_version if envelope.api_version.count("/") < 2 else ""
    return {"apiVersion": api_version, "kind": envelope.kind}


def document(envelope: Envelope, struct: Struct) -> Object:
    """What the JSON of the enveloped object would be; raises ProtobufError."""
    return {**claimed(envelope), **Protobuf.newest().decode(struct, envelope.raw)}
