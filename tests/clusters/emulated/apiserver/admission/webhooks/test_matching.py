"""Which requests a webhook is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.apiserver.admission.matching import Resource
from clusters.emulated.apiserver.request import UserInfo

CONFIGMAPS: dict[str, Any] = {"resource": "configmaps"}


@pytest.fixture
def asked(house: Any, server: Any, register: Any, answer: Any, config: Any) -> Any:
    """Whether a webhook with these fields is asked about this request."""

    def ask(webhook: dict[str, Any], obj: Any = None, **how: Any) -> bool:
        server.answers["/ok"] = answer.allow
        register("mutating", webhook)
        server.paths.clear()
        house.admit(obj if obj is not None else config(), **(CONFIGMAPS | how))
        return bool(server.paths)

    return ask


def rule(**changes: Any) -> dict[str, Any]:
    plain = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {"rules": [plain | changes]}


@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        ({}, True),
        ({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}, True),
        ({"apiGroups": ["apps"]}, False),
        ({"apiVersions": ["v2"]}, False),
        ({"operations": ["UPDATE", "DELETE"]}, False),
        ({"resources": ["secrets", "configmaps/*"]}, True),
        ({"resources": ["configmaps/status"]}, False),
        ({"scope": "Namespaced"}, True),
        ({"scope": "Cluster"}, False),
    ],
)
def test_rules(asked: Any, changes: Any, matches: bool) -> None:
    assert asked(rule(**changes)) is matches


def test_the_namespaces_labels_select(house: Any, asked: Any) -> None:
    assert asked({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}})
    assert not asked({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}})


def test_cluster_scoped_objects_match_any_namespace_selector_but_namespaces_their_own_labels(
    asked: Any,
) -> None:
    chosen = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    everything = rule(apiGroups=["*"], resources=["*"])
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}}
    assert asked(everything | chosen, role, group="rbac.authorization.k8s.io", resource="clusterroles", namespace="")
    plain = {"kind": "Namespace", "metadata": {"name": "n"}}
    assert not asked(everything | chosen, plain, resource="namespaces", namespace="")
    labelled = {"kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "b"}}}
    assert asked(everything | chosen, labelled, resource="namespaces", namespace="")


def test_the_object_selector_looks_at_both_objects(asked: Any, config: Any) -> None:
    selector = {"objectSelector": {"matchLabels": {"a": "b"}}, **rule(operations=["UPDATE"])}
    old = config()
    old["metadata"]["labels"] = {"a": "b"}
    assert asked(selector, config(), old=old, operation="UPDATE")
    assert not asked(selector, config(), old=config(), operation="UPDATE")


def test_an_equivalent_resource_is_converted_to_the_version_of_the_rule(house: Any, asked: Any, server: Any) -> None:
    ways = [
        Resource("apps", "v1", "deployments", "Deployment", "apps", "v1"),
        Resource("extensions", "v1beta1", "deployments", "Deployment", "extensions", "v1beta1"),
    ]
    house.options["equivalents"] = lambda group, version, resource, subresource: ways
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default"},
    }
    old_rule = rule(apiGroups=["extensions"], apiVersions=["v1beta1"], resources=["deployments"])
    how: dict[str, Any] = {"group": "apps", "resource": "deployments"}

    assert asked(old_rule, deployment, **how)

    request = server.reviews[0]["request"]
    assert request["kind"] == {"group": "extensions", "version": "v1beta1", "kind": "Deployment"}
    assert request["requestKind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert request["object"]["apiVersion"] == "extensions/v1beta1"
    assert not asked(old_rule | {"matchPolicy": "Exact"}, deployment, **how)


class TestMatchConditions:
    def test_all_must_hold(self, asked: Any) -> None:
        yes = {"name": "yes", "expression": "request.operation == 'CREATE' && object.metadata.name == 'cm'"}
        no = {"name": "no", "expression": "request.userInfo.username == 'somebody'"}

        assert asked({"matchConditions": [yes]})
        assert not asked({"matchConditions": [yes, no]})

    def test_an_error_is_403_unless_failures_are_ignored(
        self, house: Any, asked: Any, register: Any, config: Any
    ) -> None:
        wrong = {"matchConditions": [{"name": "x", "expression": "object.metadata.labels['nope'] == 'x'"}]}
        register("mutating", wrong)

        refusal = house.refusal(config("cm51"), **CONFIGMAPS)

        assert (refusal.code, refusal.message) == (
            403,
            "configmaps \"cm51\" is forbidden: expression 'object.metadata.labels['nope'] == 'x'' "
            "resulted in error: no such key: labels",
        )
        assert not asked(wrong | {"failurePolicy": "Ignore"})

    def test_a_false_condition_wins_over_an_error(self, asked: Any) -> None:
        wrong = {"name": "x", "expression": "object.metadata.labels['nope'] == 'x'"}
        no = {"name": "no", "expression": "false"}

        assert not asked({"matchConditions": [wrong, no]})

    def test_the_authorizer_can_be_asked(self, house: Any, asked: Any) -> None:
        check = "authorizer.group('').resource('configmaps').name('break-glass').check('use').allowed()"
        conditions = {"matchConditions": [{"name": "a", "expression": f"!{check}"}]}
        alice = UserInfo("alice")

        assert asked(conditions, user=alice)
        house.allowed.add(("alice", "use", "break-glass"))
        assert not asked(conditions, user=alice)
