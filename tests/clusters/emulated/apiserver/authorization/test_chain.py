"""The chain of authorizers: who is asked, who ends it, what is left when nobody does."""

from __future__ import annotations

import asyncio

import pytest

from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.authorization.attributes import Attributes, Decision, Rules, Verdict
from clusters.emulated.apiserver.authorization.chain import (
    AlwaysAllow,
    AlwaysAllowPaths,
    AuthorizerChain,
    AuthorizerFailed,
    PrivilegedGroups,
)
from clusters.emulated.apiserver.request import UserInfo
from clusters.kube.errors import StatusError
from tests.clusters.emulated.apiserver.authentication.requests import request

ROOT = UserInfo("root", groups=("system:masters",))


class Says:
    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.asked = 0

    def decide(self, attributes: Attributes) -> Verdict:
        self.asked += 1
        return self.verdict

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        return Rules(incomplete=True, error=self.verdict.reason)


class SaysLater(Says):
    async def ask(self, attributes: Attributes) -> Verdict:
        return self.decide(attributes)


def shrug(reason: str, error: str = "") -> Verdict:
    return Verdict(Decision.NO_OPINION, reason, error)


def test_the_first_opinion_ends_it() -> None:
    never = Says(shrug("never"))
    denied = Verdict(Decision.DENY, "no")
    chain = AuthorizerChain([Says(shrug("a")), SaysLater(denied), never])
    assert asyncio.run(chain.authorize(Attributes(ROOT, "get"))) == denied
    assert never.asked == 0


def test_without_an_opinion_all_reasons_are_told() -> None:
    chain = AuthorizerChain([Says(shrug("one")), Says(shrug("")), SaysLater(shrug("two"))])
    asked = request()
    asked.user = UserInfo("alice")
    with pytest.raises(StatusError) as caught:
        asyncio.run(chain.require(asked))
    assert caught.value.message.endswith('in the namespace "shop": one\ntwo')
    assert asked.audit_annotations["authorization.k8s.io/decision"] == "forbid"


def test_a_broken_authorizer_is_an_internal_error() -> None:
    chain = AuthorizerChain([SaysLater(shrug("", "dial tcp: <refused>")), Says(shrug("no"))])
    with pytest.raises(AuthorizerFailed) as caught:
        asyncio.run(chain.require(request()))
    assert caught.value.code == 500
    assert caught.value.text == ('Internal Server Error: "/api/v1/namespaces/shop/pods": dial tcp: &lt;refused&gt;\n')


def test_masters_pass_whatever_comes_after() -> None:
    chain = AuthorizerChain([PrivilegedGroups(), Says(Verdict(Decision.DENY))])
    assert asyncio.run(chain.authorize(Attributes(ROOT, "delete"))).allowed


@pytest.mark.parametrize(
    ("path", "allowed"), [("/healthz", True), ("/healthz/etcd", False), ("/x/y/z", True), ("/metrics", False)]
)
def test_paths_that_are_always_allowed(path: str, allowed: bool) -> None:
    authorizer = AlwaysAllowPaths(("/healthz", "/x/*"))
    assert authorizer.decide(Attributes(ROOT, "get", is_resource=False, path=path)).allowed is allowed


def test_rules_are_the_union() -> None:
    rules = AuthorizerChain([Says(shrug("cannot")), AlwaysAllow()]).rules_for(ROOT, "shop")
    assert (len(rules.resource_rules), rules.incomplete, rules.error) == (1, True, "cannot")


def test_other_hops_get_a_yes_or_a_no() -> None:
    asked: Authorize = AuthorizerChain([PrivilegedGroups()]).allows
    for user, allowed in ((ROOT, True), (UserInfo("alice"), False)):
        assert asyncio.run(_may_sign(asked, user)) is allowed


async def _may_sign(authorize: Authorize, user: UserInfo) -> bool:
    return await authorize(user, "sign", "certificates.k8s.io", "signers", "", "", "example.com/x")
