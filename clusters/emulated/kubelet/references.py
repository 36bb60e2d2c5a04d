"""ConfigMaps and Secrets that Pods refer to, as a kubelet reads them, with its own words for one that is missing."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.resources import CONFIG_MAPS, SECRETS

Object = dict[str, Any]


class UnusableReferenceError(Exception):
    """What a Pod refers to cannot be had; the text is the kubelet's."""


class MissingReferenceError(UnusableReferenceError):
    """It is not there: fine where the reference is optional."""


class References:
    def __init__(self, api: Api) -> None:
        self._api = api

    async def config_map(self, namespace: str, name: str) -> dict[str, str]:
        """Its data, binary data included."""
        try:
            found = await self._api.get(CONFIG_MAPS, name, namespace)
        except NotFound:
            raise MissingReferenceError(f'configmap "{name}" not found') from None
        except ApiFailure:
            raise UnusableReferenceError(
                "failed to sync configmap cache: timed out waiting for the condition"
            ) from None
        return {**(found.get("data") or {}), **_decoded(found.get("binaryData"))}

    async def secret(self, namespace: str, name: str) -> Object:
        """The whole Secret, its data decoded."""
        try:
            found = await self._api.get(SECRETS, name, namespace)
        except NotFound:
            raise MissingReferenceError(f'secret "{name}" not found') from None
        except ApiFailure:
            raise UnusableReferenceError("failed to sync secret cache: timed out waiting for the condition") from None
        found["data"] = _decoded(found.get("data"))
        return found


def _decoded(data: dict[str, str] | None) -> dict[str, str]:
    decoded = {}
    for name, text in (data or {}).items():
        try:
            decoded[name] = base64.b64decode(text).decode(errors="replace")
        except binascii.Error:
            decoded[name] = ""
    return decoded
