"""Which checks make up a level at a version, and what a pod violates of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from clusters.emulated.apiserver.admission.podsecurity import baseline, restricted
from clusters.emulated.apiserver.admission.podsecurity.baseline import Check
from clusters.emulated.apiserver.admission.podsecurity.levels import LevelVersion
from clusters.emulated.apiserver.admission.podsecurity.wording import Violation

# Each check by its id, with the minor version from which each revision holds; ids sort the messages.
_BASELINE: dict[str, tuple[tuple[int, Check], ...]] = {
    "appArmorProfile": ((0, baseline.app_armor_profile),),
    "capabilities_baseline": ((0, baseline.capabilities_baseline),),
    "hostNamespaces": ((0, baseline.host_namespaces),),
    "hostPathVolumes": ((0, baseline.host_path_volumes),),
    "hostPorts": ((0, baseline.host_ports),),
    "hostProbesAndHostLifecycle": ((34, baseline.host_probes_and_host_lifecycle),),
    "privileged": ((0, baseline.privileged),),
    "procMount": ((0, baseline.proc_mount_1_0), (35, baseline.proc_mount_1_35)),
    "seLinuxOptions": ((0, baseline.se_linux_options_1_0), (31, baseline.se_linux_options_1_31)),
    "seccompProfile_baseline": ((0, baseline.seccomp_annotations), (19, baseline.seccomp_profile)),
    "sysctls": (
        (0, baseline.sysctls_1_0),
        (27, baseline.sysctls_1_27),
        (29, baseline.sysctls_1_29),
        (32, baseline.sysctls_1_32),
    ),
    "windowsHostProcess": ((0, baseline.windows_host_process),),
}
_RESTRICTED: dict[str, tuple[tuple[int, Check], ...]] = {
    "allowPrivilegeEscalation": (
        (8, restricted.allow_privilege_escalation_1_8),
        (25, restricted.allow_privilege_escalation_1_25),
    ),
    "capabilities_restricted": ((22, restricted.capabilities_1_22), (25, restricted.capabilities_1_25)),
    "procMount_restricted": ((35, baseline.proc_mount_1_0),),
    "restrictedVolumes": ((0, restricted.volumes),),
    "runAsNonRoot": ((0, restricted.run_as_non_root_1_0), (35, restricted.run_as_non_root_1_35)),
    "runAsUser": ((23, restricted.run_as_user_1_23), (35, restricted.run_as_user_1_35)),
    "seccompProfile_restricted": ((19, restricted.seccomp_1_19), (25, restricted.seccomp_1_25)),
}
# A restricted check that is in force replaces the weaker baseline check of the same matter.
_REPLACES = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
_LATEST_MINOR = 35  # Since then nothing has changed.


def _at(checks: dict[str, tuple[tuple[int, Check], ...]], minor: int) -> dict[str, Check]:
    found: dict[str, Check] = {}
    for name in sorted(checks):
        for since, check in checks[name]:
            if since <= minor:
                found[name] = check
    return found


@cache
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    chosen = _at(_BASELINE, minor)
    if level == "restricted":
        strict = _at(_RESTRICTED, minor)
        replaced = {_REPLACES[name] for name in strict if name in _REPLACES}
        chosen = {name: check for name, check in chosen.items() if name not in replaced} | strict
    return tuple(chosen.values())


def evaluate(policy: LevelVersion, metadata: Mapping[str, Any] | None, spec: Mapping[str, Any]) -> list[Violation]:
    """Everything in the pod that the level at that version forbids, in the order of the messages."""
    if policy.level == "privileged":
        return []
    minor = _LATEST_MINOR if policy.minor is None else min(policy.minor, _LATEST_MINOR)
    annotations = (metadata or {}).get("annotations") or {}
    found = (check(annotations, spec) for check in _checks(policy.level, minor))
    return [violation for violation in found if violation is not None]
