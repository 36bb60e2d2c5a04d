"""Tokens, reviews and other things that are asked and never stored."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.blocking import BlockingApi

AUTHENTICATION = "/apis/authentication.k8s.io/v1"
TOKENS = "/api/v1/namespaces/shop/serviceaccounts/default/token"


def test_a_requested_token_is_that_of_its_service_account(api: BlockingApi) -> None:
    issued = api.create(TOKENS, {"spec": {"expirationSeconds": 600}})
    review = api.create(f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": issued["status"]["token"]}})
    assert review["status"]["authenticated"] is True
    assert review["status"]["user"]["username"] == "system:serviceaccount:shop:default"
    me = api.with_token(issued["status"]["token"]).create(f"{AUTHENTICATION}/selfsubjectreviews", {})
    assert me["status"]["userInfo"]["username"] == "system:serviceaccount:shop:default"


def test_a_token_is_not_given_for_too_short(api: BlockingApi, refused: Any) -> None:
    error = refused(lambda: api.create(TOKENS, {"spec": {"expirationSeconds": 60}}))
    assert "may not specify a duration less than 10 minutes" in error.message


def test_who_may_do_what(api: BlockingApi) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    asked = {"spec": {"resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "shop"}}}
    assert api.create(path, asked)["status"]["allowed"] is True
    assert api.as_user("nobody", ("system:authenticated",)).create(path, asked)["status"]["allowed"] is False


def test_component_statuses_tell_who_listens(api: BlockingApi, refused: Any) -> None:
    listed = {each["metadata"]["name"]: each["conditions"][0] for each in api.get("/api/v1/componentstatuses")["items"]}
    assert listed["etcd-0"] == {"type": "Healthy", "status": "True", "message": "ok"}
    assert listed["scheduler"]["status"] == "False"
    assert refused(lambda: api.get("/api/v1/componentstatuses/x")).message == 'componentstatus "x" not found'
