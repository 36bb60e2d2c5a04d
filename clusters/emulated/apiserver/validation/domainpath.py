"""Domain-prefixed paths (`example.com/controller`): Job.spec.managedBy, IngressClass.spec.controller, signer names."""

from __future__ import annotations

from clusters.kube import names
from clusters.kube.field import FieldError, invalid, required

_DOMAIN_PATH = 'must be a domain-prefixed path (such as "acme.io/foo")'


def domain_prefixed_path(path: str, value: str) -> list[FieldError]:
    """A DNS subdomain, a slash, and a URL path."""
    if not value:
        return [required(path)]
    host, slash, rest = value.partition("/")
    if not slash or not host or not rest:
        return [invalid(path, value, _DOMAIN_PATH)]
    errors = [invalid(path, host, text) for text in names.dns_subdomain(host)]
    return errors + [invalid(path, rest, text) for text in names.http_path(rest)]
