"""Tokens with which new nodes join."""

from __future__ import annotations

import asyncio
import base64

import pytest

from clusters.emulated.apiserver.authentication.bootstrap_tokens import SECRET_TYPE, BootstrapTokens
from clusters.emulated.apiserver.authentication.outcome import Circumstances
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.clock.clock import rfc3339
from tests.clusters.emulated.apiserver.authentication.certificates import NOW_S
from tests.clusters.emulated.apiserver.authentication.requests import SetClock
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects

TOKEN = "abcdef.0123456789abcdef"
GOOD = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
    "expiration": rfc3339(NOW_S + 60),
}


def authenticate(changes: dict[str, str], token: str = TOKEN) -> UserInfo | None:
    objects = MemoryObjects()
    data = {name: base64.b64encode(value.encode()).decode() for name, value in (GOOD | changes).items()}
    metadata = {"name": "bootstrap-token-abcdef", "namespace": "kube-system"}
    objects.put("secrets", {"metadata": metadata, "type": SECRET_TYPE, "data": data})
    found = asyncio.run(BootstrapTokens(objects, SetClock()).authenticate(token, Circumstances()))
    return None if found is None else found.user


def test_a_good_token() -> None:
    groups = ("system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token")
    assert authenticate({}) == UserInfo("system:bootstrap:abcdef", groups=groups)
    assert authenticate({"expiration": ""}) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"expiration": rfc3339(NOW_S)},
        {"expiration": "tomorrow"},
        {"usage-bootstrap-authentication": "false"},
        {"token-secret": "another"},
        {"token-id": "fedcba"},
        {"auth-extra-groups": "system:masters"},
    ],
)
def test_tokens_that_are_not_known(changes: dict[str, str]) -> None:
    assert authenticate(changes) is None


@pytest.mark.parametrize(
    "token", ["abcdef", "ABCDEF.0123456789abcdef", "abcdef.0123456789abcdef0", "bbbbbb.0123456789abcdef"]
)
def test_texts_that_are_no_such_token(token: str) -> None:
    assert authenticate({}, token) is None
