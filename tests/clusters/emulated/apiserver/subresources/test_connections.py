"""Logs, exec and proxies, up to where the node would have to answer; and with a node that does."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.apiserver.http import StreamWriter
from clusters.emulated.apiserver.subresources.kubelets import LogOptions, LogStream, NoKubelets
from clusters.emulated.client.blocking import BlockingApi
from clusters.emulated.cluster import EmulatedCluster

NAMESPACE = "/api/v1/namespaces/shop"
PODS = f"{NAMESPACE}/pods"


@pytest.fixture(autouse=True)
def nodes(api: BlockingApi) -> None:
    for name in ("n1", "bare"):
        api.create("/api/v1/nodes", {"metadata": {"name": name}})
    api.patch("/api/v1/nodes/n1/status", {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}})


def test_the_container_must_be_clear(api: BlockingApi, make_pod: Any, refused: Any) -> None:
    make_pod("two", nodeName="n1", containers=[{"name": "a", "image": "x"}, {"name": "b", "image": "x"}])
    unclear = refused(lambda: api.get(f"{PODS}/two/log"))
    assert unclear.message == "a container name must be specified for pod two, choose one of: [a b]"
    wrong = refused(lambda: api.get(f"{PODS}/two/log?container=c"))
    assert (wrong.code, wrong.message) == (400, "container c is not valid for pod two")


@pytest.mark.parametrize(
    ("node", "code", "text"),
    [
        ("n1", 500, 'Get "https://10.0.0.9:10250/containerLogs/shop/web/c?tailLines=3": '
                    "dial tcp 10.0.0.9:10250: connect: connection refused"),
        ("bare", 500, "no preferred addresses found; known addresses: []"),
        ("gone", 404, 'pods "gone" not found'),
    ],
)  # fmt: skip
def test_a_kubelet_that_cannot_be_reached(
    api: BlockingApi, make_pod: Any, refused: Any, node: str, code: int, text: str
) -> None:
    make_pod("web", nodeName=node)
    error = refused(lambda: api.get(f"{PODS}/web/log?tailLines=3"))
    assert (error.code, error.message) == (code, text)


def test_wrong_log_options_are_refused_before_the_pod_is_looked_up(api: BlockingApi, refused: Any) -> None:
    error = refused(lambda: api.get(f"{PODS}/none/log?limitBytes=0"))
    assert error.message == 'PodLogOptions "none" is invalid: limitBytes: Invalid value: 0: must be greater than 0'


def test_exec_needs_a_host_and_an_upgrade(api: BlockingApi, make_pod: Any, refused: Any) -> None:
    make_pod("waiting")
    make_pod("web", nodeName="n1")
    assert refused(lambda: api.create(f"{PODS}/waiting/exec?command=ls", {})).message == (
        "pod waiting does not have a host assigned"
    )
    assert refused(lambda: api.create(f"{PODS}/web/exec?command=ls", {})).message == "Upgrade request required"


def test_a_service_without_endpoints_cannot_be_proxied_to(api: BlockingApi, refused: Any) -> None:
    api.create(f"{NAMESPACE}/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}})
    api.create(f"{NAMESPACE}/endpoints", {"metadata": {"name": "web"}})
    error = refused(lambda: api.get(f"{NAMESPACE}/services/web/proxy/"))
    assert (error.code, error.reason) == (503, "ServiceUnavailable")
    assert error.message == 'no endpoints available for service "web"'
    assert refused(lambda: api.get(f"{NAMESPACE}/services/web:81/proxy/")).message == (
        'no service port 81 found for service "web"'
    )


class OneKubelet(NoKubelets):
    async def logs(self, node: str, pod: dict[str, Any], container: str, options: LogOptions) -> LogStream:
        async def write(writer: StreamWriter) -> None:
            writer.write(f"{node} {pod['metadata']['name']}/{container} tail {options.tail_lines}\n".encode())

        return write


def test_a_kubelet_that_answers(cluster: EmulatedCluster, make_pod: Any) -> None:
    for replica in cluster.plane.replicas:
        replica.registry_wiring.kubelets.kubelets = OneKubelet()
    make_pod("web", nodeName="n1")
    response = cluster.api.request("GET", f"{PODS}/web/log?tailLines=3")
    assert response.text == "n1 web/c tail 3\n"
