"""Small rules, as tables."""

from __future__ import annotations

import pytest

from clusters.emulated.scheduler.algorithm import enough_nodes
from clusters.emulated.scheduler.event_recorder import truncated
from clusters.emulated.scheduler.node_tree import NodeTree
from clusters.emulated.scheduler.plugins.image_locality import normalised_name
from clusters.emulated.scheduler.plugins.node_declared_features import needed_features
from clusters.emulated.scheduler.queue.backoff import duration_s
from clusters.emulated.scheduler.resource_requests import pod_request
from clusters.emulated.scheduler.tolerations import tolerates_taint
from tests.clusters.emulated.scheduler.builders import node, pod


@pytest.mark.parametrize(
    ("nodes", "enough"),
    [(1, 1), (99, 99), (100, 100), (250, 120), (1000, 420), (5000, 500), (6000, 300), (20000, 1000)],
)
def test_large_clusters_are_not_searched_to_the_end(nodes: int, enough: int) -> None:
    assert enough_nodes(nodes) == enough


@pytest.mark.parametrize(("count", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (99, 10)])
def test_back_off_doubles_to_ten_seconds(count: int, seconds: int) -> None:
    assert duration_s(count) == seconds


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], tolerated: bool) -> None:
    assert tolerates_taint(toleration, {"key": "k", "value": "v", "effect": "NoSchedule"}) is tolerated


def test_zones_take_turns() -> None:
    tree = NodeTree()
    for name, zone in (("1", "a"), ("2", "a"), ("3", "a"), ("4", "b")):
        tree.add(node(name, labels={"topology.kubernetes.io/zone": zone}))
    assert tree.names() == ["1", "4", "2", "3"]
    tree.remove("1")
    assert tree.names() == ["2", "4", "3"]


def test_a_tag_is_not_a_port() -> None:
    assert normalised_name("registry.test:5000/web") == "registry.test:5000/web:latest"
    assert normalised_name("web:1") == "web:1"


def test_init_containers_and_sidecars_add_up() -> None:
    """Sidecars run beside the containers and beside every later init container."""
    request = pod_request(
        {
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [
                    {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
                    {"name": "i", "resources": {"requests": {"cpu": "2"}}},
                ],
                "overhead": {"cpu": "100m"},
            }
        }
    )
    assert request.cpu_milli == 2600


def test_a_resize_counts_what_is_in_force_until_it_is_done() -> None:
    shrinking = pod("p", cpu="1")
    status = {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}}
    shrinking["status"] = {"containerStatuses": [status]}
    assert pod_request(shrinking).cpu_milli == 3000


def test_pods_without_requests_count_a_little_when_nodes_are_compared() -> None:
    request = pod_request(pod("p"))
    assert (request.cpu_milli, request.nonzero_cpu_milli, request.nonzero_memory) == (0, 100, 200 * 1024 * 1024)


def test_features_a_pod_needs() -> None:
    wanted = pod("p", hostNetwork=True, hostUsers=False)["spec"]
    assert needed_features(wanted) == {"UserNamespacesHostNetworkSupport"}
    assert needed_features(pod("p")["spec"]) == frozenset()


def test_long_notes_are_cut() -> None:
    assert len(truncated("x" * 2000)) == 1024
    assert truncated("x" * 2000).endswith("x ...")
    assert truncated("short") == "short"
