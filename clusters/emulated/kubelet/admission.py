"""Whether a node takes a Pod: its labels, resources, taints, features. The first refusal counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.kubelet.phase import is_static
from clusters.emulated.kubelet.resources import Amounts, amounts, pod_amounts
from clusters.kube.gostring import quote
from clusters.kube.selectors import Selector, requirement

Object = dict[str, Any]

SAFE_SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",  # noqa: E501
        "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rejection:
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeFacts:
    node: Object
    #: The Pods that are here already and still count, and what each of them asks for.
    pods: Sequence[Object]
    requests: Sequence[Amounts]
    allowed_sysctls: tuple[str, ...] = ()
    app_armor: bool = False
    #: "memory", "disk" or "pid" pressure that is felt now.
    pressures: frozenset[str] = frozenset()
    #: An error that any admission fails with (a lever), e.g. of a device plugin.
    unexpected: str = ""
    shutting_down: bool = False


def admit(pod: Object, facts: NodeFacts) -> Rejection | None:
    if facts.shutting_down:
        return Rejection("NodeShutdown", "Pod was rejected as the node is shutting down.")
    for check in (_pressure, _sysctls, _unexpected, _predicates, _app_armor):
        refused = check(pod, facts)
        if refused is not None:
            return refused
    return None


def _pressure(pod: Object, facts: NodeFacts) -> Rejection | None:
    """Under pressure, only critical Pods; under memory pressure alone, every Pod that asks for memory."""
    if not facts.pressures or _is_critical(pod):
        return None
    if facts.pressures == {"memory"} and pod_amounts(pod, "requests"):
        return None
    if facts.pressures == {"memory"} and any(
        toleration.get("key") == "node.kubernetes.io/memory-pressure"
        for toleration in pod["spec"].get("tolerations") or ()
    ):
        return None
    kinds = {"memory": "MemoryPressure", "disk": "DiskPressure", "pid": "PIDPressure"}
    names = " ".join(kinds[each] for each in ("memory", "disk", "pid") if each in facts.pressures)
    return Rejection("Evicted", f"The node had condition: [{names}]. ")


def _is_critical(pod: Object) -> bool:
    return is_static(pod) or (pod["spec"].get("priority") or 0) >= 2_000_000_000


def _unexpected(pod: Object, facts: NodeFacts) -> Rejection | None:
    return Rejection("UnexpectedAdmissionError", facts.unexpected) if facts.unexpected else None


def _sysctls(pod: Object, facts: NodeFacts) -> Rejection | None:
    spec = pod["spec"]
    for sysctl in (spec.get("securityContext") or {}).get("sysctls") or ():
        name = sysctl["name"].replace("/", ".")
        allowed = name in SAFE_SYSCTLS or any(
            name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in facts.allowed_sysctls
        )
        if spec.get("hostNetwork") and name.startswith("net."):
            return Rejection("SysctlForbidden", f"forbidden sysctl: {quote(name)} not allowed with host net enabled")
        if not allowed:
            return Rejection("SysctlForbidden", f"forbidden sysctl: {quote(name)} not allowlisted")
    return None


def _app_armor(pod: Object, facts: NodeFacts) -> Rejection | None:
    if facts.app_armor:
        return None
    contexts = [pod["spec"].get("securityContext")]
    for kind in ("containers", "initContainers"):
        contexts += [each.get("securityContext") for each in pod["spec"].get(kind) or ()]
    for context in contexts:
        profile = (context or {}).get("appArmorProfile")
        if profile and profile.get("type") != "Unconfined":
            return Rejection("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host")
    return None


def _predicates(pod: Object, facts: NodeFacts) -> Rejection | None:
    node, spec = facts.node, pod["spec"]
    labels = node["metadata"].get("labels") or {}
    wanted_os = (pod["metadata"].get("labels") or {}).get("kubernetes.io/os")
    if wanted_os and wanted_os != "linux":
        return Rejection(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if spec.get("os") and spec["os"].get("name") != "linux":
        return Rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    policy = (spec.get("securityContext") or {}).get("supplementalGroupsPolicy")
    if policy == "Strict" and not (node["status"].get("features") or {}).get("supplementalGroupsPolicy"):
        return Rejection(
            "SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"
        )
    refused = _resources(pod, facts)
    if refused is not None:
        return refused
    if not _matches_node(spec, labels, node["metadata"]["name"]):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if spec.get("nodeName") and spec["nodeName"] != node["metadata"]["name"]:
        return _failed("NodeName", "node(s) didn't match the requested node name")
    refused = _ports(pod, facts)
    if refused is not None:
        return refused
    taints = [each for each in (node["spec"].get("taints") or ()) if each.get("effect") == "NoExecute"]
    if not is_static(pod) and any(not _tolerated(spec.get("tolerations") or (), taint) for taint in taints):
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _failed(predicate: str, why: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {why}")


def _resources(pod: Object, facts: NodeFacts) -> Rejection | None:
    allocatable = amounts(facts.node["status"].get("allocatable"))
    if len(facts.pods) + 1 > (allocatable["pods"].value() if "pods" in allocatable else 110):
        return _insufficient("pods", 1, len(facts.pods), allocatable["pods"].value())
    wanted = pod_amounts(pod, "requests")
    names = [name for name in ("cpu", "memory", "ephemeral-storage") if name in wanted]
    names += [name for name in wanted if name not in names and name in allocatable]  # type: ignore[misc]
    for name in names:
        used = [each.get(name) for each in facts.requests]
        in_milli = name == "cpu"
        amount = [(each.milli_value() if in_milli else each.value()) for each in used if each is not None]
        asked = wanted[name].milli_value() if in_milli else wanted[name].value()
        there = allocatable.get(name)
        capacity = 0 if there is None else there.milli_value() if in_milli else there.value()
        if asked and asked > capacity - sum(amount):
            return _insufficient(name, asked, sum(amount), capacity)
    return None


def _insufficient(name: str, requested: int, used: int, capacity: int) -> Rejection:
    return Rejection(
        f"OutOf{name}",
        f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}",
    )


def _matches_node(spec: Object, labels: dict[str, str], node_name: str) -> bool:
    for name, value in (spec.get("nodeSelector") or {}).items():
        if labels.get(name) != value:
            return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if affinity is None:
        return True
    return any(_matches_term(term, labels, node_name) for term in affinity.get("nodeSelectorTerms") or ())


def _matches_term(term: Object, labels: dict[str, str], node_name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}
    return all(
        Selector([requirement(each["key"], operators[each["operator"]], each.get("values") or [])]).matches(labels)
        for each in expressions
    ) and all((node_name in (each.get("values") or ())) == (each["operator"] == "In") for each in fields)


def _ports(pod: Object, facts: NodeFacts) -> Rejection | None:
    def used(other: Object) -> set[tuple[str, int]]:
        return {
            (port.get("protocol", "TCP"), port["hostPort"])
            for container in other["spec"]["containers"]
            for port in container.get("ports") or ()
            if port.get("hostPort")
        }

    wanted = used(pod)
    if wanted and any(wanted & used(other) for other in facts.pods):
        return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    return None


def _tolerated(tolerations: Sequence[Object], taint: Object) -> bool:
    for each in tolerations:
        if each.get("effect") and each["effect"] != taint.get("effect"):
            continue
        if not each.get("key"):
            if each.get("operator") == "Exists":
                return True
            continue
        if each["key"] == taint["key"] and (
            each.get("operator") == "Exists" or each.get("value", "") == taint.get("value", "")
        ):
            return True
    return False
