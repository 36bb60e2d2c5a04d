"""What endpoints do not let their clients own."""

from __future__ import annotations

import pytest

from clusters.kube.apply.fieldset import FieldSet
from clusters.kube.apply.reset_fields import custom_reset_fields, reset_fields

FIELDS: FieldSet = {
    "f:metadata": {"f:labels": {"f:a": {}}},
    "f:spec": {
        "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:resources": {"f:limits": {}}}},
        "f:ephemeralContainers": {".": {}, 'k:{"name":"d"}': {}},
    },
    "f:status": {"f:phase": {}},
}


@pytest.mark.parametrize(
    ("group", "resource", "subresource", "kept"),
    [
        ("apps", "deployments", "", ["f:metadata", "f:spec"]),
        ("apps", "deployments", "status", ["f:status"]),
        ("apps", "statefulsets", "status", ["f:metadata", "f:status"]),
        ("storage.k8s.io", "volumeattachments", "status", ["f:status"]),
    ],
)
def test_endpoints(group: str, resource: str, subresource: str, kept: list[str]) -> None:
    keep = reset_fields(group, resource, subresource)
    assert keep is not None
    assert list(keep(FIELDS)) == kept


def test_config_maps_reset_nothing() -> None:
    assert reset_fields("", "configmaps", "") is None


@pytest.mark.parametrize("subresource", ["ephemeralcontainers", "resize"])
def test_the_other_doors_to_a_pod_reset_nothing(subresource: str) -> None:
    """Their strategies name fields, but the storage behind those endpoints does not pass them on."""
    assert reset_fields("", "pods", subresource) is None


def test_custom_resources() -> None:
    main, status = custom_reset_fields("", True), custom_reset_fields("status", True)
    assert main is not None
    assert status is not None
    assert (list(main(FIELDS)), list(status(FIELDS))) == (["f:metadata", "f:spec"], ["f:status"])
    assert custom_reset_fields("", False) is None
