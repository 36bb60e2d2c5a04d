"""Names, API approval and conversion of a CustomResourceDefinition."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from clusters.emulated.apiserver.validation.admissionregistration.webhooks import (
    webhook_service_errors,
    webhook_url_errors,
)
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, index, invalid, key, not_supported, required

_APPROVED = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_REVIEW_VERSIONS = ("v1", "v1beta1")
_MIXED_CASE = "may have mixed case, but should otherwise match: "


def names_errors(resource: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("plural", "singular"):
        value = resource.get(name) or ""
        texts = names.dns1035_label(value) if value else []
        if texts:
            errors.append(invalid(f"{path}.{name}", value, ",".join(texts)))
    for name in ("kind", "listKind"):
        value = resource.get(name) or ""
        texts = names.dns1035_label(value.lower()) if value else []
        if texts:
            errors.append(invalid(f"{path}.{name}", value, _MIXED_CASE + ",".join(texts)))
    errors += _label_errors(resource.get("shortNames") or (), f"{path}.shortNames")
    if resource.get("kind") and resource["kind"] == resource.get("listKind"):
        text = "kind and listKind may not be the same"
        errors.append(invalid(f"{path}.listKind", resource["listKind"], text))
    return errors + _label_errors(resource.get("categories") or (), f"{path}.categories")


def _label_errors(values: Any, path: str) -> list[FieldError]:
    checked = ((position, value, names.dns1035_label(value)) for position, value in enumerate(values))
    return [invalid(index(path, position), value, ",".join(texts)) for position, value, texts in checked if texts]


def approval_errors(obj: Object, old: Object | None) -> list[FieldError]:
    """Groups of the Kubernetes community need a link to where the API was approved."""
    group = (obj.get("spec") or {}).get("group") or ""
    if not any(group == domain or group.endswith(f".{domain}") for domain in ("k8s.io", "kubernetes.io")):
        return []
    state, reason = _approval(obj)
    if old is not None and _approval(old)[0] == state:
        return []
    path = key("metadata.annotations", _APPROVED)
    if state == "missing":
        return [required(path, reason)]
    if state == "invalid":
        return [invalid(path, (obj["metadata"].get("annotations") or {})[_APPROVED], reason)]
    return []


def _approval(obj: Object) -> tuple[str, str]:
    annotation = ((obj.get("metadata") or {}).get("annotations") or {}).get(_APPROVED) or ""
    text = f'protected groups must have approval annotation "{_APPROVED}"'
    if not annotation:
        return "missing", f"{text}, {_SEE}"
    parts = urlsplit(annotation)
    if annotation.startswith("unapproved") or (parts.scheme and parts.netloc):
        return "approved", ""
    return "invalid", f'{text} with either a URL or a reason starting with "unapproved", {_SEE}'


def conversion_review_versions_known(conversion: Object | None) -> bool:
    versions = ((conversion or {}).get("webhook") or {}).get("conversionReviewVersions") or ()
    return not versions or any(version in _REVIEW_VERSIONS for version in versions)


def conversion_errors(conversion: Object | None, path: str, known_version: bool) -> list[FieldError]:
    if conversion is None:
        return []
    errors: list[FieldError] = []
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if not strategy:
        errors.append(required(f"{path}.strategy"))
    elif strategy not in ("None", "Webhook"):
        errors.append(not_supported(f"{path}.strategy", strategy, ("None", "Webhook")))
    config_path, versions_path = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if config is not None:
            errors.append(forbidden(config_path, text))
        if versions:
            errors.append(forbidden(versions_path, text))
        return errors
    if config is None:
        errors.append(required(config_path, "required when strategy is set to Webhook"))
    else:
        url, service = config.get("url"), config.get("service")
        if (url is None) == (service is None):
            errors.append(required(config_path, "exactly one of url or service is required"))
        elif url is not None:
            errors += webhook_url_errors(url, f"{config_path}.url")
        else:
            # Kubernetes hands over the name where the namespace is expected and the other way round.
            swapped = {**service, "name": service.get("namespace"), "namespace": service.get("name")}
            errors += webhook_service_errors(swapped, f"{config_path}.service")
    return errors + _review_version_errors(versions, versions_path, known_version)


def _review_version_errors(versions: list[str], path: str, known_version: bool) -> list[FieldError]:
    if not versions:
        return [required(path)]
    errors: list[FieldError] = []
    for position, version in enumerate(versions):
        if version in versions[:position]:
            errors.append(invalid(index(path, position), version, "duplicate version"))
            continue
        errors += [invalid(index(path, position), version, text) for text in names.dns1035_label(version)]
    if known_version and not any(version in _REVIEW_VERSIONS for version in versions):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return errors
