"""Hop 7: the store. etcd v3's data model, built in (`EmbeddedStore`) or on a real etcd (`EtcdStore`).

What belongs here knows keys, bytes and revisions. What an object is, and who may write it, is decided above.
"""

from clusters.emulated.store.embedded import EmbeddedStore
from clusters.emulated.store.errors import (
    Compacted,
    CompareFailed,
    FutureRevision,
    KeyExists,
    StoreError,
)
from clusters.emulated.store.levers import Lever
from clusters.emulated.store.protocol import (
    DELETE,
    PUT,
    Compare,
    Delete,
    Event,
    Get,
    KeyValue,
    Put,
    RangeResult,
    Status,
    Store,
    SubscribableStore,
    Subscription,
    TxnResult,
    Watch,
    WatchBatch,
    prefix_end,
)

__all__ = [
    "DELETE",
    "PUT",
    "Compacted",
    "Compare",
    "CompareFailed",
    "Delete",
    "EmbeddedStore",
    "Event",
    "FutureRevision",
    "Get",
    "KeyExists",
    "KeyValue",
    "Lever",
    "Put",
    "RangeResult",
    "Status",
    "Store",
    "StoreError",
    "SubscribableStore",
    "Subscription",
    "TxnResult",
    "Watch",
    "WatchBatch",
    "prefix_end",
]
