from __future__ import annotations

import base64
import json
import socket
from typing import Any

import pytest

CONFIGMAPS: dict[str, Any] = {"resource": "configmaps"}
CALLED = 'Internal error occurred: failed calling webhook "w.example.com": '
MUTATED = "mutation.webhook.admission.k8s.io/round_0_index_0"


def test_the_question_is_complete(house: Any, server: Any, register: Any, answer: Any, config: Any) -> None:
    server.answers["/ok"] = answer.allow
    register("mutating", {})

    house.admit(config(v="1"), **CONFIGMAPS)

    assert server.paths == ["/ok?timeout=10s"]
    request = server.reviews[0]["request"]
    uid = request.pop("uid")
    assert len(uid) == 36
    assert server.reviews[0] == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"},
            "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
            "name": "cm",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
            "object": config(v="1"),
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }
    assert server.bodies[0].startswith(
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":'
    )
    assert server.bodies[0].endswith(b"}}\n")


def test_a_patch_changes_the_object_and_is_noted(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    operation = {"op": "add", "path": "/data/added", "value": "yes"}
    server.answers["/ok"] = answer.patch(operation)
    register("mutating", {})

    assert house.admit(config(v="1"), **CONFIGMAPS)["data"] == {"v": "1", "added": "yes"}

    notes = house.request.audit_annotations
    assert notes[MUTATED] == '{"configuration":"config","webhook":"w.example.com","mutated":true}'
    assert json.loads(notes["patch.webhook.admission.k8s.io/round_0_index_0"]) == {
        "configuration": "config",
        "webhook": "w.example.com",
        "patch": [operation],
        "patchType": "JSONPatch",
    }


@pytest.mark.parametrize(
    ("status", "code", "reason", "text"),
    [
        ({}, 400, "", "denied the request without explanation"),
        ({"message": "no configmaps on Fridays"}, 400, "", "denied the request: no configmaps on Fridays"),
        (
            {"message": "short and stout", "code": 418, "reason": "Teapot"},
            418,
            "Teapot",
            "denied the request: short and stout",
        ),
        ({"reason": "only a reason"}, 400, "only a reason", "denied the request: only a reason"),
        ({"message": "odd", "code": 200}, 400, "", "denied the request: odd"),
    ],
)
def test_a_denial_says_what_the_webhook_said(
    house: Any,
    server: Any,
    register: Any,
    answer: Any,
    config: Any,
    status: Any,
    code: int,
    reason: str,
    text: str,
) -> None:
    server.answers["/ok"] = answer.deny(**status)
    register("mutating", {})

    refusal = house.refusal(config(), **CONFIGMAPS)

    assert (refusal.code, refusal.reason) == (code, reason)
    assert refusal.message == f'admission webhook "w.example.com" {text}'


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_a_webhook_that_is_down_fails_the_request_or_is_ignored(house: Any, register: Any, config: Any) -> None:
    port = closed_port()
    register("mutating", {"url": f"https://127.0.0.1:{port}/x"})

    refusal = house.refusal(config(), **CONFIGMAPS)

    text = f'Post "https://127.0.0.1:{port}/x?timeout=10s": dial tcp 127.0.0.1:{port}: connect: connection refused'
    assert (refusal.code, refusal.reason) == (500, "InternalError")
    assert refusal.message == f"{CALLED}failed to call webhook: {text}"
    register("mutating", {"url": f"https://127.0.0.1:{port}/x", "failurePolicy": "Ignore"})
    house.admit(config(), **CONFIGMAPS)
    notes = house.request.audit_annotations
    assert notes["failed-open.mutation.webhook.admission.k8s.io/round_0_index_0"] == "w.example.com"


def test_a_slow_webhook_is_given_its_time(house: Any, server: Any, register: Any, config: Any) -> None:
    server.answers["/slow"] = server.slowly(3)
    register("mutating", {"path": "/slow", "timeoutSeconds": 1})

    assert house.refusal(config(), **CONFIGMAPS).message == (
        f'{CALLED}failed to call webhook: Post "{server.url("/slow")}?timeout=1s": context deadline exceeded'
    )


def replies(status: int, body: bytes, content_type: str = "application/json") -> Any:
    return lambda review: (status, content_type, body)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (replies(200, b""), "0-length response with status code: 200 and content type: application/json"),
        (
            replies(500, b"internal boom\n", "text/plain"),
            'an error on the server ("internal boom") has prevented the request from succeeding',
        ),
        (replies(500, b"{}"), 'an error on the server ("unknown") has prevented the request from succeeding'),
        (replies(404, b"x"), "the server could not find the requested resource"),
        (replies(400, b"x"), "the server rejected our request for an unknown reason"),
        (replies(403, b"go away", "text/plain"), "go away"),
        (
            replies(503, b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"from the Status"}'),
            "from the Status",
        ),
        (replies(200, b'{"a'), "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (
            replies(200, b"<html>hello</html>", "text/html"),
            "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type "
            r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }',
        ),
        (
            replies(200, b'{"kind":"Pod","apiVersion":"v1"}'),
            'no kind "Pod" is registered for version "v1" in scheme "pkg/util/webhook/client.go:71"',
        ),
        (
            lambda review: {**review, "response": {"uid": "u", "allowed": "yes"}},
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
        (
            lambda review: {**review, "response": {"uid": "u", "patch": "%%"}},
            "illegal base64 data at input byte 0",
        ),
    ],
)  # fmt: skip
def test_answers_that_are_none(house: Any, server: Any, register: Any, config: Any, reply: Any, text: str) -> None:
    server.answers["/ok"] = reply
    register("mutating", {})

    refusal = house.refusal(config(), **CONFIGMAPS)

    assert (refusal.code, refusal.message) == (500, f"{CALLED}failed to call webhook: {text}")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda review: review.pop("response"), "webhook response was absent"),
        (
            lambda review: review.pop("kind") and review.pop("apiVersion"),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        (
            lambda review: review["response"].update(patch="W10="),
            "webhook returned response.patch but not response.patchType",
        ),
        (
            lambda review: review["response"].update(patchType="JSONPatch"),
            "webhook returned response.patchType but not response.patch",
        ),
    ],
)  # fmt: skip
def test_responses_are_verified(
    house: Any, server: Any, register: Any, answer: Any, config: Any, change: Any, text: str
) -> None:
    def reply(review: Any) -> Any:
        made = answer.allow(review)
        change(made)
        return made

    server.answers["/ok"] = reply
    register("mutating", {})

    assert house.refusal(config(), **CONFIGMAPS).message == f"{CALLED}received invalid webhook response: {text}"


def test_the_uid_must_be_the_one_that_was_asked(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    server.answers["/ok"] = lambda review: answer.allow(review, uid="another")
    register("mutating", {})

    message = house.refusal(config(), **CONFIGMAPS).message

    uid = server.reviews[0]["request"]["uid"]
    assert message == f'{CALLED}received invalid webhook response: expected response.uid="{uid}", got "another"'


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_patch_that_does_not_apply_fails_whatever_the_policy(
    house: Any, server: Any, register: Any, answer: Any, config: Any, policy: str
) -> None:
    server.answers["/ok"] = answer.patch({"op": "replace", "path": "/spec/does/not/exist", "value": 1})
    register("mutating", {"failurePolicy": policy})

    refusal = house.refusal(config(), **CONFIGMAPS)

    assert (refusal.code, refusal.message) == (
        500,
        "Internal error occurred: replace operation does not apply: doc is missing path: "
        "/spec/does/not/exist: missing value",
    )


def test_a_patch_that_is_none_is_a_failed_call(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    server.answers["/ok"] = lambda review: answer.allow(review, patchType="JSONPatch", patch=encoded("this"))
    register("mutating", {})

    assert house.refusal(config(), **CONFIGMAPS).message == (
        f"{CALLED}received undecodable patch in webhook response: invalid character 'h' in literal true (expecting 'r')"
    )


def test_a_failed_test_operation(house: Any, server: Any, register: Any, answer: Any, config: Any) -> None:
    server.answers["/ok"] = answer.patch({"op": "test", "path": "/data/v", "value": "2"})
    register("mutating", {})

    assert house.refusal(config(v="1"), **CONFIGMAPS).message == (
        "Internal error occurred: testing value /data/v failed: test failed"
    )


def test_webhooks_run_by_configuration_name_and_see_each_others_changes(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    server.answers["/one"] = answer.patch({"op": "add", "path": "/data/one", "value": "1"})
    server.answers["/two"] = answer.patch({"op": "add", "path": "/data/two", "value": "2"})
    register("mutating", {"path": "/two"}, configuration="b")
    register("mutating", {"path": "/one"}, configuration="a")

    house.admit(config(), **CONFIGMAPS)

    assert [path.partition("?")[0] for path in server.paths] == ["/one", "/two"]
    assert server.reviews[1]["request"]["object"]["data"] == {"one": "1"}


def counting(server: Any, path: str, answer: Any) -> None:
    def reply(review: Any) -> Any:
        count = len([each for each in server.paths if each.startswith(path)])
        return answer.patch({"op": "add", "path": f"/data/{path[1:]}", "value": str(count)})(review)

    server.answers[path] = reply


@pytest.mark.parametrize(
    ("policy", "order"),
    [("Never", ["/w1", "/w2"]), ("IfNeeded", ["/w1", "/w2", "/w1", "/w2"])],
)
def test_reinvocation(
    house: Any, server: Any, register: Any, answer: Any, config: Any, policy: str, order: list[str]
) -> None:
    for path in ("/w1", "/w2"):
        counting(server, path, answer)
    register(
        "mutating",
        {"path": "/w1", "name": "w1.example.com", "reinvocationPolicy": policy},
        {"path": "/w2", "name": "w2.example.com", "reinvocationPolicy": policy},
    )

    house.admit(config(), **CONFIGMAPS)

    assert [path.partition("?")[0] for path in server.paths] == order


def test_built_in_plugins_see_what_a_webhook_added(
    house: Any, server: Any, register: Any, answer: Any, pod: Any
) -> None:
    sidecar = {"name": "side", "image": "y"}
    server.answers["/ok"] = answer.patch({"op": "add", "path": "/spec/containers/-", "value": sidecar})
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    register("mutating", {"rules": [rule]})

    containers = house.admit(pod())["spec"]["containers"]

    assert [container["name"] for container in containers] == ["c", "side"]
    assert containers[1]["volumeMounts"][0]["name"].startswith("kube-api-access-")


def test_configurations_of_admission_are_never_intercepted(house: Any, register: Any) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    register("mutating", {"url": f"https://127.0.0.1:{closed_port()}/x", "rules": [everything]})
    own = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "config"}}
    how: dict[str, Any] = {
        "group": "admissionregistration.k8s.io",
        "resource": "mutatingwebhookconfigurations",
        "namespace": "",
    }

    house.admit(own, operation="UPDATE", old=own, **how)

    assert house.refusal({"kind": "ClusterRole", "metadata": {"name": "c"}}, group="rbac.authorization.k8s.io",
                         resource="clusterroles", namespace="").code == 500  # fmt: skip


def test_dry_run_is_told_and_needs_a_webhook_without_side_effects(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    server.answers["/ok"] = answer.allow
    register("mutating", {"sideEffects": "NoneOnDryRun"})
    house.admit(config(), dry_run=True, **CONFIGMAPS)
    assert server.reviews[0]["request"]["dryRun"] is True
    register("mutating", {"sideEffects": "Some"})

    refusal = house.refusal(config(), dry_run=True, **CONFIGMAPS)

    assert (refusal.code, refusal.reason) == (400, "BadRequest")
    assert refusal.message == 'admission webhook "w.example.com" does not support dry run'


def test_v1beta1_reviews_are_not_verified_as_strictly(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    operations = encoded('[{"op":"add","path":"/data/x","value":"y"}]')
    server.answers["/ok"] = lambda review: answer.allow(review, uid="", patch=operations)
    register("mutating", {"admissionReviewVersions": ["v0", "v1beta1", "v1"]})

    assert house.admit(config(), **CONFIGMAPS)["data"] == {"x": "y"}
    assert server.reviews[0]["apiVersion"] == "admission.k8s.io/v1beta1"


def test_a_delete_cannot_be_patched(house: Any, server: Any, register: Any, answer: Any, config: Any) -> None:
    server.answers["/ok"] = answer.patch({"op": "add", "path": "/x", "value": 1})
    register("mutating", {})

    refusal = house.refusal(None, old=config(), operation="DELETE", kind="ConfigMap", **CONFIGMAPS)

    assert refusal.message == (
        'Internal error occurred: admission webhook "w.example.com" attempted to modify the object, '
        "which is not supported for this operation"
    )
    assert server.reviews[0]["request"]["object"] is None
    assert server.reviews[0]["request"]["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
    }


class TestServices:
    def test_where_a_service_leads(self, house: Any, server: Any, register: Any, answer: Any, config: Any) -> None:
        from clusters.emulated.outbound.dial import Address

        async def resolve(namespace: str, name: str, port: int) -> Address:
            assert (namespace, name, port) == ("default", "wh", 443)
            return Address("127.0.0.1", server.port)

        house.options["resolve_service"] = resolve
        server.answers["/ok"] = answer.allow
        client = {
            "service": {"namespace": "default", "name": "wh", "path": "/ok"},
            "caBundle": server.ca_bundle,
        }
        register("mutating", {"clientConfig": client})

        house.admit(config(), **CONFIGMAPS)

        assert server.paths == ["/ok?timeout=10s"]

    def test_a_service_that_does_not_exist(self, house: Any, server: Any, register: Any, config: Any) -> None:
        client = {
            "service": {"namespace": "default", "name": "gone", "path": "/ok"},
            "caBundle": server.ca_bundle,
        }
        register("mutating", {"clientConfig": client})

        assert house.refusal(config(), **CONFIGMAPS).message == (
            f'{CALLED}failed to call webhook: Post "https://gone.default.svc:443/ok?timeout=10s": '
            'service "gone" not found'
        )


def test_a_webhook_may_ask_for_a_retry(house: Any, server: Any, register: Any, answer: Any, config: Any) -> None:
    server.headers.append(("Retry-After", "0"))
    server.answers["/ok"] = lambda review: (
        (503, "text/plain", b"busy") if len(server.paths) < 3 else answer.allow(review)
    )
    register("mutating", {})

    house.admit(config(), **CONFIGMAPS)

    assert len(server.paths) == 3
    assert len({review["request"]["uid"] for review in server.reviews}) == 1


def test_what_is_left_of_the_request_bounds_the_call(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    server.answers["/ok"] = answer.allow
    register("mutating", {"timeoutSeconds": 30})
    attributes = house.attributes(config(), **CONFIGMAPS)
    attributes.request.deadline_s = house.clock.monotonic_s() + 4.5

    house.run(house._through(attributes))

    assert server.paths == ["/ok?timeout=5s"]


def test_reviews_are_written_as_go_writes_json(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    server.answers["/ok"] = answer.allow
    register("mutating", {})

    house.admit(config(v="<a> & b"), **CONFIGMAPS)

    assert rb'"v":"\u003ca\u003e \u0026 b"' in server.bodies[0]
    assert server.reviews[0]["request"]["object"]["data"] == {"v": "<a> & b"}
