"""Prefers nodes that already have the Pod's large images, unless only few nodes do."""

from __future__ import annotations

from typing import Final

from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import MAX_SCORE, Cycle, Plugin
from clusters.emulated.scheduler.pod_info import PodInfo

_MIB: Final = 1024 * 1024
_SMALLEST: Final = 23 * _MIB
_LARGEST_PER_CONTAINER: Final = 1000 * _MIB


class ImageLocality(Plugin):
    name = "ImageLocality"

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        containers = [*(pod.spec.get("initContainers") or ()), *pod.spec["containers"]]
        images = [normalised_name(container.get("image") or "") for container in containers]
        images += [
            normalised_name(volume["image"].get("reference") or "") for volume in pod.volumes if volume.get("image")
        ]
        spread = [(name, holders) for name in images if (holders := self._cache.nodes_with_image(name))]
        if not spread:
            return None
        total = len(self._cache.nodes)
        largest = _LARGEST_PER_CONTAINER * len(containers)
        return [_score(node, spread, total, largest) for node in nodes]


def _score(node: NodeInfo, spread: list[tuple[str, int]], total: int, largest: int) -> int:
    found = 0
    for name, holders in spread:
        size = node.images.get(name)
        if size is not None:
            found += int(size * (holders / total))
    found = min(max(found, _SMALLEST), largest)
    return MAX_SCORE * (found - _SMALLEST) // (largest - _SMALLEST)


def normalised_name(image: str) -> str:
    """`web` is `web:latest`; the colon of a registry's port is not a tag."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
