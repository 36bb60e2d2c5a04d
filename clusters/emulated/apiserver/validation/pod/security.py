"""Security contexts of Pods and containers: users, seccomp, AppArmor, sysctls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.validation.paths import local_descending_path
from clusters.emulated.apiserver.validation.pod.options import PodOptions
from clusters.emulated.apiserver.validation.pod.windows import windows_options_errors
from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
)
from clusters.kube.internal import printed

Value = Mapping[str, Any]

_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROFILE_MAX_BYTES = 4095
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}"
_is_sysctl = re.compile(_SYSCTL).fullmatch
_SYSCTL_MAX = 253
_IPC_SYSCTLS = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg")
)


def seccomp_errors(profile: Value | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    errors: list[FieldError] = []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors.append(required(child(path, "type"), "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        errors.append(not_supported(child(path, "type"), kind, _PROFILE_TYPES))
    at = child(path, "localhostProfile")
    if kind == "Localhost":
        if local is None:
            errors.append(required(at, "must be set when seccomp type is Localhost"))
        else:
            errors += local_descending_path(local, at)
    elif local is not None:
        text = "can only be set when seccomp type is Localhost"
        errors.append(invalid(at, printed("core.SeccompProfile", profile), text))
    return errors


def app_armor_errors(profile: Value | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    at = child(path, "localhostProfile")
    if kind == "Localhost":
        if local is None:
            return [required(at, "must be set when AppArmor type is Localhost")]
        errors: list[FieldError] = []
        if local != local.strip():
            errors.append(invalid(at, local, "must not be padded with whitespace"))
        elif not local:
            errors.append(required(at, "must be set when AppArmor type is Localhost"))
        if names.size(local) > _PROFILE_MAX_BYTES:
            errors.append(too_long(at, _PROFILE_MAX_BYTES))
        return errors
    if kind in _PROFILE_TYPES:
        if local is not None:
            return [invalid(at, local, "can only be set when AppArmor type is Localhost")]
        return []
    if not kind:
        return [required(child(path, "type"), "type is required when appArmorProfile is set")]
    return [not_supported(child(path, "type"), kind, _PROFILE_TYPES)]


def _id_errors(context: Value, path: str, *fields: str) -> list[FieldError]:
    return [
        invalid(child(path, field), context[field], text)
        for field in fields
        if context.get(field) is not None
        for text in names.user_id(context[field])
    ]


def security_context_errors(context: Value, path: str, host_users: bool) -> list[FieldError]:
    """A container's. Privileged containers are allowed, as api-servers are usually started."""
    errors = _id_errors(context, path, "runAsUser", "runAsGroup")
    proc_mount = context.get("procMount")
    if proc_mount is not None:
        at = child(path, "procMount")
        if proc_mount not in ("Default", "Unmasked"):
            errors.append(not_supported(at, proc_mount, ("Default", "Unmasked")))
        if host_users and proc_mount == "Unmasked":
            errors.append(invalid(at, proc_mount, "`hostUsers` must be false to use `Unmasked`"))
    errors += seccomp_errors(context.get("seccompProfile"), child(path, "seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.append(invalid(path, printed("core.SecurityContext", context), text))
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                errors.append(invalid(path, printed("core.SecurityContext", context), text))
    errors += windows_options_errors(context.get("windowsOptions"), child(path, "windowsOptions"))
    return errors + app_armor_errors(context.get("appArmorProfile"), child(path, "appArmorProfile"))


def host_sysctl(name: str, spec: Value, path: str) -> list[FieldError]:
    """A sysctl of a kernel namespace that the Pod shares with its host."""
    prefix = name.replace("/", ".").partition("*")[0]
    if spec.get("hostNetwork") and prefix.startswith("net."):
        return [invalid(path, name, "may not be specified when 'hostNetwork' is true")]
    if spec.get("hostIPC") and (prefix in _IPC_SYSCTLS or prefix.startswith("fs.mqueue.")):
        return [invalid(path, name, "may not be specified when 'hostIPC' is true")]
    return []


def _sysctls_errors(context: Value, spec: Value, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, sysctl in enumerate(context["sysctls"]):
        name, at = sysctl.get("name", ""), child(index(path, position), "name")
        if not name:
            errors.append(required(at))
        elif len(name) > _SYSCTL_MAX or not _is_sysctl(name):
            text = f"must have at most {_SYSCTL_MAX} characters and match regex ^{_SYSCTL}$"
            errors.append(invalid(at, name, text))
        elif name in seen:
            errors.append(duplicate(at, name))
        if not options.host_namespace_sysctls:
            errors += host_sysctl(name, spec, at)
        seen.add(name)
    return errors


def pod_security_context_errors(spec: Value, path: str, options: PodOptions) -> list[FieldError]:
    """The Pod's; `path` is the spec's. Host namespaces stand in the spec and are named with the context."""
    context, at = spec.get("securityContext") or {}, child(path, "securityContext")
    errors: list[FieldError] = []
    if context:
        errors += _id_errors(context, at, "fsGroup", "runAsUser", "runAsGroup")
        for position, group in enumerate(context.get("supplementalGroups") or ()):
            where = index(child(at, "supplementalGroups"), position)
            errors += [invalid(where, group, text) for text in names.group_id(group)]
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(child(at, "shareProcessNamespace"), True, text))
    if not context:
        return errors
    if context.get("sysctls"):
        errors += _sysctls_errors(context, spec, child(at, "sysctls"), options)
    errors += _one_of(context, at, "fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    errors += seccomp_errors(context.get("seccompProfile"), child(at, "seccompProfile"))
    errors += windows_options_errors(context.get("windowsOptions"), child(at, "windowsOptions"))
    errors += app_armor_errors(context.get("appArmorProfile"), child(at, "appArmorProfile"))
    errors += _one_of(context, at, "supplementalGroupsPolicy", ("Merge", "Strict"))
    # Mounting with a label is off in v1.36; a Pod that already asks for it may go on.
    policies = ("MountOption", "Recursive") if options.selinux_mount_option else ("Recursive",)
    return errors + _one_of(context, at, "seLinuxChangePolicy", policies)


def _one_of(context: Value, path: str, field: str, supported: tuple[str, ...]) -> list[FieldError]:
    value = context.get(field)
    if value is None or value in supported:
        return []
    return [not_supported(child(path, field), value, supported)]


def user_namespace_errors(spec: Value, path: str, options: PodOptions) -> list[FieldError]:
    """What a Pod in a user namespace of its own may not share with the host."""
    from clusters.emulated.apiserver.validation.pod.containers import visit

    if spec.get("hostUsers") is not False:
        return []
    text = "when `hostUsers` is false"
    errors: list[FieldError] = []
    if spec.get("hostNetwork") and not options.host_network_with_user_namespace:
        errors.append(forbidden(child(path, "hostNetwork"), text))
    if spec.get("hostPID"):
        errors.append(forbidden(child(path, "HostPID"), text))
    if spec.get("hostIPC"):
        errors.append(forbidden(child(path, "HostIPC"), text))
    if not options.volume_devices_with_user_namespace:
        errors += visit(
            spec,
            path,
            lambda container, at: (
                [forbidden(child(at, "volumeDevices"), text)] if container.get("volumeDevices") else []
            ),
        )
    return errors
