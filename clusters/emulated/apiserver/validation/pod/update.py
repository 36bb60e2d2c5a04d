"""What an update may change of a Pod: images, deadline, tolerations, gates, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.pod.affinity import tolerations_errors
from clusters.emulated.apiserver.validation.pod.options import PodOptions
from clusters.emulated.apiserver.validation.semantic import diff, equal
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, index, invalid, required
from clusters.kube.internal import printed

Value = Mapping[str, Any]

_INT32_MAX = 2147483647
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def spec_update_errors(new: Value, old: Value, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("containers", "initContainers"):
        wrong, stop = _container_updates(new.get(kind) or (), old.get(kind) or (), f"spec.{kind}")
        errors += wrong
        if stop:
            return errors
    wrong, stop = _deadline(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    errors += wrong
    if stop:
        return errors
    errors += _added_tolerations(new.get("tolerations") or (), old.get("tolerations") or (), options)
    errors += _deleted_gates(new.get("schedulingGates") or (), old.get("schedulingGates") or ())
    if equal("core.PodSpec", new, old):
        return errors
    munged = _with_updatable_from(old, new)
    if old.get("schedulingGates"):
        errors += _gated(munged, old)
    if not equal("core.PodSpec", munged, old):
        shown = diff("core.PodSpec", old, munged)
        errors.append(forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}\n{shown}"))
    return errors


def _container_updates(new: Sequence[Value], old: Sequence[Value], path: str) -> tuple[list[FieldError], bool]:
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")], True
    errors: list[FieldError] = []
    for position, container in enumerate(new):
        image, at = container.get("image", ""), f"{path}[{position}].image"
        if not image:
            errors.append(required(at))
        if image != image.strip():
            errors.append(invalid(at, image, "must not have leading or trailing whitespace"))
    return errors, False


def _deadline(new: int | None, old: int | None) -> tuple[list[FieldError], bool]:
    at = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return [], False
        return [invalid(at, None, "must not update from a positive integer to nil value")], False
    if not 0 <= new <= _INT32_MAX:
        return [invalid(at, new, names.range_error(0, _INT32_MAX))], True
    if old is not None and old < new:
        return [invalid(at, new, "must be less than or equal to previous value")], True
    return [], False


def _without_seconds(toleration: Value) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds" and value}


def _added_tolerations(new: Sequence[Value], old: Sequence[Value], options: PodOptions) -> list[FieldError]:
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        text = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", text)]
    return tolerations_errors(new, "spec.tolerations", options)


def _deleted_gates(new: Sequence[Value], old: Sequence[Value]) -> list[FieldError]:
    before = {gate.get("name", "") for gate in old}
    return [
        forbidden(
            f"{index('spec.schedulingGates', position)}.name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for position, gate in enumerate(new)
        if gate.get("name", "") not in before
    ]


def _with_updatable_from(old: Value, new: Value) -> dict[str, Any]:
    """`new` with everything that may change put back to what `old` has."""
    munged = dict(new)
    for kind in ("containers", "initContainers"):
        if new.get(kind):
            munged[kind] = [
                {**container, "image": before.get("image", "")}
                for container, before in zip(new[kind], old[kind], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged[field] = old.get(field)
    grace = old.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = grace
    return munged


def _gated(munged: dict[str, Any], old: Value) -> list[FieldError]:
    """A Pod that is held back from scheduling may still be told more about where to go."""
    errors: list[FieldError] = []
    selector, before = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != before:
        if any(selector.get(name) != value for name, value in before.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(invalid("spec.nodeSelector", selector or None, text))
        munged["nodeSelector"] = old.get("nodeSelector")
    affinity, old_affinity = munged.get("affinity"), old.get("affinity")
    node, old_node = (affinity or {}).get("nodeAffinity"), (old_affinity or {}).get("nodeAffinity")
    if equal("*core.NodeAffinity", node, old_node):
        return errors
    errors += _node_affinity_additions(node or {}, old_node or {})
    if affinity is None:
        if old_node is not None:
            munged["affinity"] = {"nodeAffinity": old_node}
    elif old_affinity is None and affinity.get("podAffinity") is None and affinity.get("podAntiAffinity") is None:
        munged["affinity"] = None
    else:
        munged["affinity"] = {**affinity, "nodeAffinity": old_node}
    return errors


def _node_affinity_additions(new: Value, old: Value) -> list[FieldError]:
    old_terms = (old.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    if old.get(_REQUIRED) is None:
        return []
    new_terms = (new.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    at = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if old_terms and len(old_terms) != len(new_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(at, printed("[]core.NodeSelectorTerm", new_terms or None), text)]
    text = "only additions are allowed (no mutations or deletions)"
    return [
        invalid(index(at, position), printed("core.NodeSelectorTerm", term), text)
        for position, (term, before) in enumerate(zip(new_terms, old_terms, strict=True))
        if not _only_additions(term, before)
    ]


def _only_additions(new: Value, old: Value) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(old.get(part) for part in parts):
        return not any(new.get(part) for part in parts)
    return all((new.get(part) or [])[: len(old.get(part) or ())] == (old.get(part) or []) for part in parts)
