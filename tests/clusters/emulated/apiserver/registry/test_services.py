"""What a Service gets when it is written, and gives back."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from clusters.emulated.client.blocking import BlockingApi

SERVICES = "/api/v1/namespaces/shop/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
RANGE = ipaddress.ip_network("10.96.0.0/12")


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def test_a_service_gets_a_cluster_ip_that_an_address_object_holds(api: BlockingApi) -> None:
    spec = api.create(SERVICES, service("web"))["spec"]
    assert ipaddress.ip_address(spec["clusterIP"]) in RANGE
    assert (spec["clusterIPs"], spec["ipFamilies"]) == ([spec["clusterIP"]], ["IPv4"])
    assert spec["ipFamilyPolicy"] == "SingleStack"
    held = api.get(f"{ADDRESSES}/{spec['clusterIP']}")
    assert held["spec"]["parentRef"] == {"resource": "services", "namespace": "shop", "name": "web"}
    assert held["metadata"]["managedFields"][0]["manager"] == "kube-apiserver"


def test_addresses_given_out_leave_the_static_range_alone(api: BlockingApi) -> None:
    given = [api.create(SERVICES, service(f"s{number}"))["spec"]["clusterIP"] for number in range(20)]
    assert len(set(given)) == 20
    assert all(ipaddress.IPv4Address(each) > ipaddress.IPv4Address("10.96.1.0") for each in given)


def test_deleting_gives_the_address_back(api: BlockingApi, refused: Any) -> None:
    address = api.create(SERVICES, service("web"))["spec"]["clusterIP"]
    error = refused(lambda: api.create(SERVICES, service("other", clusterIP=address)))
    assert error.message == (
        f'Service "other" is invalid: spec.clusterIPs: Invalid value: ["{address}"]: '
        f"failed to allocate IP {address}: provided IP is already allocated"
    )
    api.delete(f"{SERVICES}/web")
    assert api.create(SERVICES, service("other", clusterIP=address))["spec"]["clusterIP"] == address


def test_a_refused_service_keeps_no_address(api: BlockingApi, refused: Any) -> None:
    before = len(api.get(ADDRESSES)["items"])
    refused(lambda: api.create(SERVICES, service("web", sessionAffinity="Sometimes")))
    api.create(f"{SERVICES}?dryRun=All", service("web"))
    assert len(api.get(ADDRESSES)["items"]) == before


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"clusterIP": "192.0.2.1"}, "the provided network does not match the current range"),
        ({"clusterIP": "10.96.0.1"}, "provided IP is already allocated"),
        ({"ipFamilyPolicy": "RequireDualStack"}, "this cluster is not configured for dual-stack services"),
        ({"ipFamilies": ["IPv6"]}, "not configured on this cluster"),
        ({"clusterIP": "fd00::1"}, "IPv6 is not configured on this cluster"),
    ],
)
def test_what_cannot_be_given(api: BlockingApi, refused: Any, spec: dict[str, Any], problem: str) -> None:
    error = refused(lambda: api.create(SERVICES, service("web", **spec)))
    assert (error.code, problem in error.message) == (422, True)


def test_node_ports_are_given_once(api: BlockingApi, refused: Any) -> None:
    port = api.create(SERVICES, service("web", type="NodePort"))["spec"]["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    wanted = service("other", type="NodePort", ports=[{"port": 80, "nodePort": port}])
    error = refused(lambda: api.create(SERVICES, wanted))
    assert error.message.endswith(f"spec.ports[0].nodePort: Invalid value: {port}: provided port is already allocated")
    api.patch(f"{SERVICES}/web", {"spec": {"type": "ClusterIP"}})
    assert api.create(SERVICES, wanted)["spec"]["ports"][0]["nodePort"] == port


def test_the_same_port_of_two_protocols_shares_a_node_port(api: BlockingApi) -> None:
    ports = [{"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]
    given = api.create(SERVICES, service("dns", type="NodePort", ports=ports))["spec"]["ports"]
    assert given[0]["nodePort"] == given[1]["nodePort"]


def test_an_update_keeps_what_was_given(api: BlockingApi) -> None:
    spec = api.create(SERVICES, service("web", type="NodePort"))["spec"]
    again = api.update(f"{SERVICES}/web", service("web", type="NodePort"))["spec"]
    assert (again["clusterIP"], again["ports"]) == (spec["clusterIP"], spec["ports"])


def test_a_name_outside_needs_no_address(api: BlockingApi, refused: Any) -> None:
    address = api.create(SERVICES, service("web"))["spec"]["clusterIP"]
    change = {"spec": {"type": "ExternalName", "externalName": "example.test", "clusterIP": None}}
    assert "clusterIP" not in api.patch(f"{SERVICES}/web", change)["spec"]
    assert refused(lambda: api.get(f"{ADDRESSES}/{address}")).code == 404
    assert api.patch(f"{SERVICES}/web", {"spec": {"type": "ClusterIP", "externalName": None}})["spec"]["clusterIP"]
