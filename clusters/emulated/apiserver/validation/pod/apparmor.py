"""AppArmor in its old annotation: read into the field that replaced it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.validation.pod.annotations import APP_ARMOR
from clusters.emulated.apiserver.validation.pod.options import containers_of
from clusters.emulated.apiserver.validation.pod.security import app_armor_errors

Object = dict[str, Any]


def profile_of_annotation(annotation: str) -> Object | None:
    """The field that says what the annotation says; None where it says nothing valid."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    if annotation.startswith("localhost/"):
        local = annotation.removeprefix("localhost/")
        return {"type": "Localhost", "localhostProfile": local} if local else None
    return None


def adopt_annotations(pod: Object) -> None:
    """Set the field of each container that has only the annotation."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    spec = pod.get("spec") or {}
    if not any(name.startswith(APP_ARMOR) for name in annotations) or _is_windows(spec):
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in containers_of(spec):
        name = APP_ARMOR + container.get("name", "")
        if name not in annotations or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
            continue
        profile = profile_of_annotation(annotations[name])
        if profile is not None and profile != of_pod and not app_armor_errors(profile, ""):
            if container.get("securityContext") is None:
                container["securityContext"] = {}
            container["securityContext"]["appArmorProfile"] = profile


def adopted_warnings(pod: Object) -> list[str]:
    """About annotations that were adopted, or say nothing valid. A field that merely repeats its annotation
    cannot be told from an adopted one any more, and is warned about, too."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    spec = pod.get("spec") or {}
    if not any(name.startswith(APP_ARMOR) for name in annotations) or _is_windows(spec):
        return []
    text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    warnings: list[str] = []
    for container in containers_of(spec):
        name = APP_ARMOR + container.get("name", "")
        if name not in annotations:
            continue
        profile = profile_of_annotation(annotations[name])
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        if (profile is None and own is None) or (profile is not None and own == profile != of_pod):
            warnings.append(f"metadata.annotations[{name}]: {text}")
    return warnings


def _is_windows(spec: Object) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"
