"""Asking over HTTPS what a kubeconfig says, as kubectl does: read anew each time, and in Go's words when it fails."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from clusters.base import Answer

TIMEOUT_S = 10.0


class NoAnswerError(Exception):
    """The request was not answered; the message says why, as kubectl would."""


def ask(
    kubeconfig: Path,
    method: str,
    path: str,
    body: bytes = b"",
    headers: Sequence[tuple[str, str]] = (),
    *,
    server: str = "",
) -> Answer:
    """One request on a connection of its own; `server` is asked instead of the kubeconfig's."""
    from clusters.emulated.clock import RealClock
    from clusters.emulated.outbound.client import OutboundClient, Trust
    from clusters.emulated.outbound.errors import OutboundError

    cluster, user = _current(kubeconfig)
    trust = Trust(
        base64.b64decode(cluster.get("certificate-authority-data", "")),
        certificate_pem=base64.b64decode(user.get("client-certificate-data", "")),
        key_pem=base64.b64decode(user.get("client-key-data", "")),
    )
    url = (server or cluster["server"]).rstrip("/") + path
    sent = [("Accept", "application/json"), *headers]

    async def asked() -> Answer:
        client = OutboundClient(RealClock(), "kaput")
        try:
            got = await client.request(method, url, headers=sent, body=body, trust=trust, timeout_s=TIMEOUT_S)
        finally:
            client.close()
        text = got.body.decode("utf-8", "replace")
        is_json = got.header("content-type").startswith("application/json")
        return Answer(got.status, got.headers, orjson.loads(got.body) if is_json and got.body else text, text)

    try:
        return asyncio.run(asked())
    except OutboundError as error:
        raise NoAnswerError(str(error)) from None


def _current(kubeconfig: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cluster and the user of the current context."""
    import yaml

    config = yaml.safe_load(kubeconfig.read_text())
    named = {each["name"]: each["context"] for each in config.get("contexts") or ()}
    context = named.get(config.get("current-context", ""))
    if context is None:
        raise NoAnswerError(f'context "{config.get("current-context", "")}" does not exist')
    clusters = {each["name"]: each["cluster"] for each in config.get("clusters") or ()}
    users = {each["name"]: each["user"] or {} for each in config.get("users") or ()}
    return clusters[context["cluster"]], users[context["user"]]
