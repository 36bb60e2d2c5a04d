"""The audit log: what is noted of a request, by policy."""

from __future__ import annotations

import json

import pytest

from clusters.emulated.apiserver.audit import AuditLog, AuditPolicy
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.apiserver.request_info import request_info
from clusters.emulated.clock import RealClock
from clusters.emulated.control_plane import ControlPlaneOptions

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
BOB = UserInfo("bob", groups=("system:authenticated",))


def test_each_request_is_a_line_of_the_file(on_server, tmp_path):
    file = tmp_path / "audit.log"

    async def scenario(asked):
        await asked("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, user_agent="test/1")
        await asked("GET", CONFIG_MAPS, user=BOB)

    on_server(scenario, ControlPlaneOptions(audit_log=file))
    created, refused = (json.loads(line) for line in file.read_text().splitlines())
    assert (created["stage"], created["level"], created["verb"]) == ("ResponseComplete", "Metadata", "create")
    assert created["objectRef"] == {
        "resource": "configmaps", "namespace": "default", "apiVersion": "v1",
    }  # fmt: skip
    assert created["userAgent"] == "test/1"
    assert created["responseStatus"] == {"metadata": {}, "code": 201}
    assert (refused["user"]["username"], refused["responseStatus"]["reason"]) == ("bob", "Forbidden")
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert file.stat().st_mode & 0o777 == 0o600


def logged(policy, *, answer=b'{"b":2}', failed=False):
    http = HttpRequest("POST", CONFIG_MAPS, CONFIG_MAPS, "", body=b'{"a":1}', remote_address="10.0.0.7:1234")
    request = Request(http, request_info("POST", CONFIG_MAPS, {}), {}, "id", 1.0, 0.0, user=BOB)
    request.failed = failed
    log = AuditLog(None, RealClock(), AuditPolicy(policy))
    log.answered(request, HttpResponse(201, [], answer))
    return list(log.events)


@pytest.mark.parametrize(
    ("level", "objects"),
    [
        ("Metadata", {}),
        ("Request", {"requestObject": {"a": 1}}),
        ("RequestResponse", {"requestObject": {"a": 1}, "responseObject": {"b": 2}}),
    ],
)
def test_the_level_says_how_much_is_noted(level, objects):
    _, event = logged({"rules": [{"level": level}]})
    assert {name: event[name] for name in ("requestObject", "responseObject") if name in event} == objects
    assert event["sourceIPs"] == ["10.0.0.7"]


@pytest.mark.parametrize(
    ("rule", "noted"),
    [
        ({}, True),
        ({"users": ["bob"]}, True),
        ({"users": ["eve"]}, False),
        ({"userGroups": ["system:authenticated"], "verbs": ["create"]}, True),
        ({"verbs": ["get"]}, False),
        ({"resources": [{"group": "", "resources": ["configmaps"]}]}, True),
        ({"resources": [{"group": "apps"}]}, False),
        ({"resources": [{"group": "", "resources": ["configmaps/*"]}], "namespaces": ["default"]}, True),
        ({"namespaces": ["kube-system"]}, False),
        ({"nonResourceURLs": ["/api*"]}, False),
    ],
)
def test_the_first_rule_that_matches_decides(rule, noted):
    policy = {"omitStages": ["RequestReceived"], "rules": [{"level": "Metadata", **rule}]}
    assert bool(logged(policy)) is noted


def test_stages_can_be_left_out_and_a_crash_is_a_panic():
    everything = {"rules": [{"level": "Metadata"}]}
    assert [event["stage"] for event in logged(everything)] == ["RequestReceived", "ResponseComplete"]
    assert [event["stage"] for event in logged(everything, failed=True)] == ["RequestReceived", "Panic"]
    omitted = {"omitStages": ["RequestReceived"], "rules": [{"level": "Metadata", "omitStages": ["ResponseComplete"]}]}
    assert logged(omitted) == []


def test_managed_fields_can_be_left_out():
    answer = json.dumps({"metadata": {"name": "a", "managedFields": [{}]}}).encode()
    policy = {"omitManagedFields": True, "rules": [{"level": "RequestResponse"}]}
    assert logged(policy, answer=answer)[-1]["responseObject"] == {"metadata": {"name": "a"}}


def test_memory_keeps_only_the_last_events():
    log = AuditLog(None, RealClock(), kept_max=2)
    for name in "abc":
        target = f"{CONFIG_MAPS}/{name}"
        http = HttpRequest("GET", target, target, "")
        request = Request(http, request_info("GET", target, {}), {}, name, 1.0, 0.0, user=BOB)
        log.answered(request, HttpResponse(200))
    assert [event["objectRef"]["name"] for event in log.events] == ["b", "c"]
    assert log.count == 3
