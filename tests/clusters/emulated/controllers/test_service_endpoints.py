"""Which Pods a Service leads to, as EndpointSlices and Endpoints tell it."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.cluster import EmulatedCluster

BASE = "/api/v1/namespaces/shop"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"


@pytest.fixture
def shop(cluster: EmulatedCluster) -> EmulatedCluster:
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    ready = f"{BASE}/serviceaccounts/default"
    cluster.wait_until(lambda: cluster.api.request("GET", ready).code == 200, 5)
    return cluster


def make_service(cluster: EmulatedCluster, **spec: Any) -> None:
    body = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    cluster.api.create(f"{BASE}/services", {"metadata": {"name": "web", "labels": {"tier": "front"}}, "spec": body})


def make_pod(cluster: EmulatedCluster, name: str, ip: str, *, ready: bool) -> None:
    container = {"name": "c", "image": "x", "ports": [{"name": "http", "containerPort": 8081}]}
    spec = {"containers": [container], "schedulerName": "nobody", "nodeName": "node-1"}
    cluster.api.create(f"{BASE}/pods", {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec})
    set_ready(cluster, name, ip, ready)


def set_ready(cluster: EmulatedCluster, name: str, ip: str, ready: bool) -> None:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    cluster.api.patch(f"{BASE}/pods/{name}/status", {"status": status})


def slices(cluster: EmulatedCluster) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = cluster.api.get(SLICES)["items"]
    return items


def conditions(cluster: EmulatedCluster) -> dict[str, dict[str, bool]]:
    return {
        endpoint["targetRef"]["name"]: endpoint["conditions"]
        for each in slices(cluster)
        for endpoint in each.get("endpoints") or ()
    }


def test_a_service_without_pods_has_one_empty_slice(shop: EmulatedCluster) -> None:
    make_service(shop)
    shop.wait_until(lambda: len(slices(shop)) == 1, 5)
    (only,) = slices(shop)
    assert only["endpoints"] is None
    assert only["addressType"] == "IPv4"
    assert only["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
        "tier": "front",
    }


def test_readiness_moves_in_and_out_of_the_slice_and_deletion_shows_as_terminating(shop: EmulatedCluster) -> None:
    make_service(shop)
    make_pod(shop, "a", "10.244.0.5", ready=False)
    wanted = {"ready": False, "serving": False, "terminating": False}
    shop.wait_until(lambda: conditions(shop) == {"a": wanted}, 5)
    set_ready(shop, "a", "10.244.0.5", True)
    shop.wait_until(lambda: conditions(shop)["a"]["ready"], 5)
    (only,) = slices(shop)
    assert only["ports"] == [{"name": "", "protocol": "TCP", "port": 8080}]
    assert only["endpoints"][0]["nodeName"] == "node-1"
    shop.api.delete(f"{BASE}/pods/a")
    shop.wait_until(lambda: conditions(shop)["a"] == {"ready": False, "serving": True, "terminating": True}, 5)
    shop.api.delete(f"{BASE}/pods/a", {"gracePeriodSeconds": 0})
    shop.wait_until(lambda: conditions(shop) == {}, 5)
    assert len(slices(shop)) == 1


def test_a_service_may_publish_what_is_not_ready(shop: EmulatedCluster) -> None:
    make_service(shop, publishNotReadyAddresses=True)
    make_pod(shop, "a", "10.244.0.5", ready=False)
    shop.wait_until(lambda: conditions(shop).get("a", {}).get("ready") is True, 5)


def test_a_named_target_port_is_looked_up_in_the_pod(shop: EmulatedCluster) -> None:
    make_service(shop, ports=[{"port": 80, "targetPort": "http"}])
    make_pod(shop, "a", "10.244.0.5", ready=True)
    shop.wait_until(lambda: "a" in conditions(shop), 5)
    assert [port["port"] for each in slices(shop) for port in each["ports"]] == [8081]


def test_more_than_a_hundred_pods_take_a_second_slice(shop: EmulatedCluster) -> None:
    make_service(shop)
    for number in range(105):
        make_pod(shop, f"p{number:03d}", f"10.244.1.{number}", ready=True)
    shop.wait_until(lambda: len(conditions(shop)) == 105, 30)
    assert sorted(len(each["endpoints"]) for each in slices(shop)) == [5, 100]


def test_endpoints_part_ready_addresses_from_the_others(shop: EmulatedCluster) -> None:
    make_service(shop)
    make_pod(shop, "a", "10.244.0.5", ready=True)
    make_pod(shop, "b", "10.244.0.6", ready=False)

    def subsets() -> Any:
        return shop.api.request("GET", f"{BASE}/endpoints/web").body.get("subsets")

    shop.wait_until(lambda: bool(subsets()) and "notReadyAddresses" in subsets()[0], 5)
    (only,) = subsets()
    assert [each["ip"] for each in only.get("addresses", [])] == ["10.244.0.5"]
    assert [each["ip"] for each in only["notReadyAddresses"]] == ["10.244.0.6"]
    assert only["ports"] == [{"port": 8080, "protocol": "TCP"}]
