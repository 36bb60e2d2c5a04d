"""Priority and fairness: which level a request belongs to, and what happens when there is no seat."""

from __future__ import annotations

import asyncio
import json

import pytest

from clusters.emulated.apiserver.flowcontrol.level import PriorityLevel, RejectionError
from clusters.emulated.apiserver.flowcontrol.matching import matcher
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.request_info import request_info
from clusters.emulated.clock import RealClock, ScaledClock
from clusters.emulated.control_plane import ControlPlaneOptions

BOB = UserInfo("bob", groups=("system:authenticated",))
NODE = UserInfo("system:node:n1", groups=("system:nodes", "system:authenticated"))
ACCOUNT = UserInfo(
    "system:serviceaccount:kube-system:job-controller",
    groups=("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
FLOW, LEVEL = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"


async def uid(asked, resource: str, name: str) -> str:
    found = await asked.document(f"/apis/flowcontrol.apiserver.k8s.io/v1/{resource}/{name}")
    return found["metadata"]["uid"]


@pytest.mark.parametrize(
    ("user", "method", "target", "schema", "level"),
    [
        (None, "GET", "/api/v1/pods", "exempt", "exempt"),
        (BOB, "GET", "/healthz", "probes", "exempt"),
        (BOB, "GET", "/api/v1/pods", "global-default", "global-default"),
        (NODE, "GET", "/api/v1/pods", "system-nodes", "system"),
        (NODE, "PUT", f"{LEASES}/n1", "system-node-high", "node-high"),
        (ACCOUNT, "GET", "/api/v1/pods", "kube-system-service-accounts", "workload-high"),
    ],
)  # fmt: skip
def test_every_response_names_its_flow_schema_and_level(on_server, user, method, target, schema, level):
    async def scenario(asked):
        answered = await (asked(method, target) if user is None else asked(method, target, {}, user=user))
        return answered, await uid(asked, "flowschemas", schema), await uid(asked, "prioritylevelconfigurations", level)

    answered, schema_uid, level_uid = on_server(scenario)
    assert answered.headers[-2:] == [(FLOW, schema_uid), (LEVEL, level_uid)]


def test_seats_are_shared_out_by_the_levels_shares(on_server):
    async def scenario(asked):
        await asked("GET", "/version")
        levels = asked.server.flow_control.levels
        return {name: (each.limit, each.limit - each.lendable) for name, each in levels.items()}

    # As a real server's apiserver_flowcontrol_nominal_limit_seats and …_lower_limit_seats have it.
    assert on_server(scenario) == {
        "catch-all": (13, 13), "exempt": (0, 0), "global-default": (49, 24), "leader-election": (25, 25),
        "node-high": (98, 73), "system": (74, 50), "workload-high": (98, 49), "workload-low": (245, 24),
    }  # fmt: skip


def test_a_starved_level_keeps_requests_waiting_and_then_says_429(on_server):
    async def scenario(asked):
        flow = asked.server.flow_control
        with flow.starve("global-default") as lever:
            rejected = await asked("GET", "/api/v1/pods", user=BOB)
            exempt = await asked("GET", "/api/v1/pods")
        healed = await asked("GET", "/api/v1/pods", user=BOB)
        return rejected, exempt, healed, lever.fired, flow.levels["global-default"]

    # Fifteen seconds of cluster time pass while it waits.
    rejected, exempt, healed, fired, level = on_server(scenario, ControlPlaneOptions(clock=ScaledClock(60)))
    assert (rejected.status, rejected.body) == (429, b"Too many requests, please try again later.\n")
    assert ("Content-Type", "text/plain; charset=utf-8") in rejected.headers
    assert ("Retry-After", "1") in rejected.headers
    assert (exempt.status, healed.status, fired) == (200, 403, 1)
    assert (level.executing, level.waiting) == (0, 0)


def test_a_level_that_does_not_queue_rejects_at_once(on_server):
    async def scenario(asked):
        path = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/global-default"
        change = {"spec": {"limited": {"limitResponse": {"type": "Reject", "queuing": None}}}}
        patched = await asked("PATCH", path, change, content_type="application/merge-patch+json")
        assert patched.status == 200, patched.body
        with asked.server.flow_control.starve("global-default"):
            return await asked("GET", "/api/v1/pods", user=BOB)

    assert on_server(scenario).status == 429


def test_healing_lets_those_who_wait_through(on_server):
    async def scenario(asked):
        flow = asked.server.flow_control
        with flow.starve("global-default"):
            waiting = [asyncio.create_task(asked("GET", "/api/v1/pods", user=BOB)) for _ in range(3)]
            while flow.levels["global-default"].waiting < 3:
                await asyncio.sleep(0)
        return [(await each).status for each in waiting], flow.levels["global-default"].executing

    assert on_server(scenario) == ([403, 403, 403], 0)


def test_a_client_that_goes_away_leaves_its_queue(on_server):
    async def scenario(asked):
        flow = asked.server.flow_control
        with flow.starve("global-default"):
            waiting = asyncio.create_task(asked("GET", "/api/v1/pods", user=BOB))
            while not flow.levels["global-default"].waiting:
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return flow.levels["global-default"].waiting

    assert on_server(scenario) == 0


def test_a_new_flow_schema_takes_effect_for_the_next_request(on_server):
    async def scenario(asked):
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
        subject = {"kind": "User", "user": {"name": "bob"}}
        schema = {
            "metadata": {"name": "bob"},
            "spec": {
                "matchingPrecedence": 50,
                "priorityLevelConfiguration": {"name": "workload-low"},
                "rules": [{"subjects": [subject], "resourceRules": [everything]}],
            },
        }
        created = await asked("POST", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", schema)
        answered = await asked("GET", "/api/v1/pods", user=BOB)
        return json.loads(created.body)["metadata"]["uid"], dict(answered.headers)[FLOW]

    created, used = on_server(scenario)
    assert created == used


def test_streams_other_than_watches_are_not_classified(on_server):
    target = "/api/v1/namespaces/default/pods/web/log"
    assert FLOW not in dict(on_server(lambda asked: asked("GET", target)).headers)


def rule(**resources):
    subject = {"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}}
    defaults = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods", "pods/status"], "namespaces": ["*"]}
    return {"spec": {"rules": [{"subjects": [subject], "resourceRules": [{**defaults, **resources}]}]}}


@pytest.mark.parametrize(
    ("schema", "target", "matches"),
    [
        (rule(), "/api/v1/namespaces/n/pods", True),
        (rule(), "/api/v1/pods", False),  # Cluster-wide requests have to be asked for.
        (rule(clusterScope=True), "/api/v1/pods", True),
        (rule(namespaces=["m"]), "/api/v1/namespaces/n/pods", False),
        (rule(), "/apis/apps/v1/namespaces/n/deployments", False),
    ],
)
def test_rules_match_by_subject_verb_resource_and_scope(schema, target, matches):
    assert matcher(schema)(ACCOUNT, request_info("GET", target, {})) is matches
    assert not matcher(schema)(BOB, request_info("GET", target, {}))


def test_a_full_queue_turns_requests_away():
    async def scenario():
        queuing = {"queues": 1, "handSize": 1, "queueLengthLimit": 1}
        limited = {"limitResponse": {"type": "Queue", "queuing": queuing}}
        configured = {"metadata": {"name": "l"}, "spec": {"type": "Limited", "limited": limited}}
        level = PriorityLevel.of(configured, RealClock())
        first = asyncio.create_task(level.wait("a", 1, 10))
        await asyncio.sleep(0)
        with pytest.raises(RejectionError, match="queue-full"):
            await level.wait("b", 1, 10)
        level.dispatch(1)
        await first
        return level.executing, level.waiting

    assert asyncio.run(scenario()) == (1, 0)
