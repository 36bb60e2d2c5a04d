"""Pods of one operating system: what Linux and Windows Pods may not set, Windows users, host processes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, invalid, not_supported, required
from clusters.kube.gostring import Verbatim, to_json

Value = Mapping[str, Any]

_CREDENTIAL_SPEC_MAX_KIB = 64
_DOMAIN_MAX = 256
_USER_MAX = 104
_has_control = re.compile(r"[\x00-\x1f\x7f]").search
_is_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_dns = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_has_bad_character = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_is_dots_and_spaces = re.compile(r"[. ]+").fullmatch

# In the order in which they are reported; those above the line stand in the spec itself.
_POD_NOT_FOR_WINDOWS = (
    ("securityContext", "appArmorProfile"), ("securityContext", "seLinuxOptions"), ("", "hostUsers"),
    ("", "hostPID"), ("", "hostIPC"), ("securityContext", "seccompProfile"), ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"), ("securityContext", "sysctls"), ("", "shareProcessNamespace"),
    ("securityContext", "runAsUser"), ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"), ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)  # fmt: skip
_FALSE_IS_UNSET = frozenset(("hostPID", "hostIPC", "sysctls"))
_CONTAINER_NOT_FOR_WINDOWS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def windows_options_errors(options: Value | None, path: str) -> list[FieldError]:
    if not options:
        return []
    errors: list[FieldError] = []
    name, spec = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        at = child(path, "gmsaCredentialSpecName")
        errors += [invalid(at, name, text) for text in names.dns_subdomain(name)]
    if spec is not None:
        at = child(path, "gmsaCredentialSpec")
        if not spec:
            errors.append(invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif names.size(spec) > _CREDENTIAL_SPEC_MAX_KIB * 1024:
            text = f"gmsaCredentialSpec size must be under {_CREDENTIAL_SPEC_MAX_KIB} KiB"
            errors.append(invalid(at, spec, text))
    user = options.get("runAsUserName")
    if user is not None:
        # A pointer in Go: it is printed as JSON.
        shown = Verbatim(to_json(user))
        errors += [invalid(child(path, "runAsUserName"), shown, text) for text in _user_texts(user)]
    return errors


def _user_texts(name: str) -> list[str]:
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _has_control(name):
        return ["runAsUserName cannot contain control characters"]
    if name.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    texts = []
    if len(domain) >= _DOMAIN_MAX:
        texts.append(f"runAsUserName's Domain length must be under {_DOMAIN_MAX} characters")
    if backslash and not _is_netbios(domain) and not _is_dns(domain):
        texts.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        texts.append("runAsUserName's User cannot be empty")
    elif len(user) > _USER_MAX:
        texts.append(f"runAsUserName's User length must not be longer than {_USER_MAX} characters")
    if _is_dots_and_spaces(user):
        texts.append("runAsUserName's User cannot contain only periods or spaces")
    if _has_bad_character(user):
        texts.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return texts


def host_process_errors(spec: Value, path: str) -> list[FieldError]:
    """Windows host processes: all containers or none, and on the host's network."""
    from clusters.emulated.apiserver.validation.pod.containers import visit

    of_pod = ((spec.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    containers = host_processes = 0

    def look(container: Value, at: str) -> list[FieldError]:
        nonlocal containers, host_processes
        containers += 1
        own = ((container.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
        if own or (own is None and of_pod):
            host_processes += 1
        if of_pod is not None and own is not None and of_pod != own:
            shown = "true" if of_pod else "false"
            text = f"pod hostProcess value must be identical if both are specified, was {shown}"
            return [invalid(child(at, "securityContext", "windowsOptions", "hostProcess"), own, text)]
        return []

    errors = visit(spec, path, look)
    if host_processes:
        if host_processes != containers:
            text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            errors.append(invalid(path, "", text))
        if not spec.get("hostNetwork"):
            text = "hostNetwork must be true if pod contains any hostProcess containers"
            errors.append(invalid(child(path, "hostNetwork"), False, text))
    return errors


def os_errors(spec: Value, path: str) -> list[FieldError]:
    """`spec.os`, and what a Pod of that system may not set."""
    name = spec["os"].get("name", "")
    if not name:
        return [required(child(path, "os", "name"))]
    if name not in ("linux", "windows"):
        return [not_supported(child(path, "os"), name, ("linux", "windows"))]
    return _linux_errors(spec, path) if name == "linux" else _windows_errors(spec, path)


def _linux_errors(spec: Value, path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.pod.containers import visit

    text = "windows options cannot be set for a linux pod"

    def look(holder: Value, at: str) -> list[FieldError]:
        if (holder.get("securityContext") or {}).get("windowsOptions") is None:
            return []
        return [forbidden(child(at, "securityContext", "windowsOptions"), text)]

    return look(spec, path) + visit(spec, path, look)


def _windows_errors(spec: Value, path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.pod.containers import visit

    text = "cannot be set for a windows pod"
    errors: list[FieldError] = []
    for holder, field in _POD_NOT_FOR_WINDOWS:
        value = ((spec.get(holder) or {}) if holder else spec).get(field)
        if value if field in _FALSE_IS_UNSET else value is not None:
            errors.append(forbidden(child(path, holder, field) if holder else child(path, field), text))

    def look(container: Value, at: str) -> list[FieldError]:
        context = container.get("securityContext") or {}
        return [
            forbidden(child(at, "securityContext", field), text)
            for field in _CONTAINER_NOT_FOR_WINDOWS
            if context.get(field) is not None
        ]

    return errors + visit(spec, path, look)
