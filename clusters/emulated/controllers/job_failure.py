"""When a Job fails or succeeds before its time, and how long it waits before it tries again. All pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.controllers.job_indexes import Indexes
from clusters.emulated.controllers.pod_state import condition, phase, seconds_of

Object = dict[str, Any]
Objects = list[Object]

BACK_OFF_FIRST_S: Final = 10.0
BACK_OFF_MAX_S: Final = 600.0


def only_replaces_failed(job: Object) -> bool:
    """A Pod that is being deleted counts only when it is over."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy") is not None


def is_failed(pod: Object, job: Object) -> bool:
    if phase(pod) == "Failed":
        return True
    if only_replaces_failed(job):
        return False
    return "deletionTimestamp" in pod["metadata"] and phase(pod) != "Succeeded"


# Policies


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a failure policy says about a failed Pod; a message fails the whole Job."""

    counts: bool = True
    action: str = ""
    message: str = ""


def failure_verdict(job: Object, pod: Object) -> Verdict:
    """By the first rule that matches; without one the failure counts."""
    namespace, name = pod["metadata"].get("namespace", ""), pod["metadata"]["name"]
    for number, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        action = rule["action"]
        if rule.get("onExitCodes") is not None:
            container = _exited(pod, rule["onExitCodes"])
            if container is None:
                continue
            code = container["state"]["terminated"]["exitCode"]
            message = (
                f"Container {container['name']} for pod {namespace}/{name} failed with exit code {code} "
                f"matching {action} rule at index {number}"
            )
        elif rule.get("onPodConditions") is not None:
            kind = _condition_kind(pod, rule["onPodConditions"])
            if not kind:
                continue
            message = f"Pod {namespace}/{name} has condition {kind} matching {action} rule at index {number}"
        else:
            continue
        return Verdict(action != "Ignore", action, message if action == "FailJob" else "")
    return Verdict()


def _exited(pod: Object, requirement: Object) -> Object | None:
    status = pod.get("status") or {}
    for each in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        ended = (each.get("state") or {}).get("terminated")
        code = ended.get("exitCode", 0) if ended else 0
        if code and requirement.get("containerName") in (None, each["name"]):
            listed = code in (requirement.get("values") or ())
            if listed == (requirement["operator"] == "In"):
                found: Object = each
                return found
    return None


def _condition_kind(pod: Object, patterns: Objects) -> str:
    for each in (pod.get("status") or {}).get("conditions") or ():
        for pattern in patterns:
            if each["type"] == pattern["type"] and each["status"] == pattern.get("status", "True"):
                return str(each["type"])
    return ""


def success_policy_match(job: Object, succeeded: Indexes) -> str:
    """The message of the first success rule that holds; empty if none does."""
    policy = job["spec"].get("successPolicy")
    if policy is None or not succeeded.total:
        return ""
    for number, rule in enumerate(policy.get("rules") or ()):
        count = rule.get("succeededCount")
        if rule.get("succeededIndexes") is not None:
            wanted = Indexes.parse(rule["succeededIndexes"], job["spec"]["completions"])
            both = wanted.overlap(succeeded)
            met = wanted.total > 0 and (both == wanted.total or (count is not None and both >= count))
        else:
            met = count is not None and succeeded.total >= count
        if met:
            return f"Matched rules at index {number}"
    return ""


def past_restart_limit(job: Object, pods: Iterable[Object]) -> bool:
    """With restartPolicy OnFailure the restarts of running Pods count as failures."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in pods:
        if phase(pod) in ("Running", "Pending"):
            status = pod.get("status") or {}
            for name in ("initContainerStatuses", "containerStatuses"):
                restarts += sum(each.get("restartCount", 0) for each in status.get(name) or ())
    limit = job["spec"].get("backoffLimit", 6)
    return bool(restarts >= limit if limit else restarts > 0)


# Back-off


def finished_s(pod: Object) -> float:
    """When a Pod was over, by its containers; else when it was no longer ready, or deleted, or created."""
    by_containers = _containers_finished_s(pod)
    if by_containers:
        return by_containers
    ready = condition(pod, "Ready")
    if ready is not None and ready["status"] == "False" and ready.get("lastTransitionTime"):
        return seconds_of(ready["lastTransitionTime"])
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        return seconds_of(metadata["deletionTimestamp"]) - float(metadata.get("deletionGracePeriodSeconds") or 0)
    return seconds_of(metadata.get("creationTimestamp"))


def _containers_finished_s(pod: Object) -> float:
    status = pod.get("status") or {}
    sidecars = {
        each["name"] for each in pod["spec"].get("initContainers") or () if each.get("restartPolicy") == "Always"
    }
    statuses = [
        *(status.get("containerStatuses") or ()),
        *(each for each in status.get("initContainerStatuses") or () if each["name"] in sidecars),
    ]
    latest = 0.0
    for each in statuses:
        ended = (each.get("state") or {}).get("terminated") or {}
        if not ended.get("finishedAt"):
            return 0.0
        latest = max(latest, seconds_of(ended["finishedAt"]))
    return latest


@dataclass(frozen=True, slots=True)
class BackOff:
    """Failures since the last success, and when the last of them was."""

    failures: int = 0
    last_s: float = 0.0

    def after(self, succeeded: Objects, failed: Objects) -> BackOff:
        """Counts Pods that finished since."""
        failures_s = sorted(map(finished_s, failed))
        if not succeeded:
            return BackOff(self.failures + len(failures_s), failures_s[-1]) if failures_s else self
        success_s = max(map(finished_s, succeeded))
        later_s = [each for each in failures_s if each > success_s]
        return BackOff(len(later_s), later_s[-1]) if later_s else BackOff()

    def remaining_s(self, now_s: float) -> float:
        return remaining_s(self.failures, self.last_s, now_s)


def remaining_s(failures: int, last_s: float, now_s: float) -> float:
    """10 s after the first failure, then twice as long each time, ten minutes at most."""
    if failures == 0:
        return 0.0
    delay_s = min(BACK_OFF_FIRST_S * 2.0 ** min(failures - 1, 16), BACK_OFF_MAX_S)
    return max(delay_s - (now_s - last_s), 0.0)
