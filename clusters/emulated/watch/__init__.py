"""Hop 8, its lower half: the watch cache of one resource on one api-server replica.

It knows keys, decoded objects and revisions. Selectors, bookmarks, encodings and HTTP are the api-server's.
"""

from clusters.emulated.watch.cache import WatchCache
from clusters.emulated.watch.errors import CacheNotReady, TooLargeResourceVersion, TooOld
from clusters.emulated.watch.events import ADDED, DELETED, MODIFIED, CacheEvent, EndReason, Listing, Page
from clusters.emulated.watch.fan_out import CacheSubscription

__all__ = [
    "ADDED",
    "DELETED",
    "MODIFIED",
    "CacheEvent",
    "CacheNotReady",
    "CacheSubscription",
    "EndReason",
    "Listing",
    "Page",
    "TooLargeResourceVersion",
    "TooOld",
    "WatchCache",
]
