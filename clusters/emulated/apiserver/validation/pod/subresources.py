"""Pods through `ephemeralcontainers` and `resize`: what each may write, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.lifecycle import keep_field, keep_metadata
from clusters.emulated.apiserver.validation.pod.qos import qos_class
from clusters.emulated.apiserver.validation.pod.spec import MIRROR
from clusters.emulated.apiserver.validation.semantic import diff, equal
from clusters.kube.field import FieldError, child, forbidden, invalid
from clusters.kube.gostring import quote

Object = dict[str, Any]
Value = Mapping[str, Any]


def _mirrored(pod: Value) -> bool:
    return MIRROR in ((pod.get("metadata") or {}).get("annotations") or {})


def keep_all_but_ephemeral_containers(new: Object, old: Object) -> None:
    containers = (new.get("spec") or {}).get("ephemeralContainers")
    new["spec"] = dict(old["spec"])
    new["spec"].pop("ephemeralContainers", None)
    if containers:
        new["spec"]["ephemeralContainers"] = containers
    keep_field(new, old, "status")
    keep_metadata(new, old)


def ephemeral_containers_update_errors(new: Value, old: Value, others: list[FieldError]) -> list[FieldError]:
    """`others` are the errors of the Pod as a whole."""
    if _mirrored(old):
        return [forbidden("[]", "static pods do not support ephemeral containers")]
    errors = list(others)
    path = "spec.ephemeralContainers"
    current = {each.get("name", ""): each for each in (new.get("spec") or {}).get("ephemeralContainers") or ()}
    for container in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = container.get("name", "")
        if name not in current:
            text = f"existing ephemeral containers {quote(name)} may not be removed\n"
            errors.append(forbidden(path, text))
        elif not equal("core.EphemeralContainer", container, current[name]):
            shown = diff("core.EphemeralContainer", container, current[name])
            text = f"existing ephemeral containers {quote(name)} may not be changed\n{shown}"
            errors.append(forbidden(path, text))
    return errors


def keep_all_but_resources(new: Object, old: Object) -> None:
    """Only what a resize is about: resources and resize policies, of the Pod and its containers."""
    spec, stored = new.get("spec") or {}, old.get("spec") or {}
    if any(len(spec.get(kind) or ()) != len(stored.get(kind) or ()) for kind in ("containers", "initContainers")):
        return
    kept = dict(stored)
    keep_field(kept, spec, "resources")
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            kept[kind] = _merged(spec[kind], stored[kind])
    new["spec"] = kept
    keep_field(new, old, "status")
    keep_metadata(new, old)


def _merged(new: Sequence[Object], old: Sequence[Object]) -> Sequence[Object]:
    merged = []
    for container, before in zip(new, old, strict=True):
        if container.get("name") != before.get("name"):
            return new
        each = dict(before)
        keep_field(each, container, "resources")
        keep_field(each, container, "resizePolicy")
        merged.append(each)
    return merged


def resize_errors(new: Value, old: Value, others: list[FieldError]) -> list[FieldError]:
    """`others` are the errors of the Pod as a whole."""
    spec, stored = new.get("spec") or {}, old.get("spec") or {}
    if _mirrored(old):
        return [forbidden("[]", "static pods cannot be resized")]
    if (stored.get("os") or {}).get("name") == "windows":
        return [forbidden("[]", "windows pods cannot be resized")]
    errors = list(others)
    status = old.get("status") or {}
    if (status.get("qosClass") or qos_class(stored)) != qos_class(spec):
        text = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid("spec", (new.get("status") or {}).get("qosClass", ""), text))
    running = next((s for s in status.get("containerStatuses") or () if (s.get("state") or {}).get("running")), None)
    if running is not None and running.get("resources") is None:
        errors.append(forbidden("spec", "Pod running on node without support for resize"))
    munged = dict(spec)
    if _has_amounts(spec.get("resources")) or _has_amounts(stored.get("resources")):
        errors += _pod_level(spec, stored, munged)
    if status.get("nodeAllocatableResourceClaimStatuses"):
        errors.append(forbidden("spec", "pods with node allocatable resource claims cannot be resized"))
    ordering = _ordering(spec, stored)
    if ordering:
        return errors + ordering
    for kind in ("initContainers", "containers"):
        for position, before in enumerate(stored.get(kind) or ()):
            at = f"spec.{kind}[{position}].resources"
            errors += _removed(spec[kind][position].get("resources"), before.get("resources"), at, "resource")
    errors += _other_changes(munged, stored)
    if not errors and not equal("core.PodSpec", munged, stored):
        errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return errors


def _has_amounts(resources: Value | None) -> bool:
    return bool(resources) and bool((resources or {}).get("requests") or (resources or {}).get("limits"))


def _removed(new: Value | None, old: Value | None, path: str, what: str) -> list[FieldError]:
    return [
        forbidden(child(path, kind), f"{what} {kind} cannot be removed")
        for kind in ("requests", "limits")
        if not ((old or {}).get(kind) or {}).keys() <= ((new or {}).get(kind) or {}).keys()
    ]


def _pod_level(spec: Value, stored: Value, munged: Object) -> list[FieldError]:
    before, now = stored.get("resources"), spec.get("resources")
    if before is not None and now is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")]
    errors = _removed(now, before, "spec.resources", "pod-level resource") if before is not None else []
    put_back = _compute_put_back(now or {}, before or {})
    munged["resources"] = put_back if before is not None or any(put_back.values()) else None
    if not equal("*core.ResourceRequirements", munged["resources"], before):
        errors.append(forbidden("spec", "only cpu and memory resources are mutable at pod-level"))
    return errors


def _compute_put_back(new: Value, old: Value) -> Object:
    """The resources with cpu and memory as they were."""
    result: Object = {name: value for name, value in new.items() if name not in ("limits", "requests")}
    for kind in ("limits", "requests"):
        amounts = {name: value for name, value in (new.get(kind) or {}).items() if name not in ("cpu", "memory")}
        amounts |= {name: value for name, value in (old.get(kind) or {}).items() if name in ("cpu", "memory")}
        result[kind] = amounts or None
    return result


def _ordering(spec: Value, stored: Value) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("containers", "initContainers"):
        new, old = spec.get(kind) or (), stored.get(kind) or ()
        if len(new) != len(old):
            errors.append(forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            continue
        for position, (container, before) in enumerate(zip(new, old, strict=True)):
            if container.get("name") != before.get("name"):
                text = f"{kind} may not be renamed or reordered on resize"
                errors.append(forbidden(f"spec.{kind}[{position}].name", text))
    return errors


def _other_changes(munged: Object, stored: Value) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("containers", "initContainers"):
        if not munged.get(kind):
            continue
        kept = []
        for position, (container, before) in enumerate(zip(munged[kind], stored[kind], strict=True)):
            resources = _compute_put_back(container.get("resources") or {}, before.get("resources") or {})
            resources.pop("claims", None)
            each = {**container, "resources": resources}
            kept.append(each)
            if not equal("core.Container", each, before):
                at, text = "spec", "only cpu and memory resources are mutable"
                if kind == "initContainers":
                    at = f"spec.initContainers[{position}]"
                    text = "only cpu and memory resources for init or sidecar containers are mutable"
                errors.append(forbidden(at, text))
            sidecar = container.get("restartPolicy") == "Always"
            if kind == "initContainers" and not sidecar and not equal("core.Container", container, before):
                text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                errors += [
                    forbidden(f"spec.initContainers[{position}]", text)
                    for policy in container.get("resizePolicy") or ()
                    if policy.get("restartPolicy") == "RestartContainer"
                ]
        munged[kind] = kept
    return errors
