"""The phase of a Pod from its containers' states. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusters.emulated.kubelet.restarts import is_sidecar, should_restart

Object = dict[str, Any]


def pod_phase(pod: Object, statuses: Sequence[Object], is_terminal: bool, has_started: bool) -> str:
    """`is_terminal`: nothing of it will run again. `has_started`: a regular container runs or has been created."""
    spec = pod["spec"]
    by_name = {status["name"]: status for status in statuses}
    pending_init, failed_for_good, pending_sidecars = 0, 0, 0
    counts = dict.fromkeys(("unknown", "running", "waiting", "stopped", "for_good", "succeeded"), 0)
    for container in spec.get("initContainers") or ():
        status = by_name.get(container["name"])
        if is_sidecar(container):
            pending_sidecars += _count_sidecar(status, counts)
        elif status is None or "running" in status["state"]:
            pending_init += 1
        else:
            code = _exit_code(status)
            if code is None:
                pending_init += 1
            elif code != 0 and not should_restart(container, spec, code):
                failed_for_good += 1
    for container in spec["containers"]:
        _count(container, spec, by_name.get(container["name"]), counts)
    if failed_for_good:
        return "Failed"
    if pending_init or (pending_sidecars and not has_started) or counts["waiting"]:
        return "Pending"
    if counts["unknown"]:
        return "Pending"
    if counts["running"]:
        return "Running"
    if not counts["stopped"]:
        return "Pending"
    ended = "Succeeded" if counts["stopped"] == counts["succeeded"] else "Failed"
    if is_terminal and not is_static(pod):
        return ended
    return ended if counts["stopped"] == counts["for_good"] else "Running"


def is_static(pod: Object) -> bool:
    source = (pod["metadata"].get("annotations") or {}).get("kubernetes.io/config.source")
    return source is not None and source != "api"


def _exit_code(status: Object) -> int | None:
    """Of its end, or of the one before while it waits; None when it has not ended yet."""
    ended = status["state"].get("terminated")
    if ended is None and "waiting" in status["state"]:
        ended = (status.get("lastState") or {}).get("terminated")
    return None if ended is None else int(ended["exitCode"])


def _count_sidecar(status: Object | None, counts: dict[str, int]) -> int:
    if status is None:
        counts["unknown"] += 1
        return 0
    if "running" in status["state"]:
        counts["running"] += 1
        return int(not status.get("started"))
    if _exit_code(status) is None:
        counts["waiting" if "waiting" in status["state"] else "unknown"] += 1
        return 1
    return 0


def _count(container: Object, spec: Object, status: Object | None, counts: dict[str, int]) -> None:
    if status is None:
        counts["unknown"] += 1
    elif "running" in status["state"]:
        counts["running"] += 1
    else:
        code = _exit_code(status)
        if code is None:
            counts["waiting" if "waiting" in status["state"] else "unknown"] += 1
            return
        counts["stopped"] += 1
        counts["for_good"] += not should_restart(container, spec, code)
        # Only an end that still shows counts as success: one that waits to run again has failed before.
        counts["succeeded"] += code == 0 and "terminated" in status["state"]
