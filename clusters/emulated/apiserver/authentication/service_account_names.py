"""The user name and groups of a ServiceAccount, and back."""

from __future__ import annotations

from functools import lru_cache

from clusters.kube.names import dns_label, dns_subdomain

PREFIX = "system:serviceaccount:"
ALL_SERVICE_ACCOUNTS = "system:serviceaccounts"


def username(namespace: str, name: str) -> str:
    return f"{PREFIX}{namespace}:{name}"


def group_names(namespace: str) -> tuple[str, str]:
    return ALL_SERVICE_ACCOUNTS, f"{ALL_SERVICE_ACCOUNTS}:{namespace}"


@lru_cache(maxsize=1024)
def split_username(user: str) -> tuple[str, str] | None:
    """(namespace, name) of a ServiceAccount's user name; None for everybody else."""
    if not user.startswith(PREFIX):
        return None
    parts = user[len(PREFIX) :].split(":")
    if len(parts) != 2 or dns_label(parts[0]) or dns_subdomain(parts[1]):
        return None
    return parts[0], parts[1]
