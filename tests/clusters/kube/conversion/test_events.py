"""Events in core/v1 and events.k8s.io/v1: the same Event under other names."""

from __future__ import annotations

from clusters.kube.conversion.events import SELECTABLE_FIELDS, to_core, to_events

CORE = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "Started",
    "message": "Started container",
    "source": {"component": "kubelet"},
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:00:00Z",
    "count": 2,
    "type": "Normal",
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def test_names_of_the_new_api() -> None:
    event = to_events(CORE)
    assert event["apiVersion"] == "events.k8s.io/v1"
    assert (event["note"], event["deprecatedCount"]) == ("Started container", 2)
    assert event["regarding"] == CORE["involvedObject"]
    assert "reportingController" not in event


def test_there_and_back() -> None:
    assert to_core(to_events(CORE)) == CORE


def test_field_selectors_are_translated() -> None:
    assert SELECTABLE_FIELDS["regarding.name"] == "involvedObject.name"
