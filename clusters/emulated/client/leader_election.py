"""Of several instances of a component one leads: whoever holds the Lease and renews it.

    elector = LeaderElector(api, "node-1_8c3b…", "kube-scheduler", clock=clock, randomness=randomness)
    await elector.run(lead)          # waits for its turn, then runs lead() until leadership or `lead` ends

An instance believes in a Lease for `lease_duration_s` from the moment it *saw* it change, by its own clock, so
clocks that differ do no harm. A leader that cannot renew for `renew_deadline_s` stops before others may take over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.events import EventRecorder
from clusters.emulated.client.resources import LEASES
from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.clock.clock import rfc3339_micro
from clusters.emulated.outbound.deadline import Deadline

log = logging.getLogger(__name__)

Object = dict[str, Any]

_JITTER: Final = 1.2


class _RenewalOverdueError(Exception):
    """The Lease could not be renewed in time."""


class LeaderElector:
    def __init__(
        self,
        api: Api,
        identity: str,
        name: str,
        namespace: str = "kube-system",
        *,
        clock: Clock,
        randomness: Randomness,
        recorder: EventRecorder | None = None,
        lease_duration_s: float = 15.0,
        renew_deadline_s: float = 10.0,
        retry_period_s: float = 2.0,
        release_on_cancel: bool = True,
    ) -> None:
        assert lease_duration_s > renew_deadline_s > retry_period_s * _JITTER, "a leader must have time to renew"
        self.identity = identity
        self._api = api
        self._name = name
        self._namespace = namespace
        self._clock = clock
        self._randomness = randomness
        self._recorder = recorder
        self._lease_duration_s = lease_duration_s
        self._renew_deadline_s = renew_deadline_s
        self._retry_period_s = retry_period_s
        self._release_on_cancel = release_on_cancel
        self._lease: Object | None = None
        self._observed: Object = {}
        self._observed_at_s = float("-inf")

    @property
    def leader(self) -> str:
        """Who held the Lease when it was last seen; empty if nobody."""
        return str(self._observed.get("holderIdentity") or "")

    @property
    def is_leader(self) -> bool:
        return self.leader == self.identity

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Returns when leadership was lost, after `lead` was cancelled; or raises what `lead` raised."""
        await self._acquire()
        leading = asyncio.get_running_loop().create_task(lead(), name=f"{self._name} leading")
        renewing = asyncio.get_running_loop().create_task(self._renew(), name=f"{self._name} renewing")
        try:
            await asyncio.wait((leading, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leading, renewing):
                task.cancel()
            await asyncio.gather(leading, renewing, return_exceptions=True)
            await self._resign()
        if not leading.cancelled():
            leading.result()

    async def _acquire(self) -> None:
        while not await self._try_acquire_or_renew():
            await self._clock.sleep(self._retry_period_s * (1 + _JITTER * self._randomness.fraction()))
        self._tell("became leader")

    async def _renew(self) -> None:
        """Returns when the Lease could not be kept."""
        while True:
            try:
                async with Deadline(self._clock, self._renew_deadline_s, _RenewalOverdueError):
                    while not await self._try_acquire_or_renew():
                        await self._clock.sleep(self._retry_period_s)
            except _RenewalOverdueError:
                log.warning("%s: failed to renew lease %s/%s", self.identity, self._namespace, self._name)
                return
            await self._clock.sleep(self._retry_period_s)

    async def _resign(self) -> None:
        if self._release_on_cancel and self.is_leader:
            try:
                await self._release()
            except ApiFailure as failed:
                log.warning("%s: failed to release %s/%s: %s", self.identity, self._namespace, self._name, failed)
        self._tell("stopped leading")

    async def _release(self) -> None:
        # Read anew: a renewal that was cancelled on its way may have been stored all the same.
        self._lease = await self._api.get(LEASES, self._name, self._namespace)
        if (self._lease.get("spec") or {}).get("holderIdentity") != self.identity:
            return
        now = rfc3339_micro(self._clock.now_s())
        await self._store(
            {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": self._observed.get("leaseTransitions", 0),
            }
        )

    # The Lease

    async def _try_acquire_or_renew(self) -> bool:
        try:
            return await self._try()
        except ApiFailure as failed:
            log.debug("%s: lease %s/%s: %s", self.identity, self._namespace, self._name, failed.message)
            return False

    async def _try(self) -> bool:
        wanted = self._wanted()
        if self.is_leader and self._is_valid and self._lease is not None:
            # Most likely nobody else has touched it since we did.
            try:
                await self._store(self._kept(wanted))
                return True
            except ApiFailure as failed:
                log.debug("%s: lease %s/%s: %s", self.identity, self._namespace, self._name, failed.message)
        try:
            self._lease = await self._api.get(LEASES, self._name, self._namespace)
        except NotFound:
            lease = {"metadata": {"name": self._name, "namespace": self._namespace}, "spec": wanted}
            self._lease = await self._api.create(LEASES, lease, self._namespace)
            self._observe(wanted)
            return True
        found: Object = self._lease.get("spec") or {}
        if found != self._observed:
            self._observe(found)
        if self.leader and not self.is_leader and self._is_valid:
            return False
        if self.is_leader:
            await self._store(self._kept(wanted))
        else:
            await self._store({**wanted, "leaseTransitions": found.get("leaseTransitions", 0) + 1})
        return True

    def _wanted(self) -> Object:
        now = rfc3339_micro(self._clock.now_s())
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._lease_duration_s),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }

    def _kept(self, wanted: Object) -> Object:
        seen = self._observed
        return {
            **wanted,
            "acquireTime": seen.get("acquireTime") or wanted["acquireTime"],
            "leaseTransitions": seen.get("leaseTransitions", 0),
        }

    async def _store(self, spec: Object) -> None:
        assert self._lease is not None, "a Lease is read before it is changed"
        self._lease = await self._api.update(LEASES, {**self._lease, "spec": spec})
        self._observe(spec)

    def _observe(self, spec: Object) -> None:
        self._observed = spec
        self._observed_at_s = self._clock.monotonic_s()

    @property
    def _is_valid(self) -> bool:
        return self._observed_at_s + self._lease_duration_s > self._clock.monotonic_s()

    def _tell(self, what: str) -> None:
        log.info("%s %s (%s/%s)", self.identity, what, self._namespace, self._name)
        if self._recorder is not None and self._lease is not None:
            lease = {**self._lease, "apiVersion": LEASES.api_version, "kind": LEASES.kind}
            self._recorder.event(lease, "Normal", "LeaderElection", f"{self.identity} {what}")
