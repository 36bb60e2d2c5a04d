"""Names on the network: DNS configuration, host aliases, hostname override."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, index, invalid, required, too_long
from clusters.kube.ipaddr import ip

Value = Mapping[str, Any]

_NAMESERVERS_MAX = 3
_SEARCHES_MAX = 32
_SEARCH_LIST_MAX_CHARACTERS = 2048
_HOSTNAME_MAX_BYTES = 64


def dns_config_errors(config: Value | None, policy: str, path: str) -> list[FieldError]:
    if config is None:
        return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
    nameservers, searches = config.get("nameservers") or (), config.get("searches") or ()
    if policy == "None" and not nameservers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return [required(child(path, "nameservers"), text)]
    errors: list[FieldError] = []
    at = child(path, "nameservers")
    if len(nameservers) > _NAMESERVERS_MAX:
        text = f"must not have more than {_NAMESERVERS_MAX} nameservers"
        errors.append(invalid(at, nameservers, text))
    for position, address in enumerate(nameservers):
        errors += [invalid(index(at, position), address, text) for text in ip(address, strict=True)]
    at = child(path, "searches")
    if len(searches) > _SEARCHES_MAX:
        errors.append(invalid(at, searches, f"must not have more than {_SEARCHES_MAX} search paths"))
    if names.size(" ".join(searches)) > _SEARCH_LIST_MAX_CHARACTERS:
        limit = f"must not have more than {_SEARCH_LIST_MAX_CHARACTERS} characters"
        errors.append(invalid(at, searches, f"{limit} (including spaces) in the search list"))
    for position, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            errors += [
                invalid(index(at, position), domain, text) for text in names.dns_subdomain_with_underscore(domain)
            ]
    for position, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{position}]", "must not be empty"))
    return errors


def host_aliases_errors(aliases: Sequence[Value], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, alias in enumerate(aliases):
        address = alias.get("ip", "")
        errors += [invalid(f"{path}[{position}].ip", address, text) for text in ip(address, strict=True)]
        for name_position, name in enumerate(alias.get("hostnames") or ()):
            at = f"{path}[{position}].hostnames[{name_position}]"
            errors += [invalid(at, name, text) for text in names.dns_subdomain(name)]
    return errors


def hostname_errors(spec: Value, path: str) -> list[FieldError]:
    """`hostnameOverride`."""
    name, at = spec["hostnameOverride"], child(path, "hostnameOverride")
    errors: list[FieldError] = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if names.size(name) > _HOSTNAME_MAX_BYTES:
        errors.append(too_long(at, _HOSTNAME_MAX_BYTES))
    return errors + [invalid(at, name, text) for text in names.dns_subdomain(name)]
