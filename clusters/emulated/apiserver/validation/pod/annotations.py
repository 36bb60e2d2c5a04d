"""Annotations that mean something to Pods: mirror pods, deletion cost, the old homes of seccomp and AppArmor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.validation.paths import local_descending_path
from clusters.emulated.apiserver.validation.pod.affinity import tolerations_errors
from clusters.emulated.apiserver.validation.pod.containers import visit
from clusters.emulated.apiserver.validation.pod.options import (
    DELETION_COST,
    PodOptions,
    containers_of,
    valid_deletion_cost,
)
from clusters.emulated.apiserver.validation.pod.spec import MIRROR
from clusters.kube.field import FieldError, child, forbidden, invalid, key
from clusters.kube.gojson import JsonError, loads
from clusters.kube.gostring import quote

Value = Mapping[str, Any]

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"


def pod_annotations_errors(
    annotations: Mapping[str, str], spec: Value, path: str, options: PodOptions
) -> list[FieldError]:
    if not annotations:
        return []
    errors: list[FieldError] = []
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(key(path, MIRROR), annotations[MIRROR], text))
    if annotations.get(TOLERATIONS):
        errors += _tolerations(annotations[TOLERATIONS], path, options)
    if not options.invalid_deletion_cost and not valid_deletion_cost(dict(annotations)):
        cost = annotations[DELETION_COST]
        errors.append(invalid(key(path, DELETION_COST), cost, "must be a 32bit integer"))
    if SECCOMP_POD in annotations:
        errors += _seccomp(annotations[SECCOMP_POD], child(path, SECCOMP_POD))
    for name, value in annotations.items():
        if name.startswith(SECCOMP_CONTAINER):
            errors += _seccomp(value, child(path, name))
    for name, value in annotations.items():
        if name.startswith(APP_ARMOR):
            errors += _app_armor(name, value, spec, path)
    return errors


def _tolerations(text: str, path: str, options: PodOptions) -> list[FieldError]:
    try:
        tolerations = loads(text.encode())
    except JsonError as wrong:
        return [invalid(path, TOLERATIONS, str(wrong))]
    if not isinstance(tolerations, list):
        return []
    return tolerations_errors(tolerations, child(path, TOLERATIONS), options)


def _seccomp(profile: str, path: str) -> list[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if profile.startswith("localhost/"):
        return local_descending_path(profile.removeprefix("localhost/"), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def _app_armor(name: str, profile: str, spec: Value, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    container = name.removeprefix(APP_ARMOR)
    if all(each.get("name") != container for each in containers_of(dict(spec))):
        errors.append(invalid(key(path, name), container, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        errors.append(invalid(key(path, name), profile, f"invalid AppArmor profile name: {quote(profile)}"))
    return errors


def annotations_match_fields(annotations: Mapping[str, str], spec: Value, path: str) -> list[FieldError]:
    """Where both the annotation and the field are set, they say the same."""
    if not any(name == SECCOMP_POD or name.startswith((SECCOMP_CONTAINER, APP_ARMOR)) for name in annotations):
        return []
    context = spec.get("securityContext") or {}
    errors: list[FieldError] = []
    if context.get("seccompProfile") is not None and SECCOMP_POD in annotations:
        at = child(path, "securityContext", "seccompProfile")
        errors += _match(annotations[SECCOMP_POD], context["seccompProfile"], at, "seccomp")

    def seccomp(container: Value, at: str) -> list[FieldError]:
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        name = SECCOMP_CONTAINER + container.get("name", "")
        if profile is None or name not in annotations:
            return []
        return _match(annotations[name], profile, child(at, "securityContext", "seccompProfile"), "seccomp")

    def app_armor(container: Value, at: str) -> list[FieldError]:
        profile = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = context.get("appArmorProfile") if profile is None else profile
        name = APP_ARMOR + container.get("name", "")
        if profile is None or name not in annotations:
            return []
        return _match(annotations[name], profile, child(at, "securityContext", "appArmorProfile"), "apparmor")

    errors += visit(spec, path, seccomp)
    if (spec.get("os") or {}).get("name") != "windows":
        errors += visit(spec, path, app_armor)
    return errors


def _match(annotation: str, profile: Value, path: str, what: str) -> list[FieldError]:
    kind = profile.get("type")
    same = True
    if kind == "Unconfined":
        same = annotation == "unconfined"
    elif kind == "RuntimeDefault":
        same = annotation == "runtime/default" or (what == "seccomp" and annotation == "docker/default")
    elif kind == "Localhost":
        same = annotation.startswith("localhost/")
        if same and annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
            text = f"{what} profile in annotation and field must match"
            return [forbidden(child(path, "localhostProfile"), text)]
    return [] if same else [forbidden(child(path, "type"), f"{what} type in annotation and field must match")]


def annotation_update_errors(new: Value, old: Value, spec: Value, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, value in old.items():
        if name in new and new[name] == value:
            continue
        if name.startswith(APP_ARMOR):
            errors.append(forbidden(key(path, name), "may not remove or update AppArmor annotations"))
        if name == MIRROR:
            errors.append(forbidden(key(path, name), "may not remove or update mirror pod annotation"))
    for name in new:
        if name in old:
            continue
        if name.startswith(APP_ARMOR):
            errors.append(forbidden(key(path, name), "may not add AppArmor annotations"))
        if name == MIRROR:
            errors.append(forbidden(key(path, name), "may not add mirror pod annotation"))
    return errors + pod_annotations_errors(new, spec, path, options)
