"""Credentials in Secrets of type kubernetes.io/dockerconfigjson and kubernetes.io/dockercfg, and whom they are for."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from clusters.emulated.kubelet.registry import Credential

Object = dict[str, Any]


def credentials_for(repository: str, secrets: Iterable[Object]) -> list[Credential]:
    """Those that match `host/path`, the most specific first."""
    found: list[tuple[int, Credential]] = []
    for secret in secrets:
        for key, credential in _entries(secret):
            if _matches(key, repository):
                found.append((len(key), credential))
    found.sort(key=lambda entry: -entry[0])
    return list(dict.fromkeys(credential for _, credential in found))


def _entries(secret: Object) -> list[tuple[str, Credential]]:
    data = secret.get("data") or {}
    try:
        if ".dockerconfigjson" in data:
            auths = json.loads(data[".dockerconfigjson"]).get("auths") or {}
        elif ".dockercfg" in data:
            auths = json.loads(data[".dockercfg"])
        else:
            return []
        return [(_key(host), _credential(entry)) for host, entry in auths.items()]
    except (ValueError, AttributeError, TypeError, binascii.Error):
        return []  # A Secret that nobody can read is of no use, as in a real kubelet.


def _key(host: str) -> str:
    bare = host.split("://", 1)[-1].rstrip("/")
    for suffix in ("/v1", "/v2"):
        bare = bare.removesuffix(suffix)
    return "docker.io" if bare in ("index.docker.io", "registry-1.docker.io", "docker.io") else bare


def _credential(entry: Object) -> Credential:
    if entry.get("auth"):
        username, _, password = base64.b64decode(entry["auth"]).decode().partition(":")
        return Credential(username, password)
    return Credential(entry.get("username", ""), entry.get("password", ""))


def _matches(key: str, repository: str) -> bool:
    host, _, path = key.partition("/")
    wanted_host, _, wanted_path = repository.partition("/")
    return fnmatchcase(wanted_host, host) and (not path or wanted_path.startswith(path))
