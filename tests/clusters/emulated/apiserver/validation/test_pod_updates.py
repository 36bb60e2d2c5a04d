"""What may be changed of a Pod that exists, and through which endpoint."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clusters.emulated.apiserver.validation.metadata import status_errors, update_errors
from clusters.emulated.apiserver.validation.pod.rules import PodRules

RULES = PodRules()
Pod = dict[str, Any]


@pytest.fixture
def stored() -> Pod:
    pod: Pod = {
        "metadata": {
            "name": "p", "namespace": "d", "uid": "1", "resourceVersion": "5",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "activeDeadlineSeconds": 100,
            "containers": [
                {"name": "c", "image": "x:1", "command": ["sleep", "3600"], "resources": {"requests": {"cpu": "1"}}}
            ],
        },
    }  # fmt: skip
    RULES.default(pod)
    RULES.prepare_create(pod)
    return pod


def update(stored: Pod, new: Pod) -> list[str]:
    RULES.default(new)
    RULES.prepare_update(new, stored)
    return [str(error) for error in update_errors(RULES, new, stored, True)]


def test_the_image_may_change_and_the_generation_counts_it(stored: Pod) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["containers"][0]["image"] = "x:2"
    assert update(stored, new) == []
    assert new["metadata"]["generation"] == 2


def test_another_change_is_refused_with_the_difference(stored: Pod) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["containers"][0]["command"] = ["x"]
    [error] = update(stored, new)
    assert error.startswith("spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,")
    assert error.endswith(
        '@@ -6,8 +6,7 @@\n    "Name": "c",\n    "Image": "x:1",\n    "Command": [\n-    "sleep",\n-    "3600"\n'
        '+    "x"\n    ],\n    "Args": null,\n    "WorkingDir": "",\n'
    )


def test_the_same_amount_in_other_words_is_no_change(stored: Pod) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1000m"
    assert update(stored, new) == []
    assert new["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("deadline", "errors"),
    [
        (50, []),
        (150, ["spec.activeDeadlineSeconds: Invalid value: 150: must be less than or equal to previous value"]),
        (
            None,
            ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
        ),
    ],
)
def test_the_deadline_only_comes_nearer(stored: Pod, deadline: int | None, errors: list[str]) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["activeDeadlineSeconds"] = deadline
    assert update(stored, new) == errors


def test_bad_metadata_is_reported_by_every_check_that_sees_it(stored: Pod) -> None:
    new = copy.deepcopy(stored)
    new["metadata"]["labels"] = {"a": "-"}
    errors = update(stored, new)
    assert len(errors) == 4
    assert len(set(errors)) == 1


def test_status_keeps_the_spec_and_its_class(stored: Pod) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["nodeName"] = "elsewhere"
    new["status"] = {"phase": "Running", "podIP": "10.0.0.1"}
    RULES.prepare_status(new, stored)
    assert status_errors(RULES, new, stored, True) == []
    assert "nodeName" not in new["spec"]
    assert new["status"] == {
        "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "qosClass": "Burstable",
    }  # fmt: skip


def test_a_finished_container_stays_finished_where_nothing_restarts_it(stored: Pod) -> None:
    stored["spec"]["restartPolicy"] = "Never"
    stored["status"]["containerStatuses"] = [{"name": "c", "state": {"terminated": {"exitCode": 1}}}]
    new = copy.deepcopy(stored)
    new["status"]["containerStatuses"][0]["state"] = {"running": {}}
    RULES.prepare_status(new, stored)
    assert [str(error) for error in status_errors(RULES, new, stored, True)] == [
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    ]


def test_resize_changes_cpu_and_memory_and_no_more(stored: Pod) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["containers"][0] |= {"image": "ignored", "resources": {"requests": {"cpu": "2"}}}
    RULES.prepare_resize(new, stored)
    assert RULES.validate_resize(new, stored) == []
    assert new["spec"]["containers"][0]["image"] == "x:1"
    new["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2", "ephemeral-storage": "1Gi"}}
    assert [str(error) for error in RULES.validate_resize(new, stored)] == [
        "spec: Forbidden: only cpu and memory resources are mutable"
    ]


def test_ephemeral_containers_are_only_added(stored: Pod) -> None:
    stored["spec"]["ephemeralContainers"] = [{"name": "e", "image": "x"}]
    RULES.default(stored)
    new = copy.deepcopy(stored)
    new["spec"]["ephemeralContainers"] = []
    RULES.prepare_ephemeral_containers(new, stored)
    assert [str(error) for error in RULES.validate_ephemeral_containers(new, stored)] == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed\n'
    ]


@pytest.mark.parametrize(
    ("node", "asked", "grace"), [("", None, 0), ("n", None, 30), ("n", 5, 5), ("n", -1, 1), ("n", 0, 0)]
)
def test_how_long_a_deleted_pod_may_take(stored: Pod, node: str, asked: int | None, grace: int) -> None:
    stored["spec"]["nodeName"] = node
    assert RULES.deletion_grace(stored, asked) == grace
