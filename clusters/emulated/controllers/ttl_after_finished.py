"""Deleting Jobs some time after they finished, if they say so."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.indexer import split_key
from clusters.emulated.client.resources import JOBS
from clusters.emulated.controllers.job_round import finished_condition
from clusters.emulated.controllers.pod_state import is_deleted, seconds_of

Object = dict[str, Any]


def left_s(job: Object, now_s: float) -> float | None:
    """How long until the Job is to be deleted; None while it is not to be at all."""
    ttl_s = job["spec"].get("ttlSecondsAfterFinished")
    finished = finished_condition(job)
    if ttl_s is None or finished is None or is_deleted(job):
        return None
    return seconds_of(finished.get("lastTransitionTime")) + float(ttl_s) - now_s


class TtlAfterFinishedController(Controller):
    name = "ttl-after-finished-controller"
    workers = 5

    def setup(self) -> None:
        self.jobs = self.informer(JOBS)
        self.jobs.add_handler(self._changed, lambda _, new: self._changed(new))

    def _changed(self, job: Object) -> None:
        if left_s(job, self.clock.now_s()) is not None:
            self.enqueue(job)

    async def reconcile(self, key: str) -> None:
        job = self.jobs.store.get(key)
        if job is None or not self._is_due(job):
            return
        namespace, name = split_key(key)
        try:
            # The cache may be old: a longer time may have been given meanwhile.
            job = await self.api.get(JOBS, name, namespace)
            if self._is_due(job):
                options = {
                    "propagationPolicy": "Foreground",
                    "preconditions": {"uid": job["metadata"]["uid"]},
                }
                await self.api.delete(JOBS, name, namespace, options)
        except NotFound:
            return

    def _is_due(self, job: Object) -> bool:
        wait_s = left_s(job, self.clock.now_s())
        if wait_s is not None and wait_s > 0:
            self.enqueue_after(job, wait_s)
        return wait_s is not None and wait_s <= 0
