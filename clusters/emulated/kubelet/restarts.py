"""When a container that ended is started again: restart policies of Pods and containers, and their rules."""

from __future__ import annotations

from typing import Any

from clusters.emulated.kubelet.cri import CREATED, RUNNING, UNKNOWN, PodState

Object = dict[str, Any]


def is_sidecar(container: Object) -> bool:
    """An init container that goes on running beside the others."""
    return container.get("restartPolicy") == "Always"


def should_restart(container: Object, pod_spec: Object, exit_code: int) -> bool:
    """Whether a container that ended with this code may run again."""
    for rule in container.get("restartPolicyRules") or ():
        wanted = rule.get("exitCodes") or {}
        values = wanted.get("values") or ()
        if (exit_code in values) == (wanted.get("operator") == "In"):
            return rule.get("action") == "Restart"  # type: ignore[no-any-return]
    policy = container.get("restartPolicy") or pod_spec.get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def should_be_restarted(container: Object, pod: Object, state: PodState) -> bool:
    """Whether a container that is not running is to be started (again)."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    status = state.find(container["name"])
    if status is None:
        return True
    if status.state == RUNNING:
        return False
    if status.state in (UNKNOWN, CREATED):
        return True
    return should_restart(container, pod["spec"], status.exit_code)


def restarts_on_failure(pod: Object) -> bool:
    return pod["spec"].get("restartPolicy") != "Never"  # type: ignore[no-any-return]
