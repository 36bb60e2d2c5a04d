"""Status of PodDisruptionBudgets: how many Pods there should be, are healthy, and may be taken away now.

The eviction subresource spends `disruptionsAllowed` and notes the Pod in `disruptedPods`; this controller gives
back what was noted and did not happen within two minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import ApiFailure, Conflict, NotFound
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import (
    DEPLOYMENTS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers.pod_conditions import is_finished, is_ready, pod_condition, with_pod_condition
from clusters.emulated.controllers.scale_targets import NoKindMatchError, NoScaleError, ScaleTargets
from clusters.kube import selectors
from clusters.kube.int_or_percent import IntOrPercentError, scaled_value
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]

DELETION_TIMEOUT_S = 120.0
_STALE = "stale/"


class CannotCountError(Exception):
    """The number of expected Pods cannot be told; the message is the condition's."""


@dataclass(frozen=True, slots=True)
class Expected:
    pods: int
    healthy: int
    unmanaged: bool


class DisruptionController(Controller):
    name = "disruption-controller"
    event_component = "controllermanager"

    def setup(self) -> None:
        self._budgets = self.informer(POD_DISRUPTION_BUDGETS)
        self._pods = self.informer(PODS)
        self._owners = {
            ("", "ReplicationController"): self.informer(REPLICATION_CONTROLLERS),
            ("apps", "ReplicaSet"): self.informer(REPLICA_SETS),
            ("apps", "Deployment"): self.informer(DEPLOYMENTS),
            ("apps", "StatefulSet"): self.informer(STATEFUL_SETS),
        }
        self._scales = ScaleTargets(self.api)
        self._budgets.add_handler(self.enqueue, lambda _, new: self.enqueue(new))
        self._pods.add_handler(self._pod, lambda _, new: self._pod(new), lambda gone, _: self._enqueue_budget(gone))

    def _pod(self, pod: Object) -> None:
        self._enqueue_budget(pod)
        stale_in_s = self._stale_in_s(pod)
        if stale_in_s is not None:
            self.enqueue_after(_STALE + key_of(pod), stale_in_s)

    def _enqueue_budget(self, pod: Object) -> None:
        metadata = pod["metadata"]
        found = [each for each in self._budgets.store.list(metadata["namespace"]) if _covers(each, pod)]
        if not found:
            return
        chosen = found[0]
        if len(found) > 1:
            text = (
                f'Pod "{metadata["namespace"]}"/"{metadata["name"]}" matches multiple PodDisruptionBudgets.  '
                f'Chose "{chosen["metadata"]["name"]}" arbitrarily.'
            )
            self.recorder.event(pod, "Warning", "MultiplePodDisruptionBudgets", text)
        self.enqueue(chosen)

    async def reconcile(self, key: str) -> None:
        if key.startswith(_STALE):
            await self._clear_stale_target(key.removeprefix(_STALE))
            return
        budget = self._budgets.store.get(key)
        if budget is None:
            return
        try:
            await self._sync(budget)
        except Conflict:
            raise
        except (CannotCountError, NoScaleError, NoKindMatchError, IntOrPercentError, ApiFailure) as failed:
            await self._fail_safe(budget, str(failed))

    async def _sync(self, budget: Object) -> None:
        pods = [pod for pod in self._pods.store.list(budget["metadata"]["namespace"]) if _covers(budget, pod)]
        if not pods:
            self.recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            expected = await self._expected(budget, pods)
        except (CannotCountError, NoScaleError, NoKindMatchError, IntOrPercentError, ApiFailure) as failed:
            text = f"Failed to calculate the number of expected pods: {failed}"
            self.recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", text)
            raise
        if expected.unmanaged:
            self.recorder.event(budget, "Warning", "UnmanagedPods", _unmanaged(budget["spec"].get("selector")))
        now_s = self.clock.now_s()
        disrupted = self._still_disrupted(budget, pods, now_s)
        healthy = sum(
            is_ready(pod) and not pod["metadata"].get("deletionTimestamp") and pod["metadata"]["name"] not in disrupted
            for pod in pods
        )
        status = status_of(budget, expected, healthy, disrupted, rfc3339(now_s))
        if status is not None:
            await self.api.update(POD_DISRUPTION_BUDGETS, {**budget, "status": status}, subresource="status")
        if disrupted:
            due_s = min(unix_s(time) for time in disrupted.values()) + DELETION_TIMEOUT_S
            self.enqueue_after(budget, max(0.0, due_s - now_s) + 0.001)

    def _still_disrupted(self, budget: Object, pods: list[Object], now_s: float) -> dict[str, str]:
        """Evictions that were granted and whose Pods are not being deleted yet."""
        granted: dict[str, str] = (budget.get("status") or {}).get("disruptedPods") or {}
        kept: dict[str, str] = {}
        for pod in pods if granted else ():
            metadata = pod["metadata"]
            time = granted.get(metadata["name"])
            if time is None or metadata.get("deletionTimestamp"):
                continue
            if unix_s(time) + DELETION_TIMEOUT_S < now_s:
                # The namespace twice, where one would expect the name: so the real one says it.
                namespace = budget["metadata"]["namespace"]
                text = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
                self.recorder.event(pod, "Warning", "NotDeleted", text)
            else:
                kept[metadata["name"]] = time
        return kept

    # How many Pods there should be

    async def _expected(self, budget: Object, pods: list[Object]) -> Expected:
        spec = budget["spec"]
        if spec.get("maxUnavailable") is not None:
            scale, unmanaged = await self._scale_of_owners(pods)
            unavailable = scaled_value(spec["maxUnavailable"], scale, round_up=True)
            return Expected(scale, max(0, scale - unavailable), unmanaged)
        wanted = spec.get("minAvailable")
        if isinstance(wanted, str):
            scale, unmanaged = await self._scale_of_owners(pods)
            return Expected(scale, scaled_value(wanted, scale, round_up=True), unmanaged)
        return Expected(0, 0, False) if wanted is None else Expected(len(pods), wanted, False)

    async def _scale_of_owners(self, pods: list[Object]) -> tuple[int, bool]:
        scales: dict[str, int] = {}
        unmanaged = False
        for pod in pods:
            owner = _controller_of(pod)
            if owner is None:
                unmanaged = True
            elif owner["uid"] not in scales:
                found = await self._scale_of_owner(owner, pod["metadata"]["namespace"])
                if found is None:
                    raise CannotCountError(f'found no controllers for pod "{pod["metadata"]["name"]}"')
                scales[found[0]] = found[1]
        return sum(scales.values()), unmanaged

    async def _scale_of_owner(self, owner: Object, namespace: str) -> tuple[str, int] | None:
        """The uid and size of what decides how many of this Pod there are: of the Deployment, not its ReplicaSet."""
        found = self._known_owner(owner, namespace)
        if found is not None:
            above = _controller_of(found)
            if owner["kind"] == "ReplicaSet" and above is not None and above["kind"] == "Deployment":
                found = self._known_owner(above, namespace)
        if found is not None:
            return found["metadata"]["uid"], int(found["spec"].get("replicas", 1))
        try:
            scale = await self._scales.scale(owner["apiVersion"], owner["kind"], namespace, owner["name"])
        except NotFound:
            return None
        if scale["metadata"].get("uid") != owner["uid"]:
            return None
        return owner["uid"], int((scale.get("spec") or {}).get("replicas") or 0)

    def _known_owner(self, owner: Object, namespace: str) -> Object | None:
        group = owner["apiVersion"].rpartition("/")[0]
        informer = self._owners.get(("apps" if group == "extensions" else group, owner["kind"]))
        found = None if informer is None else informer.store.get(f"{namespace}/{owner['name']}")
        return found if found is not None and found["metadata"]["uid"] == owner["uid"] else None

    # When something is wrong

    async def _fail_safe(self, budget: Object, message: str) -> None:
        status = {**(budget.get("status") or {}), "disruptionsAllowed": 0}
        for name in ("currentHealthy", "desiredHealthy", "expectedPods"):
            status.setdefault(name, 0)
        condition = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": status.get("observedGeneration") or 0,
            "reason": "SyncFailed",
            "message": message,
        }
        status["conditions"] = _with_condition(status.get("conditions") or [], condition, rfc3339(self.clock.now_s()))
        if status != budget.get("status"):
            await self.api.update(POD_DISRUPTION_BUDGETS, {**budget, "status": status}, subresource="status")

    def _stale_in_s(self, pod: Object) -> float | None:
        """In how long a Pod that was to be disrupted, and was not, is no longer to be; None if it is no such Pod."""
        condition = pod_condition(pod, "DisruptionTarget")
        if (
            condition is None
            or condition["status"] != "True"
            or condition.get("reason") == "TerminationByKubelet"
            or pod["metadata"].get("deletionTimestamp")
            or is_finished(pod)
        ):
            return None
        since = condition.get("lastTransitionTime")
        return max(0.0, DELETION_TIMEOUT_S - (self.clock.now_s() - (unix_s(since) if since else 0.0)))

    async def _clear_stale_target(self, key: str) -> None:
        pod = self._pods.store.get(key)
        stale_in_s = None if pod is None else self._stale_in_s(pod)
        if pod is None or stale_in_s is None:
            return
        if stale_in_s > 0:
            self.enqueue_after(_STALE + key, stale_in_s)
            return
        condition = {"type": "DisruptionTarget", "status": "False"}
        conditions = with_pod_condition(pod, condition, rfc3339(self.clock.now_s()))
        changed = {**pod, "status": {**pod["status"], "conditions": conditions}}
        try:
            await self.api.update(PODS, changed, subresource="status")
        except NotFound:
            return


def status_of(budget: Object, expected: Expected, healthy: int, disrupted: dict[str, str], now: str) -> Object | None:
    """The budget's status; None when it is so already."""
    before = budget.get("status") or {}
    allowed = healthy - expected.healthy
    if expected.pods <= 0 or allowed <= 0:
        allowed = 0
    generation = budget["metadata"].get("generation") or 0
    status = {
        "observedGeneration": generation,
        "disruptedPods": disrupted,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
    }
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": generation,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    same = all((before.get(name) or type(value)()) == value for name, value in status.items())
    found = next((each for each in before.get("conditions") or () if each["type"] == "DisruptionAllowed"), None)
    if same and found is not None and (found["status"], found["reason"]) == (condition["status"], condition["reason"]):
        return None
    if not disrupted:
        del status["disruptedPods"]
    return {**status, "conditions": _with_condition(before.get("conditions") or [], condition, now)}


def _with_condition(conditions: list[Object], condition: Object, now: str) -> list[Object]:
    for position, before in enumerate(conditions):
        if before["type"] == condition["type"]:
            time = before["lastTransitionTime"] if before["status"] == condition["status"] else now
            return [*conditions[:position], {**condition, "lastTransitionTime": time}, *conditions[position + 1 :]]
    return [*conditions, {**condition, "lastTransitionTime": now}]


def _covers(budget: Object, pod: Object) -> bool:
    if budget["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    try:
        selector = selectors.from_label_selector(budget["spec"].get("selector"))
    except selectors.SelectorError:
        return False
    return selector.matches(pod["metadata"].get("labels") or {})


def _controller_of(obj: Object) -> Object | None:
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Object = reference
            return found
    return None


def _unmanaged(selector: Object | None) -> str:
    return (
        f"Pods selected by this PodDisruptionBudget (selector: {_go_text(selector)}) were found to be unmanaged. As a "
        "result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To "
        'account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
    )


def _go_text(selector: Object | None) -> str:
    """A LabelSelector as Go prints it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{name}: {value}," for name, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
