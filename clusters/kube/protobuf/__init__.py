"""Protobuf of the built-in kinds: bytes to plain objects and back, by the numbers of the newest Kubernetes version.

    protobuf = Protobuf.newest()
    protobuf.encode({"apiVersion": "v1", "kind": "ConfigMap", …})   # b"k8s\\x00…"
    protobuf.decode(struct, unwrap(body).raw)                       # {"metadata": …}

Nothing here knows about HTTP, and custom resources have no protobuf.
"""

from clusters.kube.protobuf.codec import NotInProtobufError, Protobuf, watch_frame
from clusters.kube.protobuf.envelope import Envelope, unwrap, wrap
from clusters.kube.protobuf.wire import ProtobufError

__all__ = ["Envelope", "NotInProtobufError", "Protobuf", "ProtobufError", "unwrap", "watch_frame", "wrap"]
