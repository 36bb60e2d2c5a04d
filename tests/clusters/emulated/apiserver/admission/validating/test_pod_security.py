from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusters.emulated.apiserver.admission.podsecurity.evaluation import evaluate
from clusters.emulated.apiserver.admission.podsecurity.levels import LevelVersion

RESTRICTED_PLAIN = (
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" '
    'or "Localhost")'
)


def labels(**modes: str) -> dict[str, str]:
    return {f"pod-security.kubernetes.io/{mode.replace('_', '-')}": level for mode, level in modes.items()}


def test_a_plain_pod_does_not_pass_restricted(house: Any, pod: Callable[..., Any]) -> None:
    house.namespace("default", **labels(enforce="restricted"))

    refusal = house.refusal(pod())

    assert refusal.code == 403
    assert refusal.message == f'pods "p" is forbidden: violates PodSecurity "restricted:latest": {RESTRICTED_PLAIN}'


def test_a_hardened_pod_does(house: Any, pod: Callable[..., Any]) -> None:
    house.namespace("default", **labels(enforce="restricted"))
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    hardened = {"name": "c", "image": "x", "securityContext": context}

    house.admit(
        pod(
            "p",
            hardened,
            securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        )
    )

    assert house.request.audit_annotations["pod-security.kubernetes.io/enforce-policy"] == "restricted:latest"


def test_baseline_names_everything_that_is_wrong_in_order(house: Any, pod: Callable[..., Any]) -> None:
    house.namespace("default", **labels(enforce="baseline"))
    privileged = {"name": "c", "image": "x", "securityContext": {"privileged": True}}

    refusal = house.refusal(pod("p", privileged, hostNetwork=True, volumes=[{"name": "h", "hostPath": {"path": "/"}}]))

    assert refusal.message == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true), '
        'hostPath volumes (volume "h"), privileged (container "c" must not set securityContext.privileged=true)'
    )


def test_enforcing_also_warns_about_workloads(house: Any, pod: Callable[..., Any]) -> None:
    house.namespace("default", **labels(enforce="restricted"))
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {"template": {"metadata": {}, "spec": pod()["spec"]}},
    }

    house.admit(deployment, group="apps", resource="deployments")

    assert house.request.warnings == [f'would violate PodSecurity "restricted:latest": {RESTRICTED_PLAIN}']


def test_warn_and_audit_let_the_pod_pass(house: Any, pod: Callable[..., Any]) -> None:
    house.namespace("default", **labels(warn="restricted", audit="baseline", audit_version="v1.20"))

    house.admit(pod(hostPID=True))

    (warning,) = house.request.warnings
    assert warning.startswith('would violate PodSecurity "restricted:latest": host namespaces (hostPID=true), ')
    assert house.request.audit_annotations["pod-security.kubernetes.io/audit-violations"] == (
        'would violate PodSecurity "baseline:v1.20": host namespaces (hostPID=true)'
    )


def test_a_level_that_does_not_exist_is_refused(house: Any) -> None:
    namespace = {"kind": "Namespace", "metadata": {"name": "n", "labels": labels(enforce="nope")}}

    refusal = house.refusal(namespace, resource="namespaces", namespace="")

    assert (refusal.code, refusal.message) == (
        422,
        'Namespace "n" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "nope": '
        "must be one of privileged, baseline, restricted",
    )


def test_tightening_a_namespace_warns_about_pods_that_are_there(house: Any, pod: Callable[..., Any]) -> None:
    for name in ("b", "a", "c"):
        house.objects.put("pods", pod(name, hostPID=True))
    house.objects.put("pods", pod("d", hostIPC=True, hostPID=True, volumes=[{"name": "h", "hostPath": {}}]))
    old = {"kind": "Namespace", "metadata": {"name": "default", "labels": {}}}
    new = {"kind": "Namespace", "metadata": {"name": "default", "labels": labels(enforce="baseline")}}

    house.admit(new, old=old, operation="UPDATE", resource="namespaces")

    assert house.request.warnings == [
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
        "d: host namespaces, hostPath volumes",
    ]


@pytest.mark.parametrize(
    ("level", "minor", "spec", "found"),
    [
        ("restricted", 7, {"containers": [{"name": "c"}]}, ["runAsNonRoot != true"]),
        (
            "restricted",
            8,
            {"containers": [{"name": "c"}]},
            ["allowPrivilegeEscalation != false", "runAsNonRoot != true"],
        ),
        ("baseline", 33, {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h"}}}]}, []),
        (
            "baseline",
            34,
            {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h"}}}]},
            ["probe or lifecycle host"],
        ),
        (
            "baseline",
            26,
            {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}},
            ["forbidden sysctls"],
        ),
        ("baseline", 32, {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, []),
        (
            "restricted",
            None,
            {"hostUsers": False, "os": {"name": "windows"}, "containers": [{"name": "c"}]},
            [],
        ),
    ],
)
def test_what_a_version_checks(level: str, minor: int | None, spec: dict[str, Any], found: list[str]) -> None:
    assert [violation.reason for violation in evaluate(LevelVersion(level, minor), {}, spec)] == found


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {
                "containers": [
                    {"name": "a", "ports": [{"hostPort": 9090}]},
                    {"name": "b", "ports": [{"hostPort": 80}]},
                ]
            },
            'hostPort (containers "a", "b" use hostPorts 80, 9090)',
        ),
        (
            {
                "securityContext": {"seLinuxOptions": {"type": "spc_t", "user": "u"}},
                "containers": [{"name": "c", "securityContext": {"seLinuxOptions": {"role": "r"}}}],
            },
            'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; '
            "user may not be set; role may not be set)",
        ),
        (
            {"containers": [{"name": "c", "securityContext": {"capabilities": {"add": ["NET_RAW", "CHOWN", "BPF"]}}}]},
            'non-default capabilities (container "c" must not include "BPF", "NET_RAW" in '
            "securityContext.capabilities.add)",
        ),
        (
            {"containers": [{"name": "c", "securityContext": {"procMount": "Unmasked"}}]},
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            {"containers": [], "securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            {"containers": [], "securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
            'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
        ),
        (
            {"containers": [{"name": "c", "securityContext": {"windowsOptions": {"hostProcess": True}}}]},
            'hostProcess (container "c" must not set securityContext.windowsOptions.hostProcess=true)',
        ),
    ],
)
def test_how_a_baseline_violation_reads(spec: dict[str, Any], text: str) -> None:
    assert [str(violation) for violation in evaluate(LevelVersion("baseline"), {}, spec)] == [text]


def test_restricted_volume_types_are_listed() -> None:
    spec = {"volumes": [{"name": "n", "nfs": {}}, {"name": "h", "hostPath": {}}, {"name": "e", "emptyDir": {}}]}

    (violation,) = evaluate(LevelVersion("restricted"), {}, spec)

    assert str(violation) == (
        'restricted volume types (volumes "n", "h" use restricted volume types "hostPath", "nfs")'
    )
