"""Every active namespace has a ServiceAccount named default, also after somebody deleted it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import AlreadyExists, Forbidden
from clusters.emulated.client.resources import NAMESPACES, SERVICE_ACCOUNTS

Object = dict[str, Any]


class ServiceAccountsController(Controller):
    name = "service-account-controller"

    def setup(self) -> None:
        self._namespaces = self.informer(NAMESPACES)
        self._accounts = self.informer(SERVICE_ACCOUNTS)
        self._namespaces.add_handler(self.enqueue, lambda _, new: self.enqueue(new))
        self._accounts.add_handler(on_delete=lambda account, _: self.enqueue(account["metadata"]["namespace"]))

    async def reconcile(self, key: str) -> None:
        namespace = self._namespaces.store.get(key)
        if namespace is None or (namespace.get("status") or {}).get("phase") != "Active":
            return
        if self._accounts.store.get(f"{key}/default") is not None:
            return
        account = {"metadata": {"name": "default", "namespace": key}}
        try:
            await self.api.create(SERVICE_ACCOUNTS, account)
        except AlreadyExists:
            return  # The informer has not shown it yet.
        except Forbidden:
            return  # The namespace has begun to end meanwhile.
