"""`/livez`, `/readyz` and `/healthz`: named checks, each with a path of its own, `?verbose` and `?exclude=`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.request import Request
from clusters.emulated.clock import Clock
from clusters.emulated.store.errors import StoreError
from clusters.emulated.store.protocol import Store
from clusters.emulated.store.waiting import within
from clusters.kube.gostring import quote

Check = Callable[[], Awaitable[bool]]

STORE_TIMEOUT_S = 2.0
_HOOKS_FIRST = (
    "start-apiserver-admission-initializer", "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer", "priority-and-fairness-filter",
    "storage-object-count-tracker-hook", "start-apiextensions-informers", "start-apiextensions-controllers",
    "crd-informer-synced", "start-system-namespaces-controller", "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller", "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector", "storage-readiness",
    "start-legacy-token-tracking-controller", "start-service-ip-repair-controllers", "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes", "priority-and-fairness-config-producer",
    "bootstrap-controller", "start-kubernetes-service-cidr-controller", "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller",
    "apiservice-registration-controller", "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
)  # fmt: skip
_HOOKS_LAST = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")


class Health:
    """The checks of one api-server, in the real one's order."""

    def __init__(self, store: Store, clock: Clock, started: Callable[[], bool]) -> None:
        self._store = store
        self._clock = clock
        self._started = started
        self.shutting_down = False
        always, hook, etcd = self._always, self._has_started, self._store_answers
        hooks: dict[str, Check] = {f"poststarthook/{name}": hook for name in _HOOKS_FIRST}
        hooks["autoregister-completion"] = hook
        hooks |= {f"poststarthook/{name}": hook for name in _HOOKS_LAST}
        base: dict[str, Check] = {"ping": always, "log": always}
        alive: dict[str, Check] = {**base, "loopback-serving-certificate": always, "etcd": etcd, **hooks}
        self._endpoints: dict[str, dict[str, Check]] = {
            "healthz": alive,
            "livez": alive,
            "readyz": {
                **base, "etcd": etcd, "etcd-readiness": etcd, "informer-sync": hook, **hooks,
                "shutdown": self._not_shutting_down,
            },
        }  # fmt: skip

    def paths(self) -> list[str]:
        return [
            path
            for endpoint, checks in self._endpoints.items()
            for path in (f"/{endpoint}", *(f"/{endpoint}/{name}" for name in checks))
        ]

    async def answer(self, request: Request) -> HttpResponse | None:
        endpoint, _, name = request.info.path[1:].partition("/")
        checks = self._endpoints.get(endpoint)
        if checks is None:
            return None
        if request.info.path != f"/{endpoint}":
            check = checks.get(name)
            if check is None:
                return None
            if await check():
                return respond.text(request, 200, "ok", nosniff=False)
            return respond.text(request, 500, "internal server error: reason withheld\n")
        return await self._all(request, endpoint, checks)

    async def states(self) -> list[tuple[str, str, bool]]:
        """Every check as (endpoint, name, passes), for the metrics."""
        return [
            (endpoint, name, await check())
            for endpoint, checks in self._endpoints.items()
            for name, check in checks.items()
        ]

    async def _all(self, request: Request, endpoint: str, checks: dict[str, Check]) -> HttpResponse:
        excluded = {text for value in request.query.get("exclude", ()) for text in value.split(",") if text}
        lines: list[str] = []
        failed: list[str] = []
        for name, check in checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok\n")
            elif await check():
                lines.append(f"[+]{name} ok\n")
            else:
                lines.append(f"[-]{name} failed: reason withheld\n")
                failed.append(name)
        unmatched = sorted(excluded - set(checks))
        if unmatched:
            listed = ", ".join(quote(name) for name in unmatched)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}\n")
        if failed:
            return respond.text(request, 500, "".join(lines) + f"{endpoint} check failed\n")
        if "verbose" not in request.query:
            return respond.text(request, 200, "ok")
        return respond.text(request, 200, "".join(lines) + f"{endpoint} check passed\n")

    async def _always(self) -> bool:
        return True

    async def _has_started(self) -> bool:
        return self._started()

    async def _not_shutting_down(self) -> bool:
        return not self.shutting_down

    async def _store_answers(self) -> bool:
        """Whether the store answers within two seconds, as the real check asks etcd."""
        asking = asyncio.ensure_future(self._store.current_revision())
        try:
            await within(self._clock, asking, STORE_TIMEOUT_S)
        except (StoreError, TimeoutError):
            asking.cancel()
            return False
        return True
