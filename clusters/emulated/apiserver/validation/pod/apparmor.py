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


def adopt_annotations(pod: Object) -> list[str]:
    """Set the field of each container that has only the annotation; the warnings about it."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    if not any(name.startswith(APP_ARMOR) for name in annotations):
        return []
    spec = pod.get("spec") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return []
    warnings: list[str] = []
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in containers_of(spec):
        name = APP_ARMOR + container.get("name", "")
        if name not in annotations or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
            continue
        profile = profile_of_annotation(annotations[name])
        if profile is not None and app_armor_errors(profile, ""):
            profile = None
        if profile is not None and profile != of_pod:
            if container.get("securityContext") is None:
                container["securityContext"] = {}
            container["securityContext"]["appArmorProfile"] = profile
        elif profile is not None:
            continue
        text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
        warnings.append(f"metadata.annotations[{name}]: {text}")
    return warnings
