"""Creating and deleting Pods on behalf of a controller, with the events that tell of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.events import EventRecorder
from clusters.emulated.client.resources import PODS
from clusters.kube import names

Object = dict[str, Any]

SLOW_START_INITIAL_BATCH: Final = 1


def is_namespace_terminating(failure: ApiFailure) -> bool:
    """Whether nothing can be created because the namespace is on its way out."""
    causes = (failure.status.get("details") or {}).get("causes") or ()
    return any(each.get("reason") == "NamespaceTerminating" for each in causes)


class CannotCreateError(ApiFailure):
    """What was to be created is wrong in itself; the api-server was not asked."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


def pod_from_template(template: Object, owner: Object, reference: Object, generate_name: str = "") -> Object:
    """A Pod to be created; its parts are the template's, not to be changed in place."""
    wanted = template.get("metadata") or {}
    name = owner["metadata"]["name"]
    prefix = f"{name}-"
    metadata: Object = {
        "generateName": generate_name or (name if names.dns_subdomain(prefix, prefix=True) else prefix),
        "ownerReferences": [reference],
    }
    for field in ("labels", "annotations", "finalizers"):
        if wanted.get(field):
            metadata[field] = type(wanted[field])(wanted[field])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


class PodControl:
    def __init__(self, api: Api, recorder: EventRecorder) -> None:
        self._api = api
        self._recorder = recorder

    async def create(self, pod: Object, owner: Object) -> Object:
        """Raises ApiFailure, after an event on the owner."""
        if not pod["metadata"].get("labels"):
            raise CannotCreateError("unable to create pods, no labels")
        try:
            created = await self._api.create(PODS, pod, owner["metadata"]["namespace"])
        except ApiFailure as failure:
            if not is_namespace_terminating(failure):
                self._recorder.event(owner, "Warning", "FailedCreate", f"Error creating: {failure.message}")
            raise
        name = created["metadata"]["name"]
        self._recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {name}")
        return created

    async def delete(self, name: str, owner: Object) -> None:
        """Raises ApiFailure, after an event on the owner; NotFound without one."""
        try:
            await self._api.delete(PODS, name, owner["metadata"]["namespace"])
        except NotFound:
            raise
        except ApiFailure as failure:
            self._recorder.event(owner, "Warning", "FailedDelete", f"Error deleting: {failure.message}")
            raise ApiFailure(failure.code, f"unable to delete pods: {failure.message}", failure.status) from failure
        self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")


async def slow_start_batches(
    count: int, work: Callable[[int], Awaitable[object]], initial: int = SLOW_START_INITIAL_BATCH
) -> tuple[int, ApiFailure | None]:
    """Does the work `count` times: once, then twice at a time, four times…; stops after a batch with a failure.

    So a quota that is used up is asked a few times and not five hundred. Returns how often it succeeded.
    """
    succeeded = begun = 0
    batch = min(count, initial)
    while batch > 0:
        outcomes = await asyncio.gather(*map(work, range(begun, begun + batch)), return_exceptions=True)
        begun += batch
        failures = []
        for outcome in outcomes:
            if isinstance(outcome, ApiFailure):
                failures.append(outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
        succeeded += batch - len(failures)
        if failures:
            return succeeded, failures[0]
        batch = min(2 * batch, count - begun)
    return succeeded, None
