"""TokenReview and SelfSubjectReview."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clusters.emulated.apiserver.authentication.authenticator import Authenticator
from clusters.emulated.apiserver.authentication.reviews import self_subject_review, token_review
from clusters.emulated.apiserver.authentication.static_tokens import StaticTokens
from clusters.emulated.apiserver.request import UserInfo
from clusters.kube.errors import StatusError

TOKENS = StaticTokens.from_csv('t-alice,alice,u1,"dev"\n')
AUTHENTICATOR = Authenticator(tokens=[TOKENS], audiences=("api",))
ALICE = {"username": "alice", "uid": "u1", "groups": ["dev", "system:authenticated"]}


def status(token: str, *audiences: str) -> Any:
    spec: dict[str, Any] = {"token": token} | ({"audiences": list(audiences)} if audiences else {})
    asked = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}, "spec": spec}
    answer = asyncio.run(token_review(asked, AUTHENTICATOR))
    assert answer["spec"] == spec
    return answer["status"]


def test_a_good_token() -> None:
    assert status("t-alice") == {"authenticated": True, "user": ALICE, "audiences": ["api"]}


def test_a_static_token_is_good_for_the_api_server_only() -> None:
    assert status("t-alice", "vault") == {"user": {}, "error": "invalid bearer token"}
    assert status("t-alice", "vault", "api")["audiences"] == ["api"]


def test_a_bad_token_is_an_answer() -> None:
    assert status("nobody") == {"user": {}, "error": "invalid bearer token"}


def test_a_token_behind_a_space_is_nobody() -> None:
    assert status(" t-alice")["user"] == {
        "username": "system:anonymous",
        "groups": ["system:unauthenticated"],
    }


def test_a_token_is_required() -> None:
    with pytest.raises(StatusError, match="token is required for TokenReview in authentication"):
        status("")


def test_who_am_i() -> None:
    asked = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    user = UserInfo("alice", "u1", ("dev",), {"b": ("2",), "a": ("1",)})
    assert self_subject_review(asked, user, 0) == {
        **asked,
        "metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"},
        "status": {
            "userInfo": {
                "username": "alice",
                "uid": "u1",
                "groups": ["dev"],
                "extra": {"a": ["1"], "b": ["2"]},
            }
        },
    }
