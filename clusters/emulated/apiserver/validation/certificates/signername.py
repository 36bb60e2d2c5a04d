"""Signer names: `example.com/signer-name`."""

from __future__ import annotations

from collections.abc import Callable

from clusters.kube import names
from clusters.kube.field import FieldError, invalid, required, too_long
from clusters.kube.gostring import quote

_DOMAIN_MAX = 253
# The path can hold a label, a dot and a subdomain.
_NAME_MAX = _DOMAIN_MAX + 1 + 253 + 63 + 1
_FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


def signer_name_errors(path: str, name: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        return [invalid(path, name, _FORM)]
    domain, rest = segments
    errors = [too_long(path, _DOMAIN_MAX)] if len(domain) > _DOMAIN_MAX else []
    errors += _first_bad_label(path, domain, names.dns_label)
    if "." not in domain:
        text = "should be a domain with at least two segments separated by dots"
        errors.append(invalid(path, domain, text))
    errors += _first_bad_label(path, rest, names.dns_subdomain)
    if len(name) > _NAME_MAX:
        errors.append(too_long(path, _NAME_MAX))
    return errors


def _first_bad_label(path: str, segment: str, check: Callable[[str], list[str]]) -> list[FieldError]:
    for label in segment.split("."):
        texts = check(label)
        if texts:
            return [invalid(path, segment, f"validating label {quote(label)}: {text}") for text in texts]
    return []
