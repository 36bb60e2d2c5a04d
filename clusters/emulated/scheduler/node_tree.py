"""The order in which nodes are tried: one zone after the other, so that a search that stops early saw all zones.

zones a: 1, 2, 3 and b: 4   →   1, 4, 2, 3
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def zone_of(node: Object) -> str:
    """Region and zone together; the old beta labels count when the new ones are missing. Empty: no zone."""
    labels = node["metadata"].get("labels") or {}
    zone = labels.get("topology.kubernetes.io/zone", labels.get("failure-domain.beta.kubernetes.io/zone", ""))
    region = labels.get("topology.kubernetes.io/region", labels.get("failure-domain.beta.kubernetes.io/region", ""))
    return f"{region}:\x00:{zone}" if region or zone else ""


class NodeTree:
    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}

    def add(self, node: Object) -> bool:
        """Whether the order changed: a new node, or one whose zone changed. A known node keeps its place."""
        name, zone = node["metadata"]["name"], zone_of(node)
        if self._zone_of.get(name) == zone:
            return False
        self.remove(name)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None
        return True

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name, None)
        if zone is None:
            return
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]

    def names(self) -> list[str]:
        if len(self._zones) == 1:
            return list(next(iter(self._zones.values())))
        rows = [list(names) for names in self._zones.values()]
        longest = max(map(len, rows), default=0)
        return [row[place] for place in range(longest) for row in rows if place < len(row)]
