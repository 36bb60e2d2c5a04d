"""The rules of the kinds outside core/v1: what is refused, what is filled in, what may change.

`group_cases.json` holds objects and the causes that Kubernetes v1.36 refuses them with.
"""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from clusters.emulated.apiserver.validation.group_kinds import GROUP_RULES
from clusters.emulated.apiserver.validation.metadata import create_errors, update_errors
from clusters.emulated.apiserver.validation.rules import KindRules

Object = dict[str, Any]

CASES = json.loads(Path(__file__).with_name("group_cases.json").read_bytes())
RULES = {(rules.group, rules.kind): rules for rules in GROUP_RULES}
POD_SPEC: Object = {"containers": [{"name": "web", "image": "web:1"}]}


def rules_of(obj: Object) -> KindRules:
    return RULES[(obj["apiVersion"].rpartition("/")[0], obj["kind"])]


def created(obj: Object) -> Object:
    """The object as it would be stored."""
    obj = deepcopy(obj)
    obj["metadata"].setdefault("uid", "0a1b")
    obj["metadata"].setdefault("namespace", "default")
    rules_of(obj).default(obj)
    rules_of(obj).prepare_create(obj)
    assert create_errors(rules_of(obj), obj, True) == []
    obj["metadata"]["resourceVersion"] = "7"
    return obj


def updated(old: Object, **changes: Any) -> tuple[Object, list[tuple[str, str]]]:
    """The object after an update of dotted fields, and what refuses it."""
    new = deepcopy(old)
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        at = new
        for parent in parents:
            at = at.setdefault(parent, {})
        at[last] = value
    rules_of(new).default(new)
    rules_of(new).prepare_update(new, old)
    return new, [(error.field, error.body()) for error in update_errors(rules_of(new), new, old, True)]


def workload(kind: str, **spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": deepcopy(POD_SPEC)}
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"selector": selector, "template": template, **spec},
    }


def job(**spec: Any) -> Object:
    template = {"spec": {"restartPolicy": "Never", **deepcopy(POD_SPEC)}}
    metadata = {"name": "work"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template, **spec}}


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_an_object_is_refused_with_the_causes_kubernetes_gives(case: Object) -> None:
    obj = deepcopy(case["object"])
    obj["metadata"]["uid"] = "0a1b"
    rules = rules_of(obj)
    rules.default(obj)
    rules.prepare_create(obj)
    found = [[error.field, error.body()] for error in rules.validate_create(obj)]
    assert found == case["causes"]


@pytest.mark.parametrize("rules", GROUP_RULES, ids=[f"{rules.group}/{rules.kind}" for rules in GROUP_RULES])
def test_every_kind_copes_with_an_object_that_says_nothing(rules: KindRules) -> None:
    obj: Object = {"apiVersion": f"{rules.group}/v1", "kind": rules.kind, "metadata": {"name": "x"}}
    rules.default(obj)
    rules.prepare_create(obj)
    again = deepcopy(obj)
    rules.default(again)
    assert again == obj  # Defaults are filled in once.
    rules.validate_create(obj)
    rules.prepare_update(again, obj)
    rules.validate_update(again, obj)
    rules.prepare_status(again, obj)
    rules.validate_status(again, obj)
    assert isinstance(rules.selectable_fields(obj), dict)


def test_no_kind_is_imported_before_it_is_used() -> None:
    package = "clusters.emulated.apiserver.validation"
    script = (
        f"import sys, {package}.group_kinds\nprint([name for name in sys.modules if name.startswith('{package}.apps')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_deployment_is_filled_in() -> None:
    spec = created(workload("Deployment"))["spec"]
    assert spec["replicas"] == 1
    rolling_update = {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": rolling_update}
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)


def test_the_generation_counts_changes_of_the_spec_and_of_a_deployments_annotations() -> None:
    old = created(workload("Deployment"))
    assert old["metadata"]["generation"] == 1
    assert updated(old, spec__replicas=3)[0]["metadata"]["generation"] == 2
    assert updated(old, metadata__annotations={"a": "b"})[0]["metadata"]["generation"] == 2
    assert updated(old, metadata__labels={"a": "b"})[0]["metadata"]["generation"] == 1
    replica_set = created(workload("ReplicaSet"))
    assert updated(replica_set, metadata__annotations={"a": "b"})[0]["metadata"]["generation"] == 1


def test_a_status_is_not_written_through_the_main_endpoint() -> None:
    old = created(workload("ReplicaSet"))
    assert updated(old, status={"replicas": 9})[0]["status"] == {"replicas": 0}


def test_selectors_never_change() -> None:
    _, refused = updated(
        created(workload("Deployment")),
        spec__selector={"matchLabels": {"app": "api"}},
        spec__template__metadata__labels={"app": "api"},
    )
    assert refused == [("spec.selector", 'Invalid value: {"matchLabels":{"app":"api"}}: field is immutable')]


def test_a_stateful_set_names_what_may_change() -> None:
    _, refused = updated(created(workload("StatefulSet", serviceName="a")), spec__serviceName="b")
    assert [field for field, _ in refused] == ["spec"]
    assert "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden" in refused[0][1]


def test_a_job_gets_a_selector_and_the_labels_it_selects() -> None:
    stored = created(job())
    assert stored["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "0a1b"}}
    labels = stored["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "work"
    assert stored["metadata"]["labels"] == labels


def test_a_running_jobs_template_is_fixed_but_a_suspended_one_may_get_other_resources() -> None:
    running, suspended = created(job()), created(job(suspend=True))
    containers = deepcopy(suspended["spec"]["template"]["spec"]["containers"])
    containers[0]["resources"] = {"requests": {"cpu": "1"}}
    assert [field for field, _ in updated(running, spec__template__spec__containers=containers)[1]] == ["spec.template"]
    assert updated(suspended, spec__template__spec__containers=containers)[1] == []
    containers[0]["image"] = "other"
    _, refused = updated(suspended, spec__template__spec__containers=containers)
    assert [field for field, _ in refused] == ["spec.template.spec"]
    assert refused[0][1].startswith('Invalid value: {"Volumes":null,"InitContainers":null,"Containers":[{"Name":"web"')


def test_a_binding_keeps_its_role() -> None:
    binding: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "x"},
        "roleRef": {"kind": "Role", "name": "edit"},
        "subjects": [{"kind": "User", "name": "alice"}],
    }
    old = created(binding)
    assert old["subjects"][0]["apiGroup"] == old["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"view"}'
    _, refused = updated(old, roleRef={"kind": "ClusterRole", "name": "view"})
    assert refused == [("roleRef", f"Invalid value: {shown}: cannot change roleRef")]


def test_approval_decides_once_and_status_cannot() -> None:
    from clusters.emulated.apiserver.validation.certificates.certificatesigningrequest import (
        CertificateSigningRequestRules,
    )

    rules = CertificateSigningRequestRules()
    old: Object = {"metadata": {"name": "x"}, "spec": {"signerName": "a.b/c", "usages": ["any"]}, "status": {}}
    approved = deepcopy(old) | {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    rules.set_condition_times(approved, old, "2026-01-01T00:00:00Z")
    assert approved["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    of_approval = {error.field for error in rules.validate_approval(approved, old)}
    of_status = [error.detail for error in rules.validate_status(approved, old) if error.field == "status.conditions"]
    assert "status.conditions" not in of_approval
    assert of_status == ['updates may not add a condition of type "Approved"']


def test_warnings_name_what_is_deprecated() -> None:
    slice_: Object = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "x"},
        "addressType": "FQDN",
        "endpoints": [{"addresses": ["a.b"]}],
        "ports": [],
    }
    obj = created(slice_)
    assert rules_of(obj).warnings_create(obj) == ["spec.addressType: FQDN endpoints are deprecated"]
