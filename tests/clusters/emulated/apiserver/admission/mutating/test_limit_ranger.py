from __future__ import annotations

from typing import Any

import pytest


def limit(house: Any, **limits: Any) -> None:
    house.objects.put("limitranges", {"metadata": {"name": "lr", "namespace": "default"}, "spec": {"limits": [limits]}})


def pod_with(**resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [container]},
    }


def test_containers_get_the_defaults_and_the_pod_says_so(house: Any) -> None:
    limit(
        house,
        type="Container",
        default={"cpu": "200m", "memory": "64Mi"},
        defaultRequest={"cpu": "100m", "memory": "64Mi"},
    )

    pod = house.admit(pod_with(requests={"cpu": "50m"}))

    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "50m", "memory": "64Mi"}
    assert resources["limits"] == {"cpu": "200m", "memory": "64Mi"}
    assert pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: memory request for container c; cpu, memory limit for container c"
    )


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        (
            {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "500m"}},
            "maximum cpu usage per Container is 500m, but limit is 1",
        ),
        (
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
            "[maximum cpu usage per Container is 500m, but limit is 1, "
            "maximum memory usage per Container is 128Mi, but limit is 1Gi]",
        ),
        (
            {"limits": {"cpu": "100m", "memory": "64Mi"}, "requests": {"cpu": "10m"}},
            "[minimum cpu usage per Container is 50m, but request is 10m, "
            "cpu max limit to request ratio per Container is 4, but provided ratio is 10.000000]",
        ),
        (
            {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "60m"}},
            "cpu max limit to request ratio per Container is 4, but provided ratio is 8.333333",
        ),
        (
            {"limits": {"cpu": "200m"}, "requests": {"cpu": "100m"}},
            "maximum memory usage per Container is 128Mi.  No limit is specified",
        ),
        (
            {"limits": {"memory": "64Mi"}},
            "[minimum cpu usage per Container is 50m.  No request is specified, "
            "maximum cpu usage per Container is 500m.  No limit is specified, cpu max limit to request ratio "
            "per Container is 4, but no request is specified or request is 0]",
        ),
    ],
)
def test_pods_outside_the_limits_are_refused(house: Any, resources: Any, why: str) -> None:
    limit(
        house,
        type="Container",
        min={"cpu": "50m"},
        max={"cpu": "500m", "memory": "128Mi"},
        maxLimitRequestRatio={"cpu": "4"},
    )

    refusal = house.refusal(pod_with(**resources))

    assert (refusal.code, refusal.message) == (403, f'pods "p" is forbidden: {why}')


def test_a_pod_limit_counts_containers_together_and_sidecars_with_them(house: Any) -> None:
    limit(house, type="Pod", max={"cpu": "1"})
    pod = pod_with(limits={"cpu": "600m"}, requests={"cpu": "600m"})
    pod["spec"]["initContainers"] = [
        {"name": "side", "restartPolicy": "Always", "resources": {"limits": {"cpu": "500m"}}}
    ]

    refusal = house.refusal(pod)

    assert refusal.message == 'pods "p" is forbidden: maximum cpu usage per Pod is 1, but limit is 1100m'


def test_claims_are_held_to_their_limits(house: Any) -> None:
    limit(house, type="PersistentVolumeClaim", max={"storage": "1Gi"}, min={"storage": "1Mi"})
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"resources": {"requests": {"storage": "5Gi"}}},
    }

    refusal = house.refusal(claim, resource="persistentvolumeclaims")

    assert refusal.message == (
        'persistentvolumeclaims "x" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, '
        "but request is 5Gi"
    )
