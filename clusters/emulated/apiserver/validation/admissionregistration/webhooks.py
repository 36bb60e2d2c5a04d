"""MutatingWebhookConfiguration and ValidatingWebhookConfiguration."""

from __future__ import annotations

from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

from clusters.emulated.apiserver.validation.admissionregistration.rules_with_operations import (
    default_rule,
    match_condition_errors,
    rule_errors,
)
from clusters.emulated.apiserver.validation.fields import equal
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required
from clusters.kube.selectors import validate_label_selector

GROUP = "admissionregistration.k8s.io"
STATIC_SUFFIX = ".static.k8s.io"
_REVIEW_VERSIONS = ("v1", "v1beta1")
_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_REINVOCATION_POLICIES = ("IfNeeded", "Never")
_URL_FORM = "; desired format: https://host[/path]"


def static_suffix_warnings(obj: Object) -> list[str]:
    if not ((obj.get("metadata") or {}).get("name") or "").endswith(STATIC_SUFFIX):
        return []
    return [
        f'metadata.name: names ending with "{STATIC_SUFFIX}" are reserved for static manifest-based '
        "configurations and cannot be managed via the API"
    ]


class _Asked(NamedTuple):
    """What is asked of every webhook: less where the stored configuration does not keep to it."""

    match_conditions: bool = True
    no_side_effects: bool = True
    known_review_version: bool = True
    unique_names: bool = True
    valid_selectors: bool = True


class ValidatingWebhookConfigurationRules(LifecycleRules):
    group, kind = GROUP, "ValidatingWebhookConfiguration"
    checks_finalizer_names = False
    metadata_on_update = "whole"
    generation_fields = ("webhooks",)
    allow_unconditional_update = False
    mutating: ClassVar[bool] = False

    def default(self, obj: Object) -> None:
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            hook.setdefault("namespaceSelector", {})
            hook.setdefault("objectSelector", {})
            hook.setdefault("timeoutSeconds", 10)
            if self.mutating:
                hook.setdefault("reinvocationPolicy", "Never")
            for rule in hook.get("rules") or ():
                default_rule(rule)
            service = (hook.get("clientConfig") or {}).get("service")
            if service is not None:
                service.setdefault("port", 443)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._errors(obj, _Asked())

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        hooks, old_hooks = obj.get("webhooks") or [], old.get("webhooks") or []
        hook_names = [hook.get("name") for hook in old_hooks]
        same_conditions = len(hooks) == len(old_hooks) and all(
            equal(new.get("matchConditions"), stored.get("matchConditions"))
            for new, stored in zip(hooks, old_hooks, strict=True)
        )
        asked = _Asked(
            match_conditions=not same_conditions,
            no_side_effects=all(hook.get("sideEffects") in _NO_SIDE_EFFECTS for hook in old_hooks),
            known_review_version=all(
                not hook.get("admissionReviewVersions")
                or any(version in _REVIEW_VERSIONS for version in hook["admissionReviewVersions"])
                for hook in old_hooks
            ),
            unique_names=len(set(hook_names)) == len(hook_names),
            valid_selectors=not any(
                validate_label_selector(hook.get(name), "")
                for hook in old_hooks
                for name in ("namespaceSelector", "objectSelector")
            ),
        )
        return self._errors(obj, asked)

    def _errors(self, obj: Object, asked: _Asked) -> list[FieldError]:
        errors: list[FieldError] = []
        seen: set[str] = set()
        for position, hook in enumerate(obj.get("webhooks") or ()):
            path, name = index("webhooks", position), hook.get("name") or ""
            errors += _webhook_errors(hook, path, asked, self.mutating)
            versions_path = f"{path}.admissionReviewVersions"
            errors += _review_version_errors(
                hook.get("admissionReviewVersions") or [], versions_path, asked.known_review_version
            )
            if asked.unique_names and name:
                if name in seen:
                    errors.append(duplicate(f"{path}.name", name))
                seen.add(name)
        return errors

    def warnings_create(self, obj: Object) -> list[str]:
        return static_suffix_warnings(obj)

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return static_suffix_warnings(obj)


class MutatingWebhookConfigurationRules(ValidatingWebhookConfigurationRules):
    kind = "MutatingWebhookConfiguration"
    mutating = True


def fully_qualified_name_errors(path: str, name: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    texts = names.dns_subdomain(name)
    if texts:
        return [invalid(path, name, ",".join(texts))]
    if name.count(".") < 2:
        text = "should be a domain with at least three segments separated by dots"
        return [invalid(path, name, text)]
    return []


def _one_of(hook: Object, name: str, supported: tuple[str, ...], path: str) -> list[FieldError]:
    value = hook.get(name)
    return [] if value is None or value in supported else [not_supported(f"{path}.{name}", value, supported)]


def _webhook_errors(hook: Object, path: str, asked: _Asked, mutating: bool) -> list[FieldError]:
    errors = fully_qualified_name_errors(f"{path}.name", hook.get("name") or "")
    for position, rule in enumerate(hook.get("rules") or ()):
        errors += rule_errors(rule, index(f"{path}.rules", position))
    errors += _one_of(hook, "failurePolicy", _FAILURE_POLICIES, path)
    errors += _one_of(hook, "matchPolicy", _MATCH_POLICIES, path)
    side_effects = _NO_SIDE_EFFECTS if asked.no_side_effects else _SIDE_EFFECTS
    if hook.get("sideEffects") is None:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(side_effects)}"))
    errors += _one_of(hook, "sideEffects", side_effects, path)
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", timeout, text))
    for name in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(
            hook.get(name), f"{path}.{name}", allow_invalid_values=not asked.valid_selectors
        )
    if mutating:
        errors += _one_of(hook, "reinvocationPolicy", _REINVOCATION_POLICIES, path)
    errors += client_config_errors(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    if asked.match_conditions:
        conditions = hook.get("matchConditions") or ()
        errors += match_condition_errors(conditions, f"{path}.matchConditions", params=False)
    return errors


def client_config_errors(config: Object, path: str) -> list[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return webhook_url_errors(url, f"{path}.url")
    assert service is not None
    # Kubernetes hands over the name where the namespace is expected and the other way round.
    return webhook_service_errors(
        {**service, "name": service.get("namespace"), "namespace": service.get("name")}, f"{path}.service"
    )


def webhook_url_errors(url: str, path: str) -> list[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{_URL_FORM}")]
    user, _, host = parts.netloc.rpartition("@")
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}"))
    if not host:
        errors.append(invalid(path, host, f"host must be specified{_URL_FORM}"))
    if user:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def webhook_service_errors(service: Object, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{name}") for name in ("name", "namespace") if not service.get(name)]
    port = service.get("port") or 0
    texts = names.port_number(port)
    if texts:
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {', '.join(texts)}"))
    url_path, path = service.get("path"), f"{path}.path"
    if url_path is None or url_path in ("", "/"):
        return errors
    if url_path == "//":
        return [*errors, invalid(path, url_path, "segment[0] may not be empty")]
    if not url_path.startswith("/"):
        errors.append(invalid(path, url_path, "must start with a '/'"))
    for position, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(invalid(path, url_path, f"segment[{position}] may not be empty"))
            continue
        for text in names.dns_subdomain(step):
            errors.append(invalid(path, url_path, f"segment[{position}]: {text}"))
    return errors


def _review_version_errors(versions: list[str], path: str, known: bool) -> list[FieldError]:
    listed = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {listed}")]
    errors: list[FieldError] = []
    for position, version in enumerate(versions):
        version_path = index(path, position)
        if version in versions[:position]:
            errors.append(invalid(version_path, version, "duplicate version"))
            continue
        errors += [invalid(version_path, version, text) for text in names.dns1035_label(version)]
    if known and not any(version in _REVIEW_VERSIONS for version in versions):
        errors.append(invalid(path, versions, f"must include at least one of {listed}"))
    return errors
