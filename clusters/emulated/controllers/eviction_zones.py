"""How fast nodes of a zone may get the taint that evicts their Pods.

zone is Normal                   one node every 10 s
PartialDisruption (≥ 55 %, > 2)  one every 100 s in zones of more than 50 nodes, none in smaller ones
FullDisruption of one zone       one every 10 s
FullDisruption of all zones      none: probably the one who judges is cut off
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

INITIAL, NORMAL, PARTIAL, FULL = "Initial", "Normal", "PartialDisruption", "FullDisruption"
RATE, REDUCED_RATE = 0.1, 0.01
LARGE_ZONE = 50
UNHEALTHY_FRACTION = 0.55

Verdict = Literal["", "all disrupted", "some recovered"]


@dataclass(slots=True)
class Zone:
    state: str = INITIAL
    rate: float = RATE
    #: When the next taint may be set, at the present rate.
    free_s: float = 0.0
    names: dict[str, None] = field(default_factory=dict)


class EvictionZones:
    def __init__(self) -> None:
        self._zones: dict[str, Zone] = {}

    def know(self, zone: str) -> None:
        self._zones.setdefault(zone, Zone())

    def add(self, zone: str, node: str) -> None:
        self._zones.setdefault(zone, Zone()).names[node] = None

    def remove(self, zone: str, node: str) -> None:
        if zone in self._zones:
            self._zones[zone].names.pop(node, None)

    def waiting(self) -> list[str]:
        return [name for name, zone in self._zones.items() if zone.names and zone.rate]

    def next(self, name: str, now_s: float) -> tuple[str | None, float | None]:
        """The node whose turn it is, if any, and in how many seconds to ask again, if at all."""
        zone = self._zones.get(name)
        if zone is None or not zone.names or not zone.rate:
            return None, None
        if now_s < zone.free_s:
            return None, zone.free_s - now_s
        node = next(iter(zone.names))
        del zone.names[node]
        zone.free_s = now_s + 1 / zone.rate
        return node, (1 / zone.rate if zone.names else None)

    def judge(self, ready: dict[str, list[bool]], now_s: float) -> Verdict:
        """Takes the readiness of every zone's nodes; says what that means for the cluster as a whole."""
        for name in [name for name in self._zones if name not in ready]:
            del self._zones[name]
        states = {name: zone_state(each) for name, each in ready.items()}
        all_are = all(state == FULL for state in states.values())
        all_were = all(zone.state == FULL for zone in self._zones.values())
        if all_are and all_were:
            return ""
        for name, zone in self._zones.items():
            if all_are:
                self._set_rate(zone, 0.0, now_s)
            elif all_were or zone.state != states[name]:
                self._set_rate(zone, rate(states[name], len(ready[name])), now_s)
            zone.state = states[name]
        return "all disrupted" if all_are else "some recovered" if all_were else ""

    def _set_rate(self, zone: Zone, rate: float, now_s: float) -> None:
        if rate == zone.rate:
            return
        if rate and (not zone.rate or now_s < zone.free_s):
            zone.free_s = now_s + 1 / rate  # Who had to wait before waits again, at the new rate.
        zone.rate = rate


def zone_state(ready: list[bool]) -> str:
    healthy = sum(ready)
    unhealthy = len(ready) - healthy
    if not healthy and unhealthy:
        return FULL
    if unhealthy > 2 and unhealthy / len(ready) >= UNHEALTHY_FRACTION:
        return PARTIAL
    return NORMAL


def rate(state: str, nodes: int) -> float:
    """NoExecute taints per second that a zone in this state may get."""
    if state == PARTIAL:
        return REDUCED_RATE if nodes > LARGE_ZONE else 0.0
    return RATE
