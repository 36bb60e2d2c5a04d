"""What a fresh cluster holds."""

from __future__ import annotations

import asyncio
import base64
import itertools
from typing import Any

import pytest
import yaml

from clusters.emulated.apiserver.authorization.attributes import Attributes
from clusters.emulated.apiserver.authorization.chain import AuthorizerChain, PrivilegedGroups
from clusters.emulated.apiserver.authorization.node import NodeAuthorizer
from clusters.emulated.apiserver.authorization.rbac import RbacAuthorizer
from clusters.emulated.apiserver.bootstrap import Control, bootstrap_objects, node_rules
from clusters.emulated.apiserver.bootstrap.recorded import NotRecordedError
from clusters.emulated.apiserver.request import ANONYMOUS, UserInfo
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects

NOW = "2027-01-15T08:00:00Z"
NOW_S = 1_800_000_000.0


def fresh(**changes: Any) -> dict[tuple[str, str, str], dict[str, Any]]:
    uids = map(str, itertools.count())
    control = Control(**({"client_ca_pem": "CA"} | changes))
    found = bootstrap_objects(control, now_s=NOW_S, new_uid=lambda: next(uids))
    return {(resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for resource, obj in found}


OBJECTS = fresh()
CLUSTER_ROLES = "clusterroles.rbac.authorization.k8s.io"


def names(resource: str) -> list[str]:
    return sorted(name for found, _, name in OBJECTS if found == resource)


def test_namespaces_come_first() -> None:
    assert [key[2] for key in list(OBJECTS)[:4]] == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]


def test_kinds_and_names() -> None:
    assert names("priorityclasses.scheduling.k8s.io") == ["system-cluster-critical", "system-node-critical"]
    assert len(names("flowschemas.flowcontrol.apiserver.k8s.io")) == 11
    assert len(names("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io")) == 8
    assert {"v1.", "v1.apps", "v2.autoscaling"} <= set(names("apiservices.apiregistration.k8s.io"))
    assert {"admin", "cluster-admin", "edit", "view", "system:node", "kubeadm:get-nodes"} <= set(names(CLUSTER_ROLES))


def test_every_object_has_its_own_uid_and_the_clusters_birthday() -> None:
    uids = {obj["metadata"]["uid"] for obj in OBJECTS.values()}
    assert len(uids) == len(OBJECTS)
    for obj in OBJECTS.values():
        metadata = obj["metadata"]
        assert metadata["creationTimestamp"] == NOW
        assert metadata["managedFields"], obj
        for entry in metadata["managedFields"]:
            assert list(entry)[:6] == ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"]
            assert entry["time"] == NOW
        for condition in (obj.get("status") or {}).get("conditions") or ():
            assert condition["lastTransitionTime"] == NOW
        assert "resourceVersion" not in metadata


def test_the_kubernetes_service_leads_to_the_api_server() -> None:
    found = fresh(address="10.9.8.7", port=7443, service_cidr="10.200.0.0/16")
    spec = found["services", "default", "kubernetes"]["spec"]
    assert (spec["clusterIP"], spec["ports"][0]["targetPort"]) == ("10.200.0.1", 7443)
    assert found["ipaddresses.networking.k8s.io", "", "10.200.0.1"]["spec"]["parentRef"]["name"] == "kubernetes"
    assert found["servicecidrs.networking.k8s.io", "", "kubernetes"]["spec"] == {"cidrs": ["10.200.0.0/16"]}
    (subset,) = found["endpoints", "default", "kubernetes"]["subsets"]
    assert (subset["addresses"], subset["ports"][0]["port"]) == ([{"ip": "10.9.8.7"}], 7443)
    slice_ = found["endpointslices.discovery.k8s.io", "default", "kubernetes"]
    assert slice_["endpoints"] == [{"addresses": ["10.9.8.7"], "conditions": {"ready": True}}]


def test_aggregated_roles_have_their_rules() -> None:
    counts = {name: len(OBJECTS[CLUSTER_ROLES, "", name]["rules"]) for name in ("view", "edit", "admin")}
    assert counts == {"view": 12, "edit": 27, "admin": 29}
    first = OBJECTS[CLUSTER_ROLES, "", "admin"]["metadata"]["managedFields"][0]
    assert (first["manager"], first["operation"]) == ("clusterrole-aggregation-controller", "Apply")
    assert fresh(aggregated=False)[CLUSTER_ROLES, "", "admin"]["rules"] is None


def test_cluster_info_is_a_kubeconfig() -> None:
    text = OBJECTS["configmaps", "kube-public", "cluster-info"]["data"]["kubeconfig"]
    (cluster,) = yaml.safe_load(text)["clusters"]
    assert cluster["cluster"]["server"] == "https://10.0.0.1:6443"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"CA"


def test_front_proxy_settings_are_published() -> None:
    data = fresh(request_header_ca_pem="PROXY")["configmaps", "kube-system", "extension-apiserver-authentication"][
        "data"
    ]
    assert data["requestheader-client-ca-file"] == "PROXY"
    assert data["requestheader-username-headers"] == '["X-Remote-User"]'
    only = OBJECTS["configmaps", "kube-system", "extension-apiserver-authentication"]["data"]
    assert only == {"client-ca-file": "CA"}


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(NotRecordedError, match=r"no bootstrap objects for Kubernetes 1\.12"):
        fresh(version="1.12")


def allowed(user: UserInfo, attributes: Attributes) -> bool:
    objects = MemoryObjects()
    for (resource, _, _), obj in OBJECTS.items():
        objects.put(resource, obj)
    chain = AuthorizerChain([PrivilegedGroups(), NodeAuthorizer(objects, node_rules()), RbacAuthorizer(objects)])
    attributes.user = user
    return asyncio.run(chain.authorize(attributes)).allowed


@pytest.mark.parametrize(
    ("path", "public"),
    [
        ("/version", True),
        ("/healthz", True),
        ("/livez", True),
        ("/readyz", True),
        ("/api", False),
        ("/metrics", False),
    ],
)
def test_what_anybody_may_see(path: str, public: bool) -> None:
    assert allowed(ANONYMOUS, Attributes(ANONYMOUS, "get", is_resource=False, path=path)) is public


def test_kubeadms_administrators_and_controllers_can_work() -> None:
    admin = UserInfo("kubernetes-admin", groups=("kubeadm:cluster-admins", "system:authenticated"))
    assert allowed(admin, Attributes(admin, "delete", "apps", "v1", "deployments", namespace="x", name="y"))
    deployments = UserInfo("system:serviceaccount:kube-system:deployment-controller")
    assert allowed(deployments, Attributes(admin, "create", "apps", "v1", "replicasets", namespace="x"))
    assert not allowed(deployments, Attributes(admin, "get", "", "v1", "secrets", namespace="x", name="y"))
    scheduler = UserInfo("system:kube-scheduler")
    assert allowed(scheduler, Attributes(admin, "create", "", "v1", "pods", "binding", "x", "p"))
