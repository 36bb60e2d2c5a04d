from __future__ import annotations

from typing import Any

CONFIGMAPS: dict[str, Any] = {"resource": "configmaps"}


def json_patch(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def apply(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def test_a_json_patch_from_an_expression(house: Any, policies: Any, config: Any) -> None:
    policies.mutating(
        mutations=[json_patch("[JSONPatch{op: 'add', path: '/data/who', value: request.userInfo.username}]")]
    )

    assert house.admit(config(v="1"), **CONFIGMAPS)["data"] == {"v": "1", "who": "admin"}


def test_a_test_operation_that_fails_leaves_the_object_as_it_is(house: Any, policies: Any, config: Any) -> None:
    patch = "[JSONPatch{op: 'test', path: '/data/v', value: '2'}, JSONPatch{op: 'remove', path: '/data/v'}]"
    policies.mutating(mutations=[json_patch(patch)])

    assert house.admit(config(v="1"), **CONFIGMAPS)["data"] == {"v": "1"}


def test_an_apply_configuration_is_merged(house: Any, policies: Any, pod: Any) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    container = "Object.spec.containers{name: 'side', image: 'y'}"
    policies.mutating(
        matchConstraints={"resourceRules": [rule]},
        mutations=[apply(f"Object{{spec: Object.spec{{containers: [{container}]}}}}")],
    )

    containers = house.admit(pod())["spec"]["containers"]

    assert sorted(container["name"] for container in containers) == ["c", "side"]
    # The second pass of the built-in plugins gave the new container its token, too.
    assert all("volumeMounts" in container for container in containers)


def test_atomic_values_are_not_replaced_by_accident(house: Any, policies: Any, pod: Any) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    policies.mutating(
        matchConstraints={"resourceRules": [rule]},
        mutations=[apply("Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'k'}]}}")],
    )

    refusal = house.refusal(pod())

    assert (refusal.code, refusal.reason) == (403, "Invalid")
    assert refusal.message == (
        "policy 'pol' with binding 'pol-b' denied request: error applying patch: invalid ApplyConfiguration: "
        "may not mutate atomic arrays, maps or structs: .spec.tolerations"
    )


def test_errors_go_by_the_failure_policy(house: Any, policies: Any, config: Any) -> None:
    wrong = [json_patch("[JSONPatch{op: 'remove', path: '/data/nope'}]")]
    policies.mutating(mutations=wrong)
    refusal = house.refusal(config(v="1"), **CONFIGMAPS)
    assert refusal.message.startswith("policy 'pol' with binding 'pol-b' denied request: JSON Patch: ")
    assert refusal.details["causes"] == [{"message": refusal.message}]
    policies.mutating(mutations=wrong, failurePolicy="Ignore")
    house.admit(config(v="1"), **CONFIGMAPS)


def test_policies_see_each_others_changes_and_may_be_asked_again(house: Any, policies: Any, config: Any) -> None:
    count = "[JSONPatch{op: 'add', path: '/data/%s', value: string(size(object.data))}]"
    policies.mutating("a", mutations=[json_patch(count % "a")], reinvocationPolicy="IfNeeded")
    policies.mutating("b", mutations=[json_patch(count % "b")])

    # a counts 0 keys, b one; then a is asked again and counts both.
    assert house.admit(config(), **CONFIGMAPS)["data"] == {"a": "2", "b": "1"}


def test_match_conditions_spare_a_request(house: Any, policies: Any, config: Any) -> None:
    policies.mutating(
        matchConditions=[{"name": "x", "expression": "object.metadata.name == 'x'"}],
        variables=[{"name": "label", "expression": "object.metadata.name + '!'"}],
        mutations=[json_patch("[JSONPatch{op: 'add', path: '/data/label', value: variables.label}]")],
    )

    assert house.admit(config("y"), **CONFIGMAPS)["data"] == {}
    assert house.admit(config("x"), **CONFIGMAPS)["data"] == {"label": "x!"}


def test_a_policy_that_may_be_asked_again_is_even_when_it_is_alone(house: Any, policies: Any, config: Any) -> None:
    append = [json_patch("[JSONPatch{op: 'add', path: '/data/n', value: object.data.n + 'x'}]")]

    policies.mutating(mutations=append, reinvocationPolicy="IfNeeded")
    assert house.admit(config(n=""), **CONFIGMAPS)["data"] == {"n": "xx"}
    policies.mutating(mutations=append, reinvocationPolicy="Never")
    assert house.admit(config(n=""), **CONFIGMAPS)["data"] == {"n": "x"}
