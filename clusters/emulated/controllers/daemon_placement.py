"""On which nodes a DaemonSet's Pods belong, by the same rules that the scheduler would apply. All pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

Object = dict[str, Any]

_NO_EXECUTE: Final = ("not-ready", "unreachable")
_NO_SCHEDULE: Final = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


def daemon_tolerations(spec: Object) -> list[Object]:
    """The Pod's own, and those that let daemons run on nodes in trouble; ours replace equal ones of the user."""
    ours = [_toleration(name, "NoExecute") for name in _NO_EXECUTE]
    ours += [_toleration(name, "NoSchedule") for name in _NO_SCHEDULE]
    if spec.get("hostNetwork"):
        ours.append(_toleration("network-unavailable", "NoSchedule"))
    tolerations: list[Object] = list(spec.get("tolerations") or ())
    for each in ours:
        same = next((at for at, other in enumerate(tolerations) if _is_same(other, each)), None)
        if same is None:
            tolerations.append(each)
        else:
            tolerations[same] = each
    return tolerations


def _toleration(name: str, effect: str) -> Object:
    return {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}


def _is_same(first: Object, second: Object) -> bool:
    return all((first.get(name) or "") == (second.get(name) or "") for name in ("key", "operator", "effect", "value"))


def tolerates(tolerations: Sequence[Object], taint: Object) -> bool:
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")


def should_run(daemon_set: Object, node: Object) -> tuple[bool, bool]:
    """Whether a Pod should run on the node, and whether one that runs there may go on."""
    spec = daemon_set["spec"]["template"]["spec"]
    name = node["metadata"]["name"]
    if spec.get("nodeName") not in (None, "", name) or not _affinity_matches(spec, node):
        return False, False
    tolerations = daemon_tolerations(spec)
    untolerated = [taint["effect"] for taint in node["spec"].get("taints") or () if not tolerates(tolerations, taint)]
    if "NoExecute" in untolerated:
        return False, False
    return ("NoSchedule" not in untolerated), True


def _affinity_matches(spec: Object, node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    if not (spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(_term_matches(term, labels, fields) for term in required.get("nodeSelectorTerms") or ())


def _term_matches(term: Object, labels: dict[str, str], fields: dict[str, str]) -> bool:
    """A term without any expression matches nothing."""
    expressions, by_field = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not by_field:
        return False
    return all(_matches(each, labels) for each in expressions) and all(_matches(each, fields) for each in by_field)


def _matches(expression: Object, values: dict[str, str]) -> bool:
    operator, wanted = expression["operator"], expression.get("values") or []
    value = values.get(expression["key"])
    if operator == "In":
        return value in wanted
    if operator == "NotIn":
        return value not in wanted
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if value is None or not value.lstrip("-").isdigit() or len(wanted) != 1 or not wanted[0].lstrip("-").isdigit():
        return False
    return int(value) > int(wanted[0]) if operator == "Gt" else int(value) < int(wanted[0])


def pinned_to(spec: Object, node_name: str) -> Object:
    """The Pod's spec with tolerations for daemons, bound to one node by affinity: the scheduler does the rest."""
    requirement = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    selector = {"nodeSelectorTerms": [{"matchFields": [requirement]}]}
    affinity = spec.get("affinity") or {}
    node_affinity = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": selector,
    }
    return {
        **spec,
        "tolerations": daemon_tolerations(spec),
        "affinity": {**affinity, "nodeAffinity": node_affinity},
    }


def target_node(pod: Object) -> str:
    """The node a daemon's Pod runs on or is meant for; empty if that cannot be told."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for each in term.get("matchFields") or ():
            if each["key"] == "metadata.name" and each["operator"] == "In":
                values = each.get("values") or []
                return str(values[0]) if len(values) == 1 else ""
    return ""
