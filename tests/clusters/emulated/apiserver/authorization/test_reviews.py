"""SubjectAccessReview and its kin."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clusters.emulated.apiserver.authorization import rbac, reviews
from clusters.emulated.apiserver.authorization.chain import AuthorizerChain, PrivilegedGroups
from clusters.emulated.apiserver.authorization.rbac import RbacAuthorizer
from clusters.kube.errors import StatusError
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects
from tests.clusters.emulated.apiserver.authorization.test_rbac import (
    ALICE,
    GROUP_DEV,
    binding,
    cluster_role,
    rule,
)


@pytest.fixture
def chain() -> AuthorizerChain:
    objects = MemoryObjects()
    objects.put(
        rbac.CLUSTER_ROLES,
        cluster_role("r", rule("get", "", "pods"), {"verbs": ["get"], "nonResourceURLs": ["/logs"]}),
    )
    objects.put(rbac.CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "r", GROUP_DEV))
    return AuthorizerChain([PrivilegedGroups(), RbacAuthorizer(objects)])


def review(kind: str, **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": spec}


def problem(coroutine: Any) -> str:
    with pytest.raises(StatusError) as caught:
        asyncio.run(coroutine)
    return caught.value.message


def test_somebody_elses_rights(chain: AuthorizerChain) -> None:
    pods = {"verb": "get", "resource": "pods", "namespace": "shop"}
    asked = review("SubjectAccessReview", groups=["dev"], resourceAttributes=pods)
    assert asyncio.run(reviews.subject_access_review(asked, chain)) == {
        **asked,
        "status": {
            "allowed": True,
            "reason": 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "dev"',
        },
    }
    asked = review("SubjectAccessReview", user="bob", resourceAttributes=pods)
    assert asyncio.run(reviews.subject_access_review(asked, chain))["status"] == {"allowed": False}


def test_own_rights(chain: AuthorizerChain) -> None:
    asked = review("SelfSubjectAccessReview", nonResourceAttributes={"path": "/logs", "verb": "get"})
    assert asyncio.run(reviews.self_subject_access_review(asked, ALICE, chain))["status"]["allowed"]


def test_reviews_that_are_refused(chain: AuthorizerChain) -> None:
    empty = {**review("SubjectAccessReview"), "metadata": {"labels": {"a": "b"}, "name": "x"}}
    assert problem(reviews.subject_access_review(empty, chain)) == (
        '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of '
        "nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "
        '"": at least one of user or group must be specified, metadata: Invalid value: '
        '{"name":"x","labels":{"a":"b"}}: must be empty]'
    )
    both = review(
        "SelfSubjectAccessReview",
        resourceAttributes={"verb": "get"},
        nonResourceAttributes={"path": "/x", "verb": "get"},
    )
    assert problem(reviews.self_subject_access_review(both, ALICE, chain)) == (
        '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: '
        '{"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes'
    )
    local = review("LocalSubjectAccessReview", user="u", resourceAttributes={"namespace": "other"})
    local["metadata"] = {"namespace": "shop"}
    assert problem(reviews.local_subject_access_review(local, "shop", chain)) == (
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": '
        "must match metadata.namespace"
    )


def test_selectors_that_are_not_understood_are_ignored_aloud(chain: AuthorizerChain) -> None:
    attributes = {
        "verb": "list",
        "resource": "pods",
        "fieldSelector": {
            "requirements": [
                {"key": "a", "operator": "In", "values": ["x", "y"]},
                {"key": "b", "operator": "In", "values": ["y"]},
            ]
        },
        "labelSelector": {"rawSelector": "a in ("},
    }
    asked = review("SubjectAccessReview", user="u", resourceAttributes=attributes)
    assert asyncio.run(reviews.subject_access_review(asked, chain))["status"] == {
        "allowed": False,
        "evaluationError": "spec.resourceAttributes.fieldSelector partially ignored due to parse error; "
        "spec.resourceAttributes.labelSelector ignored due to parse error",
    }
    attributes["labelSelector"] = {}
    assert problem(reviews.subject_access_review(asked, chain)).endswith(
        "spec.resourceAttributes.labelSelector.requirements: Required value: when "
        "spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required"
    )


def test_all_my_rules(chain: AuthorizerChain) -> None:
    asked = review("SelfSubjectRulesReview", namespace="shop")
    assert reviews.self_subject_rules_review(asked, ALICE, chain) == {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": {
            "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/logs"]}],
            "incomplete": False,
        },
    }
    with pytest.raises(StatusError, match="no namespace on request"):
        reviews.self_subject_rules_review(review("SelfSubjectRulesReview"), ALICE, chain)
