from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from clusters.kube.errors import StatusError


def quota(house: Any, name: str = "rq", *, used: dict[str, str] | None = None, spec: Any = None, **hard: str) -> None:
    hard = {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}
    full = dict.fromkeys(hard, "0") | (used or {})
    house.objects.put(
        "resourcequotas",
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"hard": hard, **(spec or {})},
            "status": {"hard": hard, "used": full},
        },
    )


def used(house: Any, name: str = "rq") -> dict[str, str]:
    found: dict[str, str] = house.objects.get("resourcequotas", "default", name)["status"]["used"]
    return found


def pod_with(**resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    return {
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"containers": [container]},
    }


def test_containers_must_declare_what_is_counted(house: Any, pod: Callable[..., Any]) -> None:
    quota(house, requests_cpu="500m", limits_memory="100Mi")

    assert house.refusal(pod()).message == (
        'pods "p" is forbidden: failed quota: rq: must specify limits.memory for: c; requests.cpu for: c'
    )


def test_more_than_is_left_is_refused_with_the_whole_sum(house: Any) -> None:
    quota(house, requests_cpu="500m", limits_memory="100Mi", pods="1")
    big = pod_with(requests={"cpu": "900m"}, limits={"memory": "1Gi"})

    refusal = house.refusal(big)

    assert (refusal.code, refusal.message) == (
        403,
        'pods "a" is forbidden: exceeded quota: rq, requested: limits.memory=1Gi,requests.cpu=900m, '
        "used: limits.memory=0,requests.cpu=0, limited: limits.memory=100Mi,requests.cpu=500m",
    )
    assert used(house) == {"requests.cpu": "0", "limits.memory": "0", "pods": "0"}


def test_what_is_admitted_is_written_down(house: Any) -> None:
    quota(house, requests_cpu="500m", limits_memory="100Mi", pods="1")

    house.admit(pod_with(requests={"cpu": "200m"}, limits={"memory": "50Mi"}))

    assert used(house) == {"requests.cpu": "200m", "limits.memory": "50Mi", "pods": "1"}
    again = house.refusal(pod_with(requests={"cpu": "1m"}, limits={"memory": "1Mi"}))
    assert again.message == (
        'pods "a" is forbidden: exceeded quota: rq, requested: pods=1, used: pods=1, limited: pods=1'
    )


def test_objects_are_counted_by_either_name(house: Any) -> None:
    quota(house, configmaps="1", count__deployments_apps="0")
    config = {"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}
    house.admit(config, resource="configmaps")

    assert house.refusal(config, resource="configmaps").message == (
        'configmaps "x" is forbidden: exceeded quota: rq, requested: configmaps=1, used: configmaps=1, '
        "limited: configmaps=1"
    )
    deployment = {"kind": "Deployment", "metadata": {"name": "d", "namespace": "default"}, "spec": {}}
    assert house.refusal(deployment, group="apps", resource="deployments").message == (
        'deployments.apps "d" is forbidden: exceeded quota: rq, requested: count/deployments.apps=1, '
        "used: count/deployments.apps=0, limited: count/deployments.apps=0"
    )


def test_a_dry_run_is_judged_but_not_charged(house: Any) -> None:
    quota(house, configmaps="1")
    config = {"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}

    house.admit(config, resource="configmaps", dry_run=True)

    assert used(house) == {"configmaps": "0"}


def test_services_by_type(house: Any) -> None:
    quota(house, services_loadbalancers="0", services_nodeports="5")
    service = {"kind": "Service", "metadata": {"name": "lb", "namespace": "default"}}
    balanced = {**service, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}

    assert house.refusal(balanced, resource="services").message == (
        'services "lb" is forbidden: exceeded quota: rq, requested: services.loadbalancers=1, '
        "used: services.loadbalancers=0, limited: services.loadbalancers=0"
    )
    house.admit({**service, "spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}}, resource="services")
    assert used(house)["services.nodeports"] == "2"


def test_a_growing_claim_is_charged_the_difference(house: Any) -> None:
    quota(house, used={"requests.storage": "1Gi"}, requests_storage="2Gi")
    old = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default", "resourceVersion": "5"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"},
        "status": {"phase": "Bound"},
    }
    house.objects.put("storageclasses.storage.k8s.io", {"metadata": {"name": "s"}, "allowVolumeExpansion": True})
    new = {**old, "spec": {"resources": {"requests": {"storage": "1536Mi"}}, "storageClassName": "s"}}

    house.admit(new, old=old, operation="UPDATE", resource="persistentvolumeclaims")

    assert used(house) == {"requests.storage": "1536Mi"}


def test_scopes_choose_the_pods(house: Any, pod: Callable[..., Any]) -> None:
    quota(house, "best-effort", spec={"scopes": ["BestEffort"]}, pods="0")
    selector = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    quota(house, "high", spec={"scopeSelector": {"matchExpressions": [selector]}}, pods="0")
    house.objects.put("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 9})
    burstable = pod_with(requests={"cpu": "1"})

    house.admit(burstable)

    assert "exceeded quota: best-effort, " in house.refusal(pod()).message
    important = pod_with(requests={"cpu": "1"})
    important["spec"]["priorityClassName"] = "high"
    assert "exceeded quota: high, " in house.refusal(important).message


def test_a_quota_nobody_has_counted_yet_admits_nothing(house: Any) -> None:
    quota(house, configmaps="1")
    house.objects.get("resourcequotas", "default", "rq")["status"]["used"] = {}

    refusal = house.refusal(
        {"kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}, resource="configmaps"
    )

    assert refusal.message == ('configmaps "x" is forbidden: status unknown for quota: rq, resources: configmaps')


def test_of_many_at_once_only_as_many_as_fit_get_in(house: Any) -> None:
    quota(house, configmaps="3")

    async def create(name: str) -> bool:
        config = {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        try:
            await house._through(house.attributes(config, resource="configmaps"))
        except StatusError as refusal:
            return refusal.code != 403
        return True

    async def all_at_once() -> list[bool]:
        return await asyncio.gather(*(create(f"c{number}") for number in range(8)))

    assert sum(house.run(all_at_once())) == 3
    assert used(house) == {"configmaps": "3"}
