"""Secrets of type kubernetes.io/service-account-token: filled with a token, deleted with their account."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

from clusters.emulated.client.authority import Authority
from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import Conflict, NotFound
from clusters.emulated.client.resources import SECRETS, SERVICE_ACCOUNTS

Object = dict[str, Any]

TYPE = "kubernetes.io/service-account-token"
ACCOUNT_NAME, ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"


class ServiceAccountTokensController(Controller):
    name = "serviceaccount-token-controller"
    as_manager = True
    retries_max = 10

    def setup(self) -> None:
        self._accounts = self.informer(SERVICE_ACCOUNTS)
        self._secrets = self.informer(SECRETS, field_selector=f"type={TYPE}")
        self._secrets.store.add_index("account", lambda secret: [_account_key(secret)])
        self._secrets.add_handler(self.enqueue, lambda _, new: self.enqueue(new), lambda gone, _: self._gone(gone))
        self._accounts.add_handler(self._account, None, lambda gone, _: self._account(gone))
        #: References that accounts may still hold to Secrets that are gone: account key → names.
        self._to_unlink: dict[str, set[str]] = {}

    def _account(self, account: Object) -> None:
        metadata = account["metadata"]
        for secret in self._secrets.store.by_index("account", f"{metadata['namespace']}/{metadata['name']}"):
            self.enqueue(secret)

    def _gone(self, secret: Object) -> None:
        self._to_unlink.setdefault(_account_key(secret), set()).add(secret["metadata"]["name"])
        self.enqueue(secret)

    async def reconcile(self, key: str) -> None:
        secret = self._secrets.store.get(key)
        if secret is None:
            await self._unlink()
            return
        account = await self._account_of(secret)
        if account is None:
            await self._delete(secret)
        elif self.context.authority is not None:
            await self._fill(secret, account, self.context.authority)

    async def _account_of(self, secret: Object) -> Object | None:
        annotations = secret["metadata"].get("annotations") or {}
        name, uid = annotations.get(ACCOUNT_NAME, ""), annotations.get(ACCOUNT_UID)
        found = self._accounts.store.get(_account_key(secret))
        if found is None or (uid and found["metadata"]["uid"] != uid):
            try:  # What is deleted does not come back: ask who knows.
                found = await self.api.get(SERVICE_ACCOUNTS, name, secret["metadata"]["namespace"])
            except NotFound:
                return None
        return None if uid and found["metadata"]["uid"] != uid else found

    async def _delete(self, secret: Object) -> None:
        metadata = secret["metadata"]
        options = {"preconditions": {"uid": metadata["uid"]}}
        try:
            await self.api.delete(SECRETS, metadata["name"], metadata["namespace"], options)
        except (NotFound, Conflict):
            return  # Gone, or another one of that name.

    async def _fill(self, secret: Object, account: Object, authority: Authority) -> None:
        data = dict(secret.get("data") or {})
        wanted = {"ca.crt": base64.b64encode(authority.root_ca_pem).decode("ascii")}
        if not data.get("namespace"):
            wanted["namespace"] = base64.b64encode(secret["metadata"]["namespace"].encode()).decode("ascii")
        if not data.get("token"):
            token = authority.legacy_token(account, secret["metadata"]["name"])
            wanted["token"] = base64.b64encode(token.encode("ascii")).decode("ascii")
        if data.items() >= wanted.items():
            return
        annotations = {
            **(secret["metadata"].get("annotations") or {}),
            ACCOUNT_NAME: account["metadata"]["name"],
            ACCOUNT_UID: account["metadata"]["uid"],
        }
        changed = {**secret, "data": {**data, **wanted}}
        changed["metadata"] = {**secret["metadata"], "annotations": annotations}
        try:
            await self.api.update(SECRETS, changed)
        except (NotFound, Conflict):
            return  # A newer state of it is on its way here.

    async def _unlink(self) -> None:
        """Takes the names of Secrets that are gone out of `secrets` of their accounts."""
        while self._to_unlink:
            key, names = next(iter(self._to_unlink.items()))
            account = self._accounts.store.get(key)
            secrets = [] if account is None else account.get("secrets") or []
            kept = [each for each in secrets if each.get("name") not in names]
            if account is not None and len(kept) != len(secrets):
                with suppress(NotFound):
                    await self.api.update(SERVICE_ACCOUNTS, {**account, "secrets": kept})
            del self._to_unlink[key]


def _account_key(secret: Object) -> str:
    metadata = secret["metadata"]
    return f"{metadata['namespace']}/{(metadata.get('annotations') or {}).get(ACCOUNT_NAME, '')}"
