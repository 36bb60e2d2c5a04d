"""The real kube-controller-manager and kube-scheduler run against the emulated api-server, in JSON and in protobuf.

A Deployment becomes a ReplicaSet and Pods, these are bound to a node, what is owned goes with its owner, and a
namespace that is deleted ends.
"""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from binaries import required

from clusters.emulated.cluster import EmulatedCluster

WITHIN_S = 60.0
NODE = {
    "metadata": {"name": "node-a", "labels": {"kubernetes.io/hostname": "node-a"}},
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    },
}
LABELS = {"app": "web"}
DEPLOYMENT = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "c", "image": "nginx", "ports": [{"containerPort": 80}]}]},
        },
    },
}
SERVICE = {"metadata": {"name": "web"}, "spec": {"selector": LABELS, "ports": [{"port": 80}]}}
QUOTA = {"metadata": {"name": "quota"}, "spec": {"hard": {"pods": "10", "configmaps": "10"}}}


class Real:
    """The cluster, and what the real components have made of it."""

    def __init__(self, cluster: EmulatedCluster) -> None:
        self.cluster = cluster
        self.api = cluster.api

    def items(self, path: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.api.get(path)["items"]
        return items

    def until(self, what: str, path: str, count: int, **wanted: object) -> list[dict[str, Any]]:
        """Waits until so many objects, with these values under spec or status, are there."""

        def found() -> list[dict[str, Any]]:
            return [
                each
                for each in self.items(path)
                if all((each.get("spec", {}) | each.get("status", {})).get(k) == v for k, v in wanted.items())
            ]

        try:
            self.cluster.wait_until(lambda: len(found()) == count, WITHIN_S)
        except TimeoutError:
            pytest.fail(f"{what}: not so after {WITHIN_S:g} s; {path} has {self.items(path)}")
        return found()


@contextmanager
def running(name: str, log: Path, *arguments: str) -> Iterator[None]:
    with log.open("w") as stderr, subprocess.Popen([required(name), *arguments], stderr=stderr) as process:
        try:
            yield
            assert process.poll() is None, f"{name} ended: {log.read_text()[-2000:]}"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(params=["application/json", "application/vnd.kubernetes.protobuf"], ids=["json", "protobuf"])
def real(request: pytest.FixtureRequest, emulated: EmulatedCluster, tmp_path: Path) -> Iterator[Real]:
    key, ca = tmp_path / "sa.key", tmp_path / "ca.crt"
    pki = emulated.plane.pki
    ca.write_bytes(pki.ca.certificate_pem)
    key.write_bytes(pki.admin.key_pem)  # It signs legacy tokens, which nothing here asks for.
    given = ("--kubeconfig", str(emulated.kubeconfig), "--leader-elect=true", "--bind-address=127.0.0.1")
    given += (f"--kube-api-content-type={request.param}", "--authorization-always-allow-paths=/healthz")
    manager, scheduler = tmp_path / "manager.log", tmp_path / "scheduler.log"
    with ExitStack() as stack:
        stack.enter_context(
            running(
                "kube-controller-manager",
                manager,
                *given,
                f"--secure-port={free_port()}",
                "--use-service-account-credentials=false",
                f"--root-ca-file={ca}",
                f"--service-account-private-key-file={key}",
                "--cluster-cidr=10.244.0.0/16",
                "--allocate-node-cidrs=true",
            )
        )
        stack.enter_context(running("kube-scheduler", scheduler, *given, f"--secure-port={free_port()}"))
        yield Real(emulated)
    for log in (manager, scheduler):
        assert not unexpected(log.read_text()), "\n".join(unexpected(log.read_text()))


def unexpected(log: str) -> list[str]:
    """Error lines that a real server would not have caused."""
    lines = [line for line in log.splitlines() if re.match(r"E\d{4} ", line) or "panic" in line]
    # What they also say in front of a real server: when they are ended, and about an option nobody gave.
    # A quota is written by its controller and by admission: whoever is late gets a conflict, and tries again.
    known = ("context canceled", "leaderelection lost", "manifest file is empty", "the object has been modified")
    return [line for line in lines if not any(each in line for each in known)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_controllers_and_scheduler_do_their_work(real: Real) -> None:
    api = real.api
    api.create("/api/v1/nodes", NODE)
    api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    shop = "/api/v1/namespaces/shop"
    real.until("a ServiceAccount comes with a namespace", f"{shop}/serviceaccounts", 1)
    [root] = real.until("so does the root CA", f"{shop}/configmaps", 1)
    assert root["metadata"]["name"] == "kube-root-ca.crt"

    api.create(f"{shop}/resourcequotas", QUOTA)
    api.create(f"{shop}/services", SERVICE)
    api.create("/apis/apps/v1/namespaces/shop/deployments", DEPLOYMENT)
    real.until("a Deployment becomes a ReplicaSet", "/apis/apps/v1/namespaces/shop/replicasets", 1, replicas=3)
    untaint(real)
    pods = real.until("and that Pods, bound to the node", f"{shop}/pods", 3, nodeName="node-a")
    for pod in pods:
        status = {
            "status": {"phase": "Running", "podIP": "10.244.0.9", "conditions": [{"type": "Ready", "status": "True"}]}
        }
        api.patch(f"{shop}/pods/{pod['metadata']['name']}/status", status)
    real.until(
        "ready, they make the Deployment available", "/apis/apps/v1/namespaces/shop/deployments", 1, readyReplicas=3
    )
    slices = real.until("the Service has a slice", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices", 1)
    real.cluster.wait_until(lambda: len(endpoints(real)) == 3, WITHIN_S)
    assert slices[0]["metadata"]["labels"]["kubernetes.io/service-name"] == "web"
    real.cluster.wait_until(lambda: used(real) == "3", WITHIN_S)

    api.delete("/apis/apps/v1/namespaces/shop/deployments/web")
    real.until("what it owned goes with it", "/apis/apps/v1/namespaces/shop/replicasets", 0)
    for pod in pods:  # No kubelet is there to confirm that they ended.
        real.cluster.wait_until(lambda pod=pod: terminating(real, pod), WITHIN_S)
        api.request("DELETE", f"{shop}/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
    real.until("the Pods, too", f"{shop}/pods", 0)

    api.delete("/api/v1/namespaces/shop")
    real.cluster.wait_until(lambda: "shop" not in namespaces(real), WITHIN_S)


def untaint(real: Real) -> None:
    """The node is Ready: its controller takes away the taint that admission gave it."""
    real.cluster.wait_until(lambda: not real.api.get("/api/v1/nodes/node-a")["spec"].get("taints"), WITHIN_S)


def endpoints(real: Real) -> list[Any]:
    [slice] = real.items("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices")
    return slice.get("endpoints") or []


def used(real: Real) -> str | None:
    quota = real.api.get("/api/v1/namespaces/shop/resourcequotas/quota")
    used: str | None = quota["status"].get("used", {}).get("pods")
    return used


def terminating(real: Real, pod: dict[str, Any]) -> bool:
    for each in real.items("/api/v1/namespaces/shop/pods"):
        if each["metadata"]["uid"] == pod["metadata"]["uid"]:
            return "deletionTimestamp" in each["metadata"]
    return True


def namespaces(real: Real) -> set[str]:
    return {each["metadata"]["name"] for each in real.items("/api/v1/namespaces")}
