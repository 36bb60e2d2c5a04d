"""Rows of the apps group."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.texts import NONE, age, containers, labels, name_of, selector, selector_text
from clusters.kube.selectors import SelectorError

Object = dict[str, Any]
Cells = list[Any]


def _pod_spec(obj: Object) -> Object:
    spec = obj.get("spec") or {}
    pod_spec: Object = (spec.get("template") or {}).get("spec") or {}
    return pod_spec


def deployment(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    try:
        chosen = selector_text(spec.get("selector"))
    except SelectorError:
        chosen = "<invalid>"
    return [
        name_of(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now_s),
        *containers(_pod_spec(obj)),
        chosen,
    ]


def replica_set(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj, now_s),
        *containers(_pod_spec(obj)),
        selector(spec.get("selector")),
    ]


def stateful_set(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(obj), ready, age(obj, now_s), *containers(_pod_spec(obj))]


def daemon_set(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels(_pod_spec(obj).get("nodeSelector")),
        age(obj, now_s),
        *containers(_pod_spec(obj)),
        selector(spec.get("selector")),
    ]


def controller_revision(obj: Object, now_s: float) -> Cells:
    controller = NONE
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            kind = f"{owner.get('kind', '')}.{group}" if group else owner.get("kind", "")
            controller = f"{kind.lower()}/{owner.get('name', '')}"
            break
    return [name_of(obj), controller, obj.get("revision", 0), age(obj, now_s)]


CELLS = {
    ("apps", "Deployment"): deployment,
    ("apps", "ReplicaSet"): replica_set,
    ("apps", "StatefulSet"): stateful_set,
    ("apps", "DaemonSet"): daemon_set,
    ("apps", "ControllerRevision"): controller_revision,
}
