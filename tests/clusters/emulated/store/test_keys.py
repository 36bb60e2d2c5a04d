"""Keys as a real api-server lays them out."""

from __future__ import annotations

import pytest

from clusters.emulated.store.keys import namespace_prefix, object_key, resource_prefix


@pytest.mark.parametrize(
    ("group", "resource", "custom", "namespace", "name", "key"),
    [
        ("", "pods", False, "default", "web", "/registry/pods/default/web"),
        ("apps", "deployments", False, "default", "web", "/registry/deployments/default/web"),
        ("", "namespaces", False, "", "default", "/registry/namespaces/default"),
        ("", "nodes", False, "", "node-a", "/registry/minions/node-a"),
        ("", "services", False, "default", "web", "/registry/services/specs/default/web"),
        ("", "endpoints", False, "default", "web", "/registry/services/endpoints/default/web"),
        ("", "replicationcontrollers", False, "d", "x", "/registry/controllers/d/x"),
        ("networking.k8s.io", "ingresses", False, "d", "x", "/registry/ingress/d/x"),
        ("networking.k8s.io", "networkpolicies", False, "d", "x", "/registry/networkpolicies/d/x"),
        ("coordination.k8s.io", "leases", False, "d", "x", "/registry/leases/d/x"),
        ("events.k8s.io", "events", False, "d", "x", "/registry/events/d/x"),
        (
            "apiregistration.k8s.io",
            "apiservices",
            False,
            "",
            "v1.",
            "/registry/apiregistration.k8s.io/apiservices/v1.",
        ),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            False,
            "",
            "dbs.example.com",
            "/registry/apiextensions.k8s.io/customresourcedefinitions/dbs.example.com",
        ),
        ("example.com", "dbs", True, "d", "x", "/registry/example.com/dbs/d/x"),
    ],
)
def test_an_object_is_where_kubernetes_keeps_it(
    group: str, resource: str, custom: bool, namespace: str, name: str, key: str
) -> None:
    prefix = resource_prefix(group, resource, custom=custom)
    assert object_key(prefix, namespace, name) == key
    assert key.startswith(namespace_prefix(prefix, namespace))
