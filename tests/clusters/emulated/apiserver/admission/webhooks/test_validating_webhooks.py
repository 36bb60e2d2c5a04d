from __future__ import annotations

import time
from typing import Any

CONFIGMAPS: dict[str, Any] = {"resource": "configmaps"}


def test_causes_and_retry_after_reach_the_client(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "must not be 1", "field": "data.v"}]
    server.answers["/ok"] = answer.deny(
        message="not acceptable", code=422, reason="Invalid", details={"causes": causes}
    )
    register("validating", {})

    refusal = house.refusal(config(), **CONFIGMAPS)

    assert refusal.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'admission webhook "w.example.com" denied the request: not acceptable',
        "reason": "Invalid",
        "details": {"causes": causes},
        "code": 422,
    }
    server.answers["/ok"] = answer.deny(
        message="later", code=429, reason="TooManyRequests", details={"retryAfterSeconds": 7}
    )
    refusal = house.refusal(config(), **CONFIGMAPS)
    assert (refusal.code, refusal.retry_after_s, refusal.details) == (429, 7, {"retryAfterSeconds": 7})


def test_a_validating_webhook_does_not_patch(house: Any, server: Any, register: Any, answer: Any, config: Any) -> None:
    server.answers["/ok"] = answer.patch({"op": "add", "path": "/data/x", "value": "y"})
    register("validating", {})

    assert house.refusal(config(), **CONFIGMAPS).message == (
        'Internal error occurred: failed calling webhook "w.example.com": received invalid webhook response: '
        "validating webhook may not return response.patch"
    )


def test_warnings_arrive_with_a_denial_too(house: Any, server: Any, register: Any, answer: Any, config: Any) -> None:
    server.answers["/ok"] = lambda review: answer.allow(
        review, allowed=False, warnings=["careful", 'second "one", with comma'], auditAnnotations={"k": "v"}
    )
    register("validating", {})

    house.refusal(config(), **CONFIGMAPS)

    assert house.request.warnings == ["careful", 'second "one", with comma']
    assert house.request.audit_annotations["w.example.com/k"] == "v"


def test_all_are_asked_at_once_and_the_first_in_order_answers(
    house: Any, server: Any, register: Any, answer: Any, config: Any
) -> None:
    def slow_no(review: Any) -> Any:
        time.sleep(0.3)
        return answer.deny(message="slow")(review)

    server.answers["/slow"] = slow_no
    server.answers["/fast"] = answer.deny(message="fast")
    server.answers["/ok"] = answer.allow
    register(
        "validating",
        {"path": "/ok", "name": "a.example.com"},
        {"path": "/slow", "name": "b.example.com"},
        {"path": "/slow", "name": "b2.example.com"},
        {"path": "/fast", "name": "c.example.com"},
    )
    started = time.monotonic()

    refusal = house.refusal(config(), **CONFIGMAPS)

    assert refusal.message == 'admission webhook "b.example.com" denied the request: slow'
    assert time.monotonic() - started < 0.55
    assert len(server.paths) == 4


def test_a_webhook_that_fails_open_is_noted(house: Any, register: Any, config: Any) -> None:
    register("validating", {"url": "https://127.0.0.1:1/x", "failurePolicy": "Ignore"})

    house.admit(config(), **CONFIGMAPS)

    key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0"
    assert house.request.audit_annotations[key] == "w.example.com"
