from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def test_a_pod_runs_as_default_with_its_token_mounted(house: Any, pod: Callable[..., Any]) -> None:
    admitted = house.admit(pod())

    spec = admitted["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert len(volume["name"]) == len("kube-api-access-") + 5
    assert volume["projected"]["defaultMode"] == 420
    assert volume["projected"]["sources"] == [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    assert spec["containers"][0]["volumeMounts"] == [
        {
            "name": volume["name"],
            "readOnly": True,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        }
    ]


def test_a_missing_account_is_named_with_its_namespace(house: Any, pod: Callable[..., Any]) -> None:
    refusal = house.refusal(pod(serviceAccountName="ghost"))

    assert (refusal.code, refusal.message) == (
        403,
        'pods "p" is forbidden: error looking up service account default/ghost: serviceaccount "ghost" not found',
    )


@pytest.mark.parametrize("where", ["pod", "account"])
def test_pod_or_account_can_decline_the_token(house: Any, pod: Callable[..., Any], where: str) -> None:
    spec = {"automountServiceAccountToken": False} if where == "pod" else {}
    if where == "account":
        house.objects.put(
            "serviceaccounts",
            {
                "metadata": {"name": "default", "namespace": "default"},
                "automountServiceAccountToken": False,
            },
        )

    assert "volumes" not in house.admit(pod(**spec))["spec"]


def test_pull_secrets_of_the_account_are_copied_unless_the_pod_has_some(house: Any, pod: Callable[..., Any]) -> None:
    house.objects.put(
        "serviceaccounts",
        {
            "metadata": {"name": "default", "namespace": "default"},
            "imagePullSecrets": [{"name": "registry"}],
        },
    )

    assert house.admit(pod())["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    own = pod(imagePullSecrets=[{"name": "own"}])
    assert house.admit(own)["spec"]["imagePullSecrets"] == [{"name": "own"}]


def test_a_mount_of_ones_own_at_that_path_is_left_alone(house: Any, pod: Callable[..., Any]) -> None:
    mount = {"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    own = {"name": "c", "image": "x", "volumeMounts": [mount]}

    admitted = house.admit(pod("p", own, volumes=[{"name": "v", "emptyDir": {}}]))

    assert admitted["spec"]["containers"][0]["volumeMounts"] == [mount]
    assert len(admitted["spec"]["volumes"]) == 1


def test_an_account_can_limit_the_secrets_its_pods_mount(house: Any, pod: Callable[..., Any]) -> None:
    annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    house.objects.put(
        "serviceaccounts",
        {"metadata": {"name": "default", "namespace": "default", "annotations": annotations}},
    )
    volumes = [{"name": "v", "secret": {"secretName": "other"}}]

    assert house.refusal(pod(volumes=volumes)).message == (
        'pods "p" is forbidden: volume with secret.secretName="other" is not allowed because '
        "service account default does not reference that secret"
    )
    env = [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}]
    assert house.refusal(pod("p", {"name": "c", "image": "x", "env": env})).message == (
        'pods "p" is forbidden: container c with envVar E referencing secret.secretName="other" is not allowed '
        "because service account default does not reference that secret"
    )


def test_mirror_pods_refer_to_nothing(house: Any, pod: Callable[..., Any]) -> None:
    mirror = pod(serviceAccountName="default")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}

    assert house.refusal(mirror).message == ('pods "p" is forbidden: a mirror pod may not reference service accounts')


def test_an_ephemeral_container_with_a_foreign_secret_is_an_error_of_the_server(
    house: Any, pod: Callable[..., Any]
) -> None:
    annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    house.objects.put(
        "serviceaccounts",
        {"metadata": {"name": "default", "namespace": "default", "annotations": annotations}},
    )
    old = pod(serviceAccountName="default")
    debug = {"name": "d", "image": "x", "envFrom": [{"secretRef": {"name": "other"}}]}
    new = pod(serviceAccountName="default", ephemeralContainers=[debug])

    refusal = house.refusal(new, old=old, operation="UPDATE", subresource="ephemeralcontainers")

    assert (refusal.code, refusal.reason) == (500, "")
    assert refusal.message == (
        'ephemeral container d with envFrom referencing secret.secretName="other" is not allowed because '
        "service account default does not reference that secret"
    )
