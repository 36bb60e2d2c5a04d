"""The checks of the baseline level: known ways out of a container."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.emulated.apiserver.admission.podsecurity.wording import (
    Spec,
    Violation,
    containers,
    in_user_namespace,
    named,
    plural,
    pod_context,
    quoted,
)
from clusters.kube.gostring import quote

Annotations = Mapping[str, str]
Check = Callable[[Annotations, Spec], Violation | None]

_APP_ARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES = frozenset(("RuntimeDefault", "Localhost"))
_DEFAULT_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
        "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
_SE_LINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))
_SYSCTLS_1_0 = frozenset(
    (
        "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
    )
)  # fmt: skip
_SYSCTLS_1_27 = _SYSCTLS_1_0 | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_1_29 = _SYSCTLS_1_27 | {
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
}  # fmt: skip
_SYSCTLS_1_32 = _SYSCTLS_1_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def app_armor_profile(annotations: Annotations, spec: Spec) -> Violation | None:
    setters, values = profile_setters(spec, "appArmorProfile", _PROFILES)
    wrong = sorted(
        f"{name}={quote(value)}"
        for name, value in annotations.items()
        if name.startswith(_APP_ARMOR_PREFIX)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    if wrong:
        values = [*values, *wrong]
        setters.append(plural("annotation", "annotations", len(wrong)))
    if not setters:
        return None
    return Violation(
        plural("forbidden AppArmor profile", "forbidden AppArmor profiles", len(values)),
        f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(values)}",
    )


def profile_setters(spec: Spec, field: str, allowed: frozenset[str]) -> tuple[list[str], list[str]]:
    """Who set securityContext.<field>.type to something that is not allowed, and to what."""
    setters: list[str] = []
    values: set[str] = set()
    profile = pod_context(spec).get(field)
    if profile is not None and profile.get("type", "") not in allowed:
        setters.append("pod")
        values.add(profile.get("type", ""))
    bad: list[str] = []
    for name, context, _ in containers(spec):
        profile = context.get(field)
        if profile is not None and profile.get("type", "") not in allowed:
            bad.append(name)
            values.add(profile.get("type", ""))
    if bad:
        setters.append(named(bad))
    return setters, sorted(values)


def capabilities_baseline(annotations: Annotations, spec: Spec) -> Violation | None:
    bad: list[str] = []
    added: set[str] = set()
    for name, context, _ in containers(spec):
        wrong = set((context.get("capabilities") or {}).get("add") or ()) - _DEFAULT_CAPABILITIES
        if wrong:
            bad.append(name)
            added |= wrong
    if not bad:
        return None
    detail = f"{named(bad)} must not include {quoted(sorted(added))} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def host_namespaces(annotations: Annotations, spec: Spec) -> Violation | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def host_path_volumes(annotations: Annotations, spec: Spec) -> Violation | None:
    found = [each.get("name", "") for each in spec.get("volumes") or () if each.get("hostPath") is not None]
    if not found:
        return None
    return Violation("hostPath volumes", f"{plural('volume', 'volumes', len(found))} {quoted(found)}")


def host_ports(annotations: Annotations, spec: Spec) -> Violation | None:
    bad: list[str] = []
    ports: set[str] = set()
    for name, _, container in containers(spec):
        found = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if found:
            bad.append(name)
            ports |= found
    if not bad:
        return None
    uses, word = plural("uses", "use", len(bad)), plural("hostPort", "hostPorts", len(ports))
    return Violation("hostPort", f"{named(bad)} {uses} {word} {', '.join(sorted(ports))}")


def host_probes_and_host_lifecycle(annotations: Annotations, spec: Spec) -> Violation | None:
    bad: set[str] = set()
    hosts: set[str] = set()
    for name, _, container in containers(spec):
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(each) for each in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
        found = {host for handler in handlers for host in _hosts(handler)}
        if found:
            bad.add(name)
            hosts |= found
    if not bad:
        return None
    uses = plural("uses", "use", len(bad))
    word = plural("probe or lifecycle host", "probe or lifecycle hosts", len(hosts))
    return Violation("probe or lifecycle host", f"{named(sorted(bad))} {uses} {word} {quoted(sorted(hosts))}")


def _hosts(handler: Mapping[str, Any] | None) -> list[str]:
    found = [((handler or {}).get(way) or {}).get("host", "") for way in ("httpGet", "tcpSocket")]
    return [host for host in found if host]


def privileged(annotations: Annotations, spec: Spec) -> Violation | None:
    bad = [name for name, context, _ in containers(spec) if context.get("privileged")]
    if not bad:
        return None
    return Violation("privileged", f"{named(bad)} must not set securityContext.privileged=true")


def proc_mount_1_0(annotations: Annotations, spec: Spec) -> Violation | None:
    bad: list[str] = []
    found: set[str] = set()
    for name, context, _ in containers(spec):
        kind = context.get("procMount")
        if kind is not None and kind != "Default":
            bad.append(name)
            found.add(kind)
    if not bad:
        return None
    detail = f"{named(bad)} must not set securityContext.procMount to {quoted(sorted(found))}"
    return Violation("procMount", detail)


def proc_mount_1_35(annotations: Annotations, spec: Spec) -> Violation | None:
    return None if in_user_namespace(spec) else proc_mount_1_0(annotations, spec)


def _se_linux_options(allowed: frozenset[str]) -> Check:
    def check(annotations: Annotations, spec: Spec) -> Violation | None:
        types: set[str] = set()
        extra: set[str] = set()

        def is_wrong(context: Mapping[str, Any]) -> bool:
            options = context.get("seLinuxOptions")
            if options is None:
                return False
            kind = options.get("type", "")
            set_fields = {field for field in ("user", "role") if options.get(field)}
            extra.update(set_fields)
            if kind not in allowed:
                types.add(kind)
                return True
            return bool(set_fields)

        setters = ["pod"] if is_wrong(pod_context(spec)) else []
        bad = [name for name, context, _ in containers(spec) if is_wrong(context)]
        if bad:
            setters.append(named(bad))
        if not setters:
            return None
        data = [f"{plural('type', 'types', len(types))} {quoted(sorted(types))}"] if types else []
        data += [f"{field} may not be set" for field in ("user", "role") if field in extra]
        detail = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Violation("seLinuxOptions", detail)

    return check


se_linux_options_1_0 = _se_linux_options(_SE_LINUX_TYPES)
se_linux_options_1_31 = _se_linux_options(_SE_LINUX_TYPES | {"container_engine_t"})


def seccomp_annotations(annotations: Annotations, spec: Spec) -> Violation | None:
    keys = [_SECCOMP_POD, *(_SECCOMP_CONTAINER_PREFIX + name for name, _, _ in containers(spec))]
    wrong = sorted(
        {
            f"{key}={quote(annotations[key])}"
            for key in keys
            if key in annotations
            and annotations[key] not in ("runtime/default", "docker/default")
            and not annotations[key].startswith("localhost/")
        }
    )
    if not wrong:
        return None
    word = plural("annotation", "annotations", len(wrong))
    return Violation("seccompProfile", f"forbidden {word} {', '.join(wrong)}")


def seccomp_profile(annotations: Annotations, spec: Spec) -> Violation | None:
    setters, values = profile_setters(spec, "seccompProfile", _PROFILES)
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set securityContext.seccompProfile.type to {quoted(values)}"
    return Violation("seccompProfile", detail)


def _sysctls(allowed: frozenset[str]) -> Check:
    def check(annotations: Annotations, spec: Spec) -> Violation | None:
        names = [each.get("name", "") for each in pod_context(spec).get("sysctls") or ()]
        wrong = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(wrong)) if wrong else None

    return check


sysctls_1_0 = _sysctls(_SYSCTLS_1_0)
sysctls_1_27 = _sysctls(_SYSCTLS_1_27)
sysctls_1_29 = _sysctls(_SYSCTLS_1_29)
sysctls_1_32 = _sysctls(_SYSCTLS_1_32)


def windows_host_process(annotations: Annotations, spec: Spec) -> Violation | None:
    def is_wrong(context: Mapping[str, Any]) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    setters = ["pod"] if is_wrong(pod_context(spec)) else []
    bad = [name for name, context, _ in containers(spec) if is_wrong(context)]
    if bad:
        setters.append(named(bad))
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)
