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


def test_endpoints_that_take_one_thing_only() -> None:
    ephemeral, resize = reset_fields("", "pods", "ephemeralcontainers"), reset_fields("", "pods", "resize")
    assert ephemeral is not None
    assert resize is not None
    assert ephemeral(FIELDS) == {"f:spec": {"f:ephemeralContainers": {".": {}, 'k:{"name":"d"}': {}}}}
    assert resize(FIELDS) == {
        "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:resources": {"f:limits": {}}}}}
    }


def test_custom_resources() -> None:
    main, status = custom_reset_fields("", True), custom_reset_fields("status", True)
    assert main is not None
    assert status is not None
    assert (list(main(FIELDS)), list(status(FIELDS))) == (["f:metadata", "f:spec"], ["f:status"])
    assert custom_reset_fields("", False) is None
