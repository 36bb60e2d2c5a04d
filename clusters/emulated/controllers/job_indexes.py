"""Completion indexes of Indexed Jobs: sets of numbers as Kubernetes writes them, and who has which.

>>> indexes = Indexes.parse("0-2,5", completions=10)
>>> indexes.total, 5 in indexes, str(indexes.with_all([3, 6]))
(4, True, '0-3,5,6')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.controllers.pod_state import deletion_order

Object = dict[str, Any]
Objects = list[Object]

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
UNKNOWN: Final = -1
_ENVIRONMENT: Final = "JOB_COMPLETION_INDEX"
_GENERATED_PREFIX_MAX: Final = 58
_COUNT_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Indexes:
    """Disjoint intervals in order, ends included."""

    intervals: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str, completions: int) -> Indexes:
        """What cannot be read is left out, and what lies beyond the number of completions."""
        found: list[tuple[int, int]] = []
        for part in text.split(",") if text else ():
            first, _, last = part.partition("-")
            if not first.isdigit() or (last and not last.isdigit()):
                continue
            if int(first) >= completions:
                break
            found.append((int(first), min(int(last or first), completions - 1)))
        return cls(_merged(found))

    def with_all(self, indexes: Iterable[int]) -> Indexes:
        return self.merged(Indexes(tuple((index, index) for index in sorted(set(indexes)))))

    def merged(self, other: Indexes) -> Indexes:
        return Indexes(_merged([*self.intervals, *other.intervals]))

    @property
    def total(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.intervals)

    def __str__(self) -> str:
        parts = []
        for first, last in self.intervals:
            separator = "," if last == first + 1 else "-"
            parts.append(f"{first}{separator}{last}" if last > first else str(first))
        return ",".join(parts)

    def gaps(self, count: int, completions: int) -> list[int]:
        """The lowest `count` indexes that are not in the set."""
        missing: list[int] = []
        candidate = 0
        for first, last in (*self.intervals, (completions, completions)):
            while candidate < min(first, completions) and len(missing) < count:
                missing.append(candidate)
                candidate += 1
            candidate = max(candidate, last + 1)
        return missing

    def overlap(self, other: Indexes) -> int:
        return sum(
            max(0, min(last, other_last) - max(first, other_first) + 1)
            for first, last in self.intervals
            for other_first, other_last in other.intervals
        )


def _merged(intervals: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    result: list[tuple[int, int]] = []
    for first, last in sorted(intervals):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return tuple(result)


# Pods


def index_of(pod: Object) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(COMPLETION_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else UNKNOWN


def indexes_of(pods: Iterable[Object]) -> set[int]:
    return {index for index in map(index_of, pods) if index != UNKNOWN}


def _count(pod: Object, name: str) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(name, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) <= _COUNT_MAX else 0


def failures_of_index(pod: Object) -> int:
    """How often its index had failed before it."""
    return _count(pod, FAILURE_COUNT)


def ignored_failures_of_index(pod: Object) -> int:
    return _count(pod, IGNORED_FAILURE_COUNT)


def all_failures_of_index(pod: Object) -> int:
    return failures_of_index(pod) + ignored_failures_of_index(pod)


def duplicates(pods: Objects, completions: int) -> tuple[Objects, Objects]:
    """Pods without an index of their own, and the rest: of several with one index the best stays."""
    by_index: dict[int, Objects] = {}
    for pod in sorted(pods, key=index_of):
        by_index.setdefault(index_of(pod), []).append(pod)
    surplus: Objects = []
    kept: Objects = []
    for index, same in by_index.items():
        if index == UNKNOWN or index >= completions:
            surplus += same
        else:
            ordered = deletion_order(same)
            surplus += ordered[:-1]
            kept.append(ordered[-1])
    return surplus, kept


def with_environment(spec: Object) -> Object:
    """The Pod's spec with the index in every container's environment."""

    def added(container: Object) -> Object:
        environment = container.get("env") or []
        if any(each["name"] == _ENVIRONMENT for each in environment):
            return container
        reference = {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}
        return {**container, "env": [*environment, {"name": _ENVIRONMENT, "valueFrom": {"fieldRef": reference}}]}

    changed = {**spec, "containers": [added(each) for each in spec.get("containers") or ()]}
    if spec.get("initContainers"):
        changed["initContainers"] = [added(each) for each in spec["initContainers"]]
    return changed


def generate_name(job_name: str, index: int) -> str:
    suffix = f"-{index}-"
    return job_name[: _GENERATED_PREFIX_MAX - len(suffix)] + suffix
