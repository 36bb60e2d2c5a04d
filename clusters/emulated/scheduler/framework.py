"""Runs the plugins of a profile in their order, one extension point after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add

from clusters.emulated.scheduler.fit_error import Diagnosis, PluginError
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin, PostFilterResult, overrides
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.queue.nominator import Nominator
from clusters.emulated.scheduler.status import Code, Status, error, unresolvable, unschedulable


@dataclass(frozen=True, slots=True)
class PreFiltered:
    """`node_names` None: all nodes are worth a look. `limiting` are the plugins that named nodes."""

    status: Status | None
    node_names: frozenset[str] | None
    limiting: tuple[str, ...] = ()


class Framework:
    """`plugins` are (plugin, weight of its scores), in the profile's order."""

    def __init__(self, plugins: Sequence[tuple[Plugin, int]], nominator: Nominator) -> None:
        self.plugins = [plugin for plugin, _ in plugins]
        self._nominator = nominator
        self._pre_enqueue = [plugin for plugin in self.plugins if overrides(plugin, "pre_enqueue")]
        self._pre_filter = [plugin for plugin in self.plugins if overrides(plugin, "pre_filter")]
        self._filter = [plugin for plugin in self.plugins if overrides(plugin, "filter")]
        self._simulating = [plugin for plugin in self.plugins if overrides(plugin, "add_pod")]
        self._post_filter = [plugin for plugin in self.plugins if overrides(plugin, "post_filter")]
        self._scoring = [(plugin, weight) for plugin, weight in plugins if overrides(plugin, "scores")]
        self._reserve = [plugin for plugin in self.plugins if overrides(plugin, "reserve")]
        self._pre_bind = [plugin for plugin in self.plugins if overrides(plugin, "pre_bind")]

    def run_pre_enqueue(self, pod: PodInfo) -> Status | None:
        for plugin in self._pre_enqueue:
            status = plugin.pre_enqueue(pod)
            if status is not None:
                return status.by(plugin.name)
        return None

    # Filter

    def run_pre_filter(self, cycle: Cycle, pod: PodInfo) -> PreFiltered:
        """An unresolvable answer ends it; an unschedulable one is remembered, as preemption needs all the data."""
        names: frozenset[str] | None = None
        limiting: list[str] = []
        refused: Status | None = None
        for plugin in self._pre_filter:
            try:
                answer = plugin.pre_filter(cycle, pod)
            except PluginError as problem:
                raise PluginError(f'running PreFilter plugin "{plugin.name}": {problem.message}') from problem
            if answer is None:
                continue
            if isinstance(answer, frozenset):
                limiting.append(plugin.name)
                names = answer if names is None else names & answer
                if not names:
                    return PreFiltered(unresolvable(_unsatisfied(limiting)), names, tuple(limiting))
            elif answer.code is Code.SKIP:
                cycle.skipped.add(plugin.name)
            elif answer.code is Code.UNRESOLVABLE:
                return PreFiltered(answer.by(plugin.name), None)
            else:
                refused = answer.by(plugin.name)
        cycle.filters = [
            (plugin, cycle.data.get(plugin.name)) for plugin in self._filter if plugin.name not in cycle.skipped
        ]
        return PreFiltered(refused, names, tuple(limiting))

    def run_filters(self, cycle: Cycle, pod: PodInfo, node: NodeInfo) -> Status | None:
        for plugin, data in cycle.filters:
            try:
                status = plugin.filter(data, pod, node)
            except PluginError as problem:
                raise PluginError(f'running "{plugin.name}" filter plugin: {problem.message}') from problem
            if status is not None:
                return status if status.plugin else status.by(plugin.name)
        return None

    def node_filter(self, cycle: Cycle, pod: PodInfo) -> Callable[[NodeInfo], Status | None]:
        """`run_filters_with_nominated` for many nodes: what does not differ between them is looked up once."""
        if self._nominator.promises:
            return lambda node: self.run_filters_with_nominated(cycle, pod, node)
        if len(cycle.filters) == 1:
            # Mostly it is only about resources, and a large cluster asks thousands of times.
            plugin, data = cycle.filters[0]
            if plugin.infallible:
                return partial(plugin.filter, data, pod)
        return lambda node: self.run_filters(cycle, pod, node)

    def run_filters_with_nominated(self, cycle: Cycle, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Must pass with and without the equally or more important Pods that are promised this node.

        With them, because the room is theirs; without them, because an affinity must not rest on a promise.
        """
        if not self._nominator.promises:
            return self.run_filters(cycle, pod, node)
        promised = [
            other
            for other in self._nominator.of_node(node.name)
            if other.priority >= pod.priority and other.uid != pod.uid and other.uid not in node.pods
        ]
        if promised:
            trial, trial_node = self.copy_cycle(cycle), node.copy()
            for other in promised:
                trial_node.add(other)
                self.run_add_pod(trial, pod, other, trial_node)
            status = self.run_filters(trial, pod, trial_node)
            if status is not None:
                return status
        return self.run_filters(cycle, pod, node)

    # What-if

    def copy_cycle(self, cycle: Cycle) -> Cycle:
        clone = Cycle()
        clone.skipped = cycle.skipped
        clone.data = dict(cycle.data)
        for plugin in self._simulating:
            if plugin.name in clone.data:
                clone.data[plugin.name] = plugin.copy_data(clone.data[plugin.name])
        clone.filters = [(plugin, clone.data.get(plugin.name)) for plugin, _ in cycle.filters]
        return clone

    def run_add_pod(self, cycle: Cycle, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        for plugin in self._simulating:
            if plugin.name not in cycle.skipped and plugin.name in cycle.data:
                plugin.add_pod(cycle.data[plugin.name], pod, other, node)

    def run_remove_pod(self, cycle: Cycle, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        for plugin in self._simulating:
            if plugin.name not in cycle.skipped and plugin.name in cycle.data:
                plugin.remove_pod(cycle.data[plugin.name], pod, other, node)

    # After

    def run_post_filter(self, cycle: Cycle, pod: PodInfo, diagnosis: Diagnosis) -> PostFilterResult:
        """The first success or error ends it; otherwise the reasons of all are put together."""
        reasons: list[str] = []
        nominated: str | None = None
        for plugin in self._post_filter:
            try:
                result = plugin.post_filter(cycle, pod, diagnosis)
            except PluginError as problem:
                return PostFilterResult(error(problem.message).by(plugin.name))
            assert result is not None, f"{plugin.name} overrides post_filter and must answer"
            if result.status is None or result.status.code is Code.UNRESOLVABLE:
                return result
            if not result.status.rejected:
                return PostFilterResult(result.status)
            if result.nominated_node is not None:
                nominated = result.nominated_node
            reasons += result.status.reasons
        return PostFilterResult(unschedulable(*reasons), nominated)

    def run_scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int]:
        totals: list[int] = []
        for plugin, weight in self._scoring:
            scores = plugin.scores(cycle, pod, nodes)
            if scores is None:
                continue
            if weight != 1:
                scores = [weight * score for score in scores]
            totals = list(map(add, totals, scores)) if totals else scores
        return totals or [0] * len(nodes)

    def run_reserve(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        for plugin in self._reserve:
            try:
                plugin.reserve(cycle, pod, node_name)
            except PluginError as problem:
                raise PluginError(f'running Reserve plugin "{plugin.name}": {problem.message}') from problem

    def run_unreserve(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        for plugin in reversed(self._reserve):
            plugin.unreserve(cycle, pod, node_name)

    def pre_bind_pending(self, cycle: Cycle, node_name: str) -> bool:
        return any(plugin.pre_bind_pending(cycle, node_name) for plugin in self._pre_bind)

    async def run_pre_bind(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        for plugin in self._pre_bind:
            try:
                await plugin.pre_bind(cycle, pod, node_name)
            except PluginError as problem:
                raise PluginError(f'running PreBind plugin "{plugin.name}": {problem.message}') from problem


def _unsatisfied(limiting: list[str]) -> str:
    if len(limiting) == 1:
        return f"node(s) didn't satisfy plugin {limiting[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(limiting))}] simultaneously"
