"""Token Secrets: filled, usable, and gone with their account."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster

BASE = "/api/v1/namespaces/shop"


@pytest.fixture
def shop(cluster: EmulatedCluster) -> EmulatedCluster:
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    cluster.api.create(f"{BASE}/serviceaccounts", {"metadata": {"name": "robot"}})
    return cluster


def settle(cluster: EmulatedCluster) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.advance(1)


def make_secret(cluster: EmulatedCluster, name: str = "key", account: str = "robot") -> None:
    metadata = {"name": name, "annotations": {"kubernetes.io/service-account.name": account}}
    cluster.api.create(f"{BASE}/secrets", {"metadata": metadata, "type": "kubernetes.io/service-account-token"})
    settle(cluster)


def data(cluster: EmulatedCluster, name: str = "key") -> dict[str, str]:
    found: dict[str, str] = cluster.api.get(f"{BASE}/secrets/{name}")["data"]
    return {key: base64.b64decode(value).decode() for key, value in found.items()}


def exists(cluster: EmulatedCluster, path: str) -> bool:
    return cluster.api.request("GET", path).code == 200


def test_a_token_secret_is_filled_with_a_token_that_works(shop: EmulatedCluster) -> None:
    make_secret(shop)
    found = data(shop)
    assert found["namespace"] == "shop"
    assert found["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    review: Any = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    answer = shop.api.with_token(found["token"]).create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer["status"]["userInfo"]["username"] == "system:serviceaccount:shop:robot"
    account = shop.api.get(f"{BASE}/serviceaccounts/robot")["metadata"]["uid"]
    annotations = shop.api.get(f"{BASE}/secrets/key")["metadata"]["annotations"]
    assert annotations["kubernetes.io/service-account.uid"] == account


def test_a_secret_of_nobody_is_deleted(shop: EmulatedCluster) -> None:
    make_secret(shop, account="ghost")
    assert not exists(shop, f"{BASE}/secrets/key")


def test_a_secret_goes_with_its_account(shop: EmulatedCluster) -> None:
    make_secret(shop)
    shop.api.delete(f"{BASE}/serviceaccounts/robot")
    settle(shop)
    assert not exists(shop, f"{BASE}/secrets/key")


def test_an_account_forgets_a_deleted_secret(shop: EmulatedCluster) -> None:
    make_secret(shop)
    shop.api.patch(f"{BASE}/serviceaccounts/robot", {"secrets": [{"name": "key"}, {"name": "other"}]})
    shop.api.delete(f"{BASE}/secrets/key")
    settle(shop)
    assert shop.api.get(f"{BASE}/serviceaccounts/robot")["secrets"] == [{"name": "other"}]


def test_a_token_that_was_taken_out_is_replaced(shop: EmulatedCluster) -> None:
    make_secret(shop)
    shop.api.patch(f"{BASE}/secrets/key", {"data": {"token": None, "ca.crt": "eA=="}})
    settle(shop)
    assert data(shop)["token"]
    assert data(shop)["ca.crt"] != "x"
