"""The arithmetic of a rollout: how many Pods of which ReplicaSet, and what the conditions say. All pure.

`d` is a Deployment, `sets` are its ReplicaSets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers.pod_state import seconds_of
from clusters.kube.int_or_percent import scaled_value

Object = dict[str, Any]
Objects = list[Object]

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
HASH_LABEL: Final = "pod-template-hash"
_NOT_COPIED: Final = frozenset((LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO))
_NO_LIMIT: Final = (1 << 31) - 1
_HISTORY_CHARACTERS_MAX: Final = 2000

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"
REPLICA_FAILURE: Final = "ReplicaFailure"


# Numbers


def replicas(obj: Object) -> int:
    """What a Deployment or a ReplicaSet wants."""
    return obj["spec"].get("replicas") or 0


def _count(sets: Iterable[Object], field: str) -> int:
    return sum((each.get("status") or {}).get(field) or 0 for each in sets)


def wanted(sets: Iterable[Object]) -> int:
    return sum(map(replicas, sets))


def actual(sets: Iterable[Object]) -> int:
    return _count(sets, "replicas")


def available(sets: Iterable[Object]) -> int:
    return _count(sets, "availableReplicas")


def is_rolling(d: Object) -> bool:
    return bool(d["spec"]["strategy"]["type"] == "RollingUpdate")


def _fenceposts(d: Object) -> tuple[int, int]:
    """maxSurge rounded up and maxUnavailable rounded down; if both are 0, one may be unavailable after all."""
    limits = d["spec"]["strategy"].get("rollingUpdate") or {}
    surge = scaled_value(limits.get("maxSurge") or 0, replicas(d), round_up=True)
    unavailable = scaled_value(limits.get("maxUnavailable") or 0, replicas(d), round_up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)


def max_surge(d: Object) -> int:
    return _fenceposts(d)[0] if is_rolling(d) else 0


def max_unavailable(d: Object) -> int:
    return min(_fenceposts(d)[1], replicas(d)) if is_rolling(d) else 0


def new_set_replicas(d: Object, sets: Iterable[Object], current: int) -> int:
    """How many the new ReplicaSet, now at `current`, may have beside the others; `sets` are all."""
    if not is_rolling(d):
        return replicas(d)
    room = replicas(d) + max_surge(d) - wanted(sets)
    return current + min(room, replicas(d) - current) if room > 0 else current


def annotation_number(obj: Object, name: str) -> int | None:
    text = (obj["metadata"].get("annotations") or {}).get(name, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) <= _NO_LIMIT else None


def is_saturated(d: Object, new: Object | None) -> bool:
    """The new ReplicaSet has all that the Deployment wants, and they are available."""
    if new is None:
        return False
    count = replicas(d)
    desired = annotation_number(new, DESIRED_REPLICAS)
    return replicas(new) == count and desired == count and available([new]) == count


def proportional_sizes(d: Object, sets: Objects) -> dict[str, int]:
    """The sizes of active ReplicaSets by name after a Deployment was scaled in the middle of a rollout.

    Each grows or shrinks in proportion to its share; what rounding leaves over goes to the first, which is the
    largest.
    """
    allowed = replicas(d) + max_surge(d) if replicas(d) > 0 else 0
    to_add = allowed - wanted(sets)
    if to_add == 0:
        return {each["metadata"]["name"]: replicas(each) for each in sets}
    ordered = sorted(sets, key=lambda each: (created_s(each), each["metadata"]["name"]), reverse=to_add > 0)
    ordered.sort(key=lambda each: -replicas(each))
    sizes: dict[str, int] = {}
    added = 0
    for each in ordered:
        share = _proportion(each, d, to_add, added)
        sizes[each["metadata"]["name"]] = replicas(each) + share
        added += share
    first = ordered[0]["metadata"]["name"]
    sizes[first] = max(sizes[first] + to_add - added, 0)
    return sizes


def _proportion(replica_set: Object, d: Object, to_add: int, added: int) -> int:
    if replicas(replica_set) == 0 or to_add == added:
        return 0
    share = _fraction(replica_set, d)
    return min(share, to_add - added) if to_add > 0 else max(share, to_add - added)


def _fraction(replica_set: Object, d: Object) -> int:
    if replicas(d) == 0:
        return -replicas(replica_set)
    before = annotation_number(replica_set, MAX_REPLICAS) or (d.get("status") or {}).get("replicas") or 0
    if before == 0:
        return 0
    # Rounded half up: sizes are never negative.
    return int(replicas(replica_set) * (replicas(d) + max_surge(d)) / before + 0.5) - replicas(replica_set)


# Revisions and annotations


def created_s(obj: Object) -> float:
    return seconds_of(obj["metadata"].get("creationTimestamp"))


def by_creation(sets: Iterable[Object]) -> Objects:
    return sorted(sets, key=lambda each: (created_s(each), each["metadata"]["name"]))


def revision(obj: Object) -> int:
    """0 if it has none."""
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.lstrip("-").isdigit() else 0


def last_revision(sets: Iterable[Object]) -> int:
    """The second highest, to which a rollback without a number goes."""
    highest = sorted(map(revision, sets), reverse=True)
    return highest[1] if len(highest) > 1 else 0


def new_set_annotations(d: Object, before: dict[str, str], number: int, exists: bool) -> dict[str, str]:
    """What the new ReplicaSet is annotated with: the Deployment's own, its revision, the revisions it had."""
    after = dict(before)
    copied = (d["metadata"].get("annotations") or {}).items()
    after.update((name, value) for name, value in copied if name not in _NOT_COPIED)
    had = before.get(REVISION)
    if had is not None and had and not had.lstrip("-").isdigit():
        return after
    if int(had or 0) < number:
        after[REVISION] = str(number)
        if had is not None:
            _remember_revision(after, had)
    if not exists:
        after.update(size_annotations(d))
    return after


def _remember_revision(annotations: dict[str, str], had: str) -> None:
    history = annotations.get(REVISION_HISTORY, "")
    if not history.split(",")[0]:
        annotations[REVISION_HISTORY] = had
        return
    kept = [*history.split(","), had]
    while len(kept) > 1 and len(",".join(kept)) > _HISTORY_CHARACTERS_MAX:
        kept.pop(0)
    annotations[REVISION_HISTORY] = ",".join(kept)


def size_annotations(d: Object) -> dict[str, str]:
    return {DESIRED_REPLICAS: str(replicas(d)), MAX_REPLICAS: str(replicas(d) + max_surge(d))}


def rolled_back_annotations(d: Object, replica_set: Object) -> dict[str, str]:
    """The Deployment's after a rollback: its own bookkeeping, and whatever else the ReplicaSet has."""
    own = (d["metadata"].get("annotations") or {}).items()
    others = (replica_set["metadata"].get("annotations") or {}).items()
    kept = {name: value for name, value in own if name in _NOT_COPIED and name != ROLLBACK_TO}
    return kept | {name: value for name, value in others if name not in _NOT_COPIED}


# Status


def has_progress_deadline(d: Object) -> bool:
    return bool(d["spec"].get("progressDeadlineSeconds", _NO_LIMIT) != _NO_LIMIT)


def has_history_limit(d: Object) -> bool:
    return bool(d["spec"].get("revisionHistoryLimit", _NO_LIMIT) != _NO_LIMIT)


def condition_of(status: Object, kind: str) -> Object | None:
    return next((each for each in status.get("conditions") or () if each["type"] == kind), None)


def new_condition(kind: str, status: str, reason: str, message: str, now_s: float) -> Object:
    now = rfc3339(now_s)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def set_condition(conditions: Objects, condition: Object) -> Objects:
    """The conditions with this one; the same status and reason again change nothing, not even the message."""
    current = next((each for each in conditions if each["type"] == condition["type"]), None)
    if current is not None and current["status"] == condition["status"]:
        if current.get("reason") == condition["reason"]:
            return conditions
        condition = {**condition, "lastTransitionTime": current.get("lastTransitionTime")}
    return [*without_condition(conditions, condition["type"]), condition]


def without_condition(conditions: Objects, kind: str) -> Objects:
    return [each for each in conditions if each["type"] != kind]


def status_of(d: Object, sets: Objects, new: Object | None, now_s: float) -> Object:
    """The numbers, and whether enough are available; `sets` are all, the new one among them."""
    ready = available(sets)
    before = d.get("status") or {}
    counts = {
        "observedGeneration": d["metadata"].get("generation") or 0,
        "replicas": actual(sets),
        "updatedReplicas": actual([new] if new is not None else []),
        "readyReplicas": _count(sets, "readyReplicas"),
        "availableReplicas": ready,
        "unavailableReplicas": max(wanted(sets) - ready, 0),
    }
    status: Object = {name: count for name, count in counts.items() if count}
    terminating = _terminating(sets)
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    if "collisionCount" in before:
        status["collisionCount"] = before["collisionCount"]
    if ready >= replicas(d) - max_unavailable(d):
        found = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        found = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    status["conditions"] = set_condition(before.get("conditions") or [], new_condition(AVAILABLE, *found, now_s))
    return status


def _terminating(sets: Objects) -> int | None:
    """None while a ReplicaSet does not say; one that nobody has looked at yet has none."""
    total = 0
    for each in sets:
        status = each.get("status") or {}
        if "terminatingReplicas" in status:
            total += status["terminatingReplicas"]
        elif status.get("observedGeneration"):
            return None
    return total


def is_complete(d: Object, status: Object) -> bool:
    count = replicas(d)
    counts = (status.get(name) or 0 for name in ("updatedReplicas", "replicas", "availableReplicas"))
    observed = status.get("observedGeneration") or 0
    return all(each == count for each in counts) and observed >= (d["metadata"].get("generation") or 0)


def is_progressing(d: Object, status: Object) -> bool:
    before = d.get("status") or {}

    def grew(name: str) -> bool:
        return (status.get(name) or 0) > (before.get(name) or 0)

    def old(each: Object) -> int:
        return (each.get("replicas") or 0) - (each.get("updatedReplicas") or 0)

    return grew("updatedReplicas") or old(status) < old(before) or grew("readyReplicas") or grew("availableReplicas")


def deadline_s(d: Object, progressing: Object) -> float:
    since_s = seconds_of(progressing.get("lastUpdateTime"))
    return since_s + float(d["spec"]["progressDeadlineSeconds"])


def _timed_out(d: Object, status: Object, now_s: float) -> bool:
    progressing = condition_of(status, PROGRESSING)
    if progressing is None or progressing.get("reason") == "NewReplicaSetAvailable":
        return False
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return True
    return deadline_s(d, progressing) < now_s


def rollout_status(d: Object, sets: Objects, new: Object | None, now_s: float) -> Object:
    """The status of a rollout: numbers, progress, and failures of ReplicaSets."""
    status = status_of(d, sets, new, now_s)
    conditions = status["conditions"]
    current = condition_of(d.get("status") or {}, PROGRESSING)
    settled = (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and current is not None
        and current.get("reason") == "NewReplicaSetAvailable"
    )
    about = f'ReplicaSet "{new["metadata"]["name"]}"' if new is not None else f'Deployment "{d["metadata"]["name"]}"'
    if not has_progress_deadline(d):
        conditions = without_condition(conditions, PROGRESSING)
    elif settled:
        pass
    elif is_complete(d, status):
        message = f"{about} has successfully progressed."
        done = new_condition(PROGRESSING, "True", "NewReplicaSetAvailable", message, now_s)
        conditions = set_condition(conditions, done)
    elif is_progressing(d, status):
        going = new_condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{about} is progressing.", now_s)
        if current is not None and current["status"] == "True":
            going["lastTransitionTime"] = current.get("lastTransitionTime")
        # Replaced even by the same: its update time is what the deadline counts from.
        conditions = [*without_condition(conditions, PROGRESSING), going]
    elif _timed_out(d, status, now_s):
        message = f"{about} has timed out progressing."
        late = new_condition(PROGRESSING, "False", "ProgressDeadlineExceeded", message, now_s)
        conditions = set_condition(conditions, late)
    failure = _replica_failure(sets, new)
    if failure is not None:
        conditions = set_condition(conditions, failure)
    else:
        conditions = without_condition(conditions, REPLICA_FAILURE)
    status["conditions"] = conditions
    return status


def _replica_failure(sets: Objects, new: Object | None) -> Object | None:
    """The new ReplicaSet's failure first, then any other's."""
    for each in ([new] if new is not None else []) + sets:
        found = condition_of(each.get("status") or {}, REPLICA_FAILURE)
        if found is not None:
            since = found.get("lastTransitionTime")
            return {
                "type": REPLICA_FAILURE,
                "status": found["status"],
                "lastUpdateTime": since,
                "lastTransitionTime": since,
                "reason": found.get("reason", ""),
                "message": found.get("message", ""),
            }
    return None
