"""Webhooks that authenticate and authorize: what they are asked, what is remembered, what failing means."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from clusters.emulated.apiserver.authentication.outcome import Circumstances, CredentialRefusedError
from clusters.emulated.apiserver.authentication.webhook import WebhookTokens
from clusters.emulated.apiserver.authorization.attributes import Attributes, Decision
from clusters.emulated.apiserver.authorization.webhook import WebhookAuthorizer
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.review_webhook import ReviewWebhook
from clusters.emulated.outbound.client import OutboundClient
from clusters.emulated.outbound.errors import DialError, UrlError
from clusters.emulated.outbound.response import OutboundResponse
from tests.clusters.emulated.apiserver.authentication.requests import SetClock

URL = "https://review.test/"
ALICE = UserInfo("alice", "u1", ("dev",), {"scopes": ("x",)})
PODS = Attributes(
    ALICE,
    "list",
    "",
    "v1",
    "pods",
    namespace="shop",
    field_selector="spec.nodeName=n",
    label_selector="a in (b),!c",
)


class Server:
    """Answers each review with the next status; an int is an HTTP status, an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.clock = SetClock()

    async def request(self, method: str, url: str, *, body: bytes, **more: Any) -> OutboundResponse:
        review = json.loads(body)
        self.asked.append(review)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return OutboundResponse(answer, "", (), b"broken")
        return OutboundResponse(200, "OK", (), json.dumps(review | {"status": answer}).encode())

    @property
    def webhook(self) -> ReviewWebhook:
        return ReviewWebhook(cast(OutboundClient, self), self.clock, URL)


def refused() -> UrlError:
    return UrlError("POST", URL, DialError("dial tcp 127.0.0.1:1: connect: connection refused"))


def test_the_question_is_a_subject_access_review() -> None:
    server = Server({"allowed": True, "reason": "fine"})
    verdict = asyncio.run(WebhookAuthorizer(server.webhook).ask(PODS))
    assert (verdict.allowed, verdict.reason) == (True, "fine")
    assert server.asked[0]["spec"] == {
        "resourceAttributes": {
            "namespace": "shop",
            "verb": "list",
            "version": "v1",
            "resource": "pods",
            "fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n"]}]},
            "labelSelector": {
                "requirements": [
                    {"key": "a", "operator": "In", "values": ["b"]},
                    {"key": "c", "operator": "DoesNotExist"},
                ]
            },
        },
        "user": "alice",
        "groups": ["dev"],
        "extra": {"scopes": ["x"]},
        "uid": "u1",
    }


def test_answers_are_remembered_for_a_while() -> None:
    server = Server({"allowed": False}, {"allowed": True})
    authorizer = WebhookAuthorizer(server.webhook, unauthorized_ttl_s=30)
    for time_s, decision in ((0, Decision.NO_OPINION), (29, Decision.NO_OPINION), (31, Decision.ALLOW)):
        server.clock.time_s = time_s
        assert asyncio.run(authorizer.ask(PODS)).decision is decision


def test_a_denial_ends_the_chain() -> None:
    server = Server({"allowed": False, "denied": True, "reason": "never"})
    verdict = asyncio.run(WebhookAuthorizer(server.webhook).ask(PODS))
    assert (verdict.decision, verdict.reason) == (Decision.DENY, "never")


@pytest.mark.parametrize("policy", [Decision.NO_OPINION, Decision.DENY])
def test_a_webhook_that_is_down(policy: Decision) -> None:
    server = Server(refused())
    verdict = asyncio.run(WebhookAuthorizer(server.webhook, decision_on_error=policy).ask(PODS))
    assert verdict.decision is policy
    assert verdict.error == f'Post "{URL}": dial tcp 127.0.0.1:1: connect: connection refused'


def test_a_server_error_is_tried_five_times() -> None:
    server = Server(500, 500, 500, 500, 500)
    started_s = server.clock.now_s()
    verdict = asyncio.run(WebhookAuthorizer(server.webhook).ask(PODS))
    assert verdict.error == 'an error on the server ("broken") has prevented the request from succeeding'
    assert len(server.asked) == 5
    assert server.clock.now_s() - started_s == pytest.approx(0.5 + 0.75 + 1.125 + 1.6875)


def test_a_webhook_knows_tokens() -> None:
    user = {"username": "jane", "uid": "1", "groups": ["g"], "extra": {"e": ["v"]}}
    server = Server({"authenticated": True, "user": user, "audiences": ["api", "other"]})
    tokens = WebhookTokens(server.webhook, ("api",))
    for _ in range(2):
        found = asyncio.run(tokens.authenticate("t", Circumstances()))
        assert found is not None
        assert found.user == UserInfo("jane", "1", ("g",), {"e": ("v",)})
        assert found.audiences == ("api",)
    assert [review["spec"] for review in server.asked] == [{"token": "t", "audiences": ["api"]}]


def test_tokens_that_a_webhook_does_not_take() -> None:
    server = Server(
        {"authenticated": False},
        {"authenticated": False, "error": "revoked"},
        {"authenticated": True, "audiences": ["other"]},
        refused(),
    )
    tokens = WebhookTokens(server.webhook, ("api",))

    def ask() -> object:
        return asyncio.run(tokens.authenticate("t", Circumstances()))

    assert ask() is None
    with pytest.raises(CredentialRefusedError, match="revoked"):
        ask()
    assert ask() is None
    with pytest.raises(CredentialRefusedError, match="connection refused"):
        ask()
