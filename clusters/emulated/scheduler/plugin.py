"""The contract of a plugin: override what it has to say, leave out the rest.

A plugin that has nothing to do with a Pod answers SKIP in `pre_filter` and is not asked about nodes:

    class NodeName(Plugin):
        name = "NodeName"
        def filter(self, data, pod, node):
            return None if not pod.node_name or pod.node_name == node.name else _REFUSED
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from clusters.emulated.scheduler.cluster_events import Registration
from clusters.emulated.scheduler.fit_error import Diagnosis
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import Status

MAX_SCORE = 100


class Cycle:
    """One attempt for one Pod: what the plugins worked out in `pre_filter`, by plugin name."""

    __slots__ = ("data", "filters", "skipped")

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.skipped: set[str] = set()
        self.filters: list[tuple[Plugin, Any]] = []


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """`nominated_node` None leaves the Pod's nomination alone; "" clears it. `status` None is success."""

    status: Status | None
    nominated_node: str | None = None


class Plugin:
    """Raise `fit_error.PluginError` when a question cannot be answered; it counts as an error of the attempt."""

    name: ClassVar[str]
    registrations: Sequence[Registration] = ()
    #: Its filter needs nothing that may be missing: it names itself in what it answers and never raises.
    infallible: ClassVar[bool] = False

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """A status keeps the Pod out of the queue."""
        return None

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | frozenset[str] | None:
        """Once per attempt; may leave something in `cycle.data`. A set of names: only these nodes will do."""
        return None

    def filter(self, data: Any, pod: PodInfo, node: NodeInfo) -> Status | None:
        """A status keeps the Pod off this node. `data` is what `pre_filter` left."""
        return None

    def copy_data(self, data: Any) -> Any:
        """Needed when `add_pod` and `remove_pod` change it."""
        return data

    def add_pod(self, data: Any, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        """What if `other` were on `node` as well?"""

    def remove_pod(self, data: Any, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        """What if `other` were gone from `node`?"""

    def post_filter(self, cycle: Cycle, pod: PodInfo, diagnosis: Diagnosis) -> PostFilterResult | None:
        """Asked when no node will do."""
        return None

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        """0 to 100 per node, normalised. None: no difference between the nodes, as far as this plugin knows."""
        return None

    def reserve(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        """Keep for this Pod what the decision promised."""

    def unreserve(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        """The opposite; must be harmless when nothing was reserved."""

    def pre_bind_pending(self, cycle: Cycle, node_name: str) -> bool:
        """Whether `pre_bind` has work to do."""
        return False

    async def pre_bind(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        """Before the Binding is posted. Raises PluginError."""


def overrides(plugin: Plugin, method: str) -> bool:
    return getattr(type(plugin), method) is not getattr(Plugin, method)


def normalised(scores: list[int], *, reverse: bool = False) -> list[int]:
    """Scaled so that the largest becomes 100; reversed, the largest becomes 0."""
    largest = max(scores, default=0)
    if largest == 0:
        return [MAX_SCORE] * len(scores) if reverse else scores
    scaled = [MAX_SCORE * score // largest for score in scores]
    return [MAX_SCORE - score for score in scaled] if reverse else scaled
