"""The checks of the restricted level: what a hardened pod has to say for itself."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.podsecurity.baseline import Annotations, seccomp_profile
from clusters.emulated.apiserver.admission.podsecurity.wording import (
    Spec,
    Violation,
    containers,
    in_user_namespace,
    named,
    on_windows,
    plural,
    pod_context,
    quoted,
)

_ALLOWED_VOLUMES = frozenset(
    (
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
        "projected", "secret",
    )
)  # fmt: skip
_RESTRICTED_VOLUMES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd",
    "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk",
    "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip


def allow_privilege_escalation_1_8(annotations: Annotations, spec: Spec) -> Violation | None:
    bad = [name for name, context, _ in containers(spec) if context.get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    detail = f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


def allow_privilege_escalation_1_25(annotations: Annotations, spec: Spec) -> Violation | None:
    return None if on_windows(spec) else allow_privilege_escalation_1_8(annotations, spec)


def capabilities_1_22(annotations: Annotations, spec: Spec) -> Violation | None:
    missing: list[str] = []
    adding: list[str] = []
    added: set[str] = set()
    for name, context, _ in containers(spec):
        capabilities = context.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or ()):
            missing.append(name)
        wrong = set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"}
        if wrong:
            adding.append(name)
            added |= wrong
    details = []
    if missing:
        details.append(f'{named(missing)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        details.append(f"{named(adding)} must not include {quoted(sorted(added))} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def capabilities_1_25(annotations: Annotations, spec: Spec) -> Violation | None:
    return None if on_windows(spec) else capabilities_1_22(annotations, spec)


def volumes(annotations: Annotations, spec: Spec) -> Violation | None:
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in spec.get("volumes") or ():
        if any(volume.get(kind) is not None for kind in _ALLOWED_VOLUMES):
            continue
        bad.append(volume.get("name", ""))
        kinds.add(next((kind for kind in _RESTRICTED_VOLUMES if volume.get(kind) is not None), "unknown"))
    if not bad:
        return None
    subject = f"{plural('volume', 'volumes', len(bad))} {quoted(bad)} {plural('uses', 'use', len(bad))}"
    words = plural("restricted volume type", "restricted volume types", len(kinds))
    return Violation("restricted volume types", f"{subject} {words} {quoted(sorted(kinds))}")


def run_as_non_root_1_0(annotations: Annotations, spec: Spec) -> Violation | None:
    of_pod = pod_context(spec).get("runAsNonRoot")
    setters = ["pod"] if of_pod is False else []
    explicit: list[str] = []
    implicit: list[str] = []
    for name, context, _ in containers(spec):
        wish = context.get("runAsNonRoot")
        if wish is False:
            explicit.append(name)
        elif wish is None and of_pod is not True:
            implicit.append(name)
    if explicit:
        setters.append(named(explicit))
    if setters:
        detail = f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
    elif implicit:
        detail = f"pod or {named(implicit)} must set securityContext.runAsNonRoot=true"
    else:
        return None
    return Violation("runAsNonRoot != true", detail)


def run_as_non_root_1_35(annotations: Annotations, spec: Spec) -> Violation | None:
    return None if in_user_namespace(spec) else run_as_non_root_1_0(annotations, spec)


def run_as_user_1_23(annotations: Annotations, spec: Spec) -> Violation | None:
    setters = ["pod"] if pod_context(spec).get("runAsUser") == 0 else []
    bad = [name for name, context, _ in containers(spec) if context.get("runAsUser") == 0]
    if bad:
        setters.append(named(bad))
    if not setters:
        return None
    return Violation("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0")


def run_as_user_1_35(annotations: Annotations, spec: Spec) -> Violation | None:
    return None if in_user_namespace(spec) else run_as_user_1_23(annotations, spec)


def seccomp_1_19(annotations: Annotations, spec: Spec) -> Violation | None:
    explicit = seccomp_profile(annotations, spec)
    if explicit is not None:
        return explicit
    if pod_context(spec).get("seccompProfile") is not None:
        return None
    implicit = [name for name, context, _ in containers(spec) if context.get("seccompProfile") is None]
    if not implicit:
        return None
    wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {named(implicit)} {wanted}")


def seccomp_1_25(annotations: Annotations, spec: Spec) -> Violation | None:
    return None if on_windows(spec) else seccomp_1_19(annotations, spec)
