from __future__ import annotations

import json
from typing import Any

import pytest

CONFIGMAPS: dict[str, Any] = {"resource": "configmaps"}
EXPRESSION = "!has(object.data) || !('v' in object.data) || object.data['v'] != 'bad'"
DENIED = "configmaps \"cm\" is forbidden: ValidatingAdmissionPolicy 'pol' with binding 'pol-b' denied request: "


@pytest.mark.parametrize(
    ("validation", "code", "reason", "text"),
    [
        ({}, 422, "Invalid", f"failed expression: {EXPRESSION}"),
        ({"message": "v must not be bad"}, 422, "Invalid", "v must not be bad"),
        ({"message": "m", "messageExpression": "'got ' + object.data.v"}, 422, "Invalid", "got bad"),
        ({"message": "m", "messageExpression": "'got ' + object.data.w"}, 422, "Invalid", "m"),
        ({"message": "m", "messageExpression": "'two\\nlines'"}, 422, "Invalid", "m"),
        ({"message": "m", "reason": "Forbidden"}, 403, "Forbidden", "m"),
        ({"message": "m", "reason": "RequestEntityTooLarge"}, 413, "RequestEntityTooLarge", "m"),
    ],
)
def test_a_denial(house: Any, policies: Any, config: Any, validation: Any, code: int, reason: str, text: str) -> None:
    policies.validating(validations=[{"expression": EXPRESSION, **validation}])
    house.admit(config(v="good"), **CONFIGMAPS)

    refusal = house.refusal(config(v="bad"), **CONFIGMAPS)

    assert (refusal.code, refusal.reason, refusal.message) == (code, reason, DENIED + text)
    cause = f"ValidatingAdmissionPolicy 'pol' with binding 'pol-b' denied request: {text}"
    assert refusal.details == {"name": "cm", "kind": "configmaps", "causes": [{"message": cause}]}


def test_warn_and_audit(house: Any, policies: Any, config: Any) -> None:
    policies.validating(
        binding={"validationActions": ["Warn", "Audit"]},
        validations=[{"expression": "true"}, {"expression": EXPRESSION, "message": "v is bad"}],
    )

    house.admit(config(v="bad"), **CONFIGMAPS)

    assert house.request.warnings == [
        "Validation failed for ValidatingAdmissionPolicy 'pol' with binding 'pol-b': v is bad"
    ]
    note = house.request.audit_annotations["validation.policy.admission.k8s.io/validation_failure"]
    assert json.loads(note) == [
        {
            "message": "v is bad",
            "policy": "pol",
            "binding": "pol-b",
            "expressionIndex": 1,
            "validationActions": ["Warn", "Audit"],
        }
    ]


def test_errors_go_by_the_failure_policy(house: Any, policies: Any, config: Any) -> None:
    wrong = [{"expression": "object.spec.x > 1"}]
    policies.validating(validations=wrong)
    assert house.refusal(config(), **CONFIGMAPS).message == (
        f"{DENIED}expression 'object.spec.x > 1' resulted in error: no such key: spec"
    )
    policies.validating(validations=wrong, failurePolicy="Ignore")
    house.admit(config(), **CONFIGMAPS)


def test_variables_are_evaluated_when_they_are_used(house: Any, policies: Any, config: Any) -> None:
    variables = [
        {"name": "data", "expression": "has(object.data) ? object.data : {}"},
        {"name": "size", "expression": "variables.data.size()"},
        {"name": "wrong", "expression": "object.spec.nothing"},
    ]
    policies.validating(
        variables=variables,
        validations=[{"expression": "variables.size < 2 || variables.wrong == 1", "message": "too many"}],
    )

    house.admit(config(a="1"), **CONFIGMAPS)

    assert house.refusal(config(a="1", b="2"), **CONFIGMAPS).message == (
        f"{DENIED}expression 'variables.size < 2 || variables.wrong == 1' resulted in error: "
        'composited variable "wrong" fails to evaluate: no such key: spec'
    )


def test_match_conditions_and_constraints_choose_the_requests(house: Any, policies: Any, config: Any) -> None:
    no = [{"expression": "false", "message": "no"}]
    policies.validating(validations=no, matchConditions=[{"name": "x", "expression": "request.name.startsWith('x')"}])
    house.admit(config("cm"), **CONFIGMAPS)
    house.refusal(config("x1"), **CONFIGMAPS)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    constraints = {"resourceRules": [rule], "excludeResourceRules": [{**rule, "resourceNames": ["spared"]}]}
    policies.validating(validations=no, matchConstraints=constraints)
    house.admit(config("spared"), **CONFIGMAPS)
    house.refusal(config("other"), **CONFIGMAPS)


def test_bindings_narrow_a_policy(house: Any, policies: Any, config: Any) -> None:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "other"}}
    policies.validating(
        binding={"matchResources": {"namespaceSelector": selector}}, validations=[{"expression": "false"}]
    )

    house.admit(config(), **CONFIGMAPS)


PARAM_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
AT_MOST = [
    {
        "expression": "size(object.data) <= int(params.data.max)",
        "messageExpression": "'max is ' + params.data.max",
    }
]


class TestParameters:
    def parameter(self, house: Any, name: str, most: str, **labels: str) -> None:
        metadata = {"name": name, "namespace": "default", "labels": labels}
        house.objects.put("configmaps", {"metadata": metadata, "data": {"max": most}})

    def test_by_name(self, house: Any, policies: Any, config: Any) -> None:
        self.parameter(house, "limits", "1")
        policies.validating(
            binding={"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}},
            paramKind=PARAM_KIND,
            validations=AT_MOST,
        )

        house.admit(config(a="1"), **CONFIGMAPS)

        assert house.refusal(config(a="1", b="2"), **CONFIGMAPS).message == f"{DENIED}max is 1"

    def test_by_selector_all_of_them_must_agree(self, house: Any, policies: Any, config: Any) -> None:
        self.parameter(house, "a", "5", use="yes")
        self.parameter(house, "b", "1", use="yes")
        self.parameter(house, "c", "0", use="no")
        policies.validating(
            binding={"paramRef": {"selector": {"matchLabels": {"use": "yes"}}, "parameterNotFoundAction": "Allow"}},
            paramKind=PARAM_KIND,
            validations=AT_MOST,
        )

        assert house.refusal(config(a="1", b="2"), **CONFIGMAPS).message == f"{DENIED}max is 1"

    @pytest.mark.parametrize("action", ["Deny", "Allow"])
    def test_none_found(self, house: Any, policies: Any, config: Any, action: str) -> None:
        policies.validating(
            binding={"paramRef": {"name": "gone", "parameterNotFoundAction": action}},
            paramKind=PARAM_KIND,
            validations=AT_MOST,
        )
        if action == "Allow":
            house.admit(config(a="1", b="2"), **CONFIGMAPS)
        else:
            assert house.refusal(config(), **CONFIGMAPS).message == (
                f"{DENIED}failed to configure binding: no params found for policy binding with `Deny` "
                "parameterNotFoundAction"
            )

    def test_a_kind_that_is_not_served(self, house: Any, policies: Any, config: Any) -> None:
        policies.validating(paramKind={"apiVersion": "example.com/v1", "kind": "Limit"}, validations=AT_MOST)

        assert house.refusal(config(), **CONFIGMAPS).message == (
            "configmaps \"cm\" is forbidden: ValidatingAdmissionPolicy 'pol' denied request: failed to configure "
            "policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'"
        )


def test_audit_annotations_of_a_policy(house: Any, policies: Any, config: Any) -> None:
    policies.validating(
        auditAnnotations=[
            {"key": "size", "valueExpression": "'has ' + string(size(object.data))"},
            {"key": "none", "valueExpression": "null"},
        ]
    )

    house.admit(config(a="1"), **CONFIGMAPS)

    assert house.request.audit_annotations == {"pol/size": "has 1"}


def test_reviews_and_admission_configuration_are_out_of_reach(house: Any, policies: Any) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    policies.validating(matchConstraints={"resourceRules": [rule]}, validations=[{"expression": "false"}])

    house.admit(
        {"kind": "SelfSubjectAccessReview", "metadata": {}},
        group="authorization.k8s.io",
        resource="selfsubjectaccessreviews",
        namespace="",
    )
    house.refusal({"kind": "ClusterRole", "metadata": {"name": "r"}}, group="rbac.authorization.k8s.io",
                  resource="clusterroles", namespace="")  # fmt: skip


def test_the_namespace_of_the_object_can_be_looked_at(house: Any, policies: Any, config: Any) -> None:
    house.namespace("default", tier="gold")
    policies.validating(validations=[{"expression": "namespaceObject.metadata.labels.tier != 'gold'"}])

    house.refusal(config(), **CONFIGMAPS)
