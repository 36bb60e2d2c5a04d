"""Evicting a Pod: deleting it, if the PodDisruptionBudget that covers it lets us.

Pod pending, ended or being deleted     deleted, no budget is asked
no budget                               deleted
one budget, Pod not ready               deleted when the policy or a healthy application allows it
one budget                              disruptionsAllowed − 1 and deleted, or 429
several budgets                         500
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.options import DeleteOptions, ListOptions
from clusters.emulated.apiserver.registry.hooks.loopback import Loopback
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources.binding import success
from clusters.emulated.apiserver.subresources.pod_conditions import set_condition
from clusters.emulated.apiserver.subresources.posted import Posting, posted_kind
from clusters.emulated.apiserver.verbs.delete import Deleter
from clusters.emulated.apiserver.verbs.write import copy_json, store_failure
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors, selectors
from clusters.kube.field import invalid
from clusters.kube.gostring import plain_list
from clusters.kube.selectors import SelectorError

Object = dict[str, Any]
BUDGETS = "poddisruptionbudgets.policy"
DISRUPTED_PODS_MAX = 2000
CONFLICT_ATTEMPTS_MAX = 20
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class EvictionSubresource:
    def __init__(self, services: Services, deleter: Deleter, loopback: Loopback, objects: Objects) -> None:
        self._services = services
        self._deleter = deleter
        self._loopback = loopback
        self._objects = objects
        catalogue = services.catalogue
        self._kind = posted_kind(catalogue, "policy", "v1", "Eviction")
        self._beta = posted_kind(catalogue, "policy", "v1beta1", "Eviction", shape_of="v1")

    async def handle(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        kind = self._beta if b"policy/v1beta1" in request.http.body else self._kind
        posting = Posting(request, kind, self._services)
        eviction = await posting.admitted()
        if eviction["metadata"].get("name", "") != request.info.name:
            raise errors.bad_request("name in URL does not match name in Eviction object")
        options = _delete_options(eviction, posting.options.given.get("dryRun") or [], request.info.name)
        await posting.validate(eviction)
        await self._evict(request, served, options)
        return success(request, media)

    async def _evict(self, request: Request, served: Served, options: DeleteOptions) -> None:
        for attempt in range(1, CONFLICT_ATTEMPTS_MAX + 1):
            pod = await self._pod(request)
            if not _ignores_budgets(pod):
                break
            pinned = options
            if (pod.get("status") or {}).get("phase") == "Pending" and not pod["metadata"].get("deletionTimestamp"):
                pinned = _pinned(options, pod)
            try:
                await self._delete(request, served, pinned)
                return
            except errors.StatusError as error:
                last = attempt == CONFLICT_ATTEMPTS_MAX
                if error.code != 409 or options.precondition_resource_version is not None or last:
                    raise
        budgets = await self._budgets(pod)
        if len(budgets) > 1:
            raise errors.unknown(_SEVERAL)
        pinned = options
        if budgets:
            if _unhealthy_and_free_to_go(pod, budgets[0]):
                pinned = _pinned(options, pod)
            else:
                await self._take_disruption(pod, budgets[0], options.dry_run)
        try:
            await self._delete(request, served, pinned)
        except errors.StatusError as error:
            if error.code == 409 and pinned is not options and options.precondition_resource_version is None:
                raise _still_processed(budgets[0]["metadata"]["name"]) from None
            raise

    async def _pod(self, request: Request) -> Object:
        try:
            pod = await self._objects.get_live("pods", request.info.namespace, request.info.name)
        except store_errors.StoreError as error:
            raise store_failure(error) from error
        if pod is None:
            raise errors.not_found("pods", request.info.name)
        return pod

    async def _budgets(self, pod: Object) -> list[Object]:
        """The budgets that cover the Pod; one with a selector that cannot be read covers none."""
        storage = self._services.storages[BUDGETS]
        prefix = f"{storage.prefix}{pod['metadata']['namespace']}/"
        page = await storage.list(prefix, ListOptions(), None)
        labels = pod["metadata"].get("labels") or {}
        found = []
        for each in page.items:
            try:
                selector = selectors.from_label_selector((each.object.get("spec") or {}).get("selector"))
            except SelectorError:
                continue
            if selector.matches(labels):
                found.append(each.object)
        return found

    async def _take_disruption(self, pod: Object, budget: Object, dry_run: bool) -> None:
        now = rfc3339(self._services.clock.now_s())
        name, pod_name = budget["metadata"]["name"], pod["metadata"]["name"]
        if dry_run:
            check_disruption(budget)
            return

        def taken(current: Object) -> Object:
            return with_disruption(current, pod_name, now)

        await self._loopback.update(BUDGETS, budget["metadata"]["namespace"], name, taken, "status")

    async def _delete(self, request: Request, served: Served, options: DeleteOptions) -> None:
        """Notes on the Pod why it goes, then deletes it; both as the eviction that was admitted already."""
        if not options.dry_run:
            info, now = request.info, rfc3339(self._services.clock.now_s())
            marked = await self._objects.modify("pods", info.namespace, info.name, _marking(served, options, now))
            if marked is None:
                raise errors.not_found("pods", info.name)
            if options.precondition_resource_version is not None:
                options = replace(options, precondition_resource_version=marked["metadata"]["resourceVersion"])
        await self._deleter.delete_named(request, served, request.info.name, replace(options), admission=False)


def _marking(served: Served, options: DeleteOptions, now: str) -> Callable[[Object], Object]:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }

    def mark(pod: Object) -> Object:
        metadata = pod["metadata"]
        for label, wanted, field, what in (
            ("UID", options.precondition_uid, "uid", "deleted and then recreated"),
            ("ResourceVersion", options.precondition_resource_version, "resourceVersion", "modified"),
        ):
            if wanted and wanted != metadata.get(field):
                why = (
                    f"the {label} in the precondition ({wanted}) does not match the {label} in record "
                    f"({metadata.get(field)}). The object might have been {what}"
                )
                raise errors.conflict("Pod", metadata["name"], why)
        set_condition(pod, condition, now)
        return served.finish(pod)

    return mark


def _delete_options(eviction: Object, dry_run: list[str], name: str) -> DeleteOptions:
    """What the eviction says about the deletion; a dry run may be asked for in the URL or the object."""
    given = dict(eviction.get("deleteOptions") or {})
    if given.pop("ignoreStoreReadErrorWithClusterBreakingPotential", None):
        path = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"
        text = "can not be set for pod eviction, try after removing the option"
        raise errors.invalid("Eviction.policy", name, [invalid(path, True, text)])
    inside = given.get("dryRun") or []
    if inside and dry_run and inside != dry_run:
        raise errors.unknown(
            f"Non-matching dry-run options in request and content: {plain_list(dry_run)} and {plain_list(inside)}"
        )
    preconditions = given.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(inside or dry_run),
        grace_period_s=given.get("gracePeriodSeconds"),
        precondition_uid=preconditions.get("uid"),
        precondition_resource_version=preconditions.get("resourceVersion"),
        orphan_dependents=given.get("orphanDependents"),
        propagation_policy=given.get("propagationPolicy"),
        given=given,
    )


def _ignores_budgets(pod: Object) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def _pinned(options: DeleteOptions, pod: Object) -> DeleteOptions:
    """Only if the Pod is still as it was looked at: meanwhile it may have become one that counts."""
    if options.precondition_resource_version is not None:
        return options
    return replace(options, precondition_resource_version=pod["metadata"]["resourceVersion"])


def _unhealthy_and_free_to_go(pod: Object, budget: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired: int = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def _still_processed(name: str) -> errors.StatusError:
    text = f"The disruption budget {name} is still being processed by the server."
    error = errors.too_many_requests(_VIOLATES, 10)
    error.details = {"causes": [{"reason": "DisruptionBudget", "message": text}], "retryAfterSeconds": 10}
    return error


def check_disruption(budget: Object) -> None:
    """Raises unless the budget allows one more disruption now."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name, allowed = metadata["name"], status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        raise _still_processed(name)
    if allowed < 0:
        raise errors.forbidden("poddisruptionbudget.policy", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > DISRUPTED_PODS_MAX:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.forbidden("poddisruptionbudget.policy", name, text)
    if allowed == 0:
        error = errors.too_many_requests(_VIOLATES, 0)
        error.details = {"causes": [{"reason": "DisruptionBudget", "message": _why_not(name, status)}]}
        raise error


def _why_not(name: str, status: Object) -> str:
    conditions = status.get("conditions") or ()
    condition: Object = next((each for each in conditions if each.get("type") == "DisruptionAllowed"), {})
    says = condition.get("message", "") if condition.get("status") == "False" else ""
    reason = condition.get("reason", "")
    desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    if says and reason == "SyncFailed":
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {says}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    if says:
        return f"The disruption budget {name} does not allow evicting pods currently ({reason}): {says}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def with_disruption(budget: Object, pod_name: str, now: str) -> Object:
    """The budget with one disruption less and the Pod noted as being disrupted."""
    check_disruption(budget)
    changed = copy_json(budget)
    status = changed["status"]
    status["disruptionsAllowed"] -= 1
    status.setdefault("disruptedPods", {})[pod_name] = now
    if status["disruptionsAllowed"] == 0:
        _say_disruption_not_allowed(changed, now)
    return changed


def _say_disruption_not_allowed(budget: Object, now: str) -> None:
    conditions = budget["status"].setdefault("conditions", [])
    condition: Object = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["status"].get("observedGeneration", 0),
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    for position, before in enumerate(conditions):
        if before.get("type") == "DisruptionAllowed":
            if before.get("status") == "False":
                condition["lastTransitionTime"] = before.get("lastTransitionTime")
            conditions[position] = condition
            return
    conditions.append(condition)
