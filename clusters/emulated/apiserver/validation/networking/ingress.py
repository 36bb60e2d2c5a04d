"""Ingress and IngressClass: HTTP from outside, by host and path."""

from __future__ import annotations

from typing import NamedTuple

from clusters.emulated.apiserver.validation.domainpath import domain_prefixed_path
from clusters.emulated.apiserver.validation.fields import named, required_named, unchanged
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import ipaddr, names
from clusters.kube.field import FieldError, forbidden, index, invalid, not_supported, required, too_long

GROUP = "networking.k8s.io"
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_CONTROLLER_BYTES_MAX = 250
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NO_IP = "must be a DNS name, not an IP address"


class _Tolerance(NamedTuple):
    """Oddities that the stored Ingress has already, and may keep."""

    secret_names: bool = False
    wildcard_rules: bool = False


class IngressRules(LifecycleRules):
    group, kind = GROUP, "Ingress"
    metadata_on_update = "both"
    zero_status = (("loadBalancer", {}),)
    generation_fields = ("spec",)

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = _spec_errors(spec, _Tolerance())
        annotation = ((obj.get("metadata") or {}).get("annotations") or {}).get(_CLASS_ANNOTATION)
        class_name = spec.get("ingressClassName")
        if annotation is not None and class_name is not None and annotation != class_name:
            text = "must match `ingressClassName` when both are specified"
            errors.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, text))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        old_spec = old.get("spec") or {}
        tolerance = _Tolerance(
            any(_secret_name_texts(tls.get("secretName")) for tls in old_spec.get("tls") or ()),
            any(
                "*" in (rule.get("host") or "") and _http_errors(rule, "", _Tolerance())
                for rule in old_spec.get("rules") or ()
            ),
        )
        return _spec_errors(obj.get("spec") or {}, tolerance)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return load_balancer_errors(obj, old)

    def warnings_create(self, obj: Object) -> list[str]:
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        if _CLASS_ANNOTATION in annotations and obj["spec"].get("ingressClassName") is None:
            return [f"annotation \"{_CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
        return []


def load_balancer_errors(obj: Object, old: Object) -> list[FieldError]:
    """status.loadBalancer.ingress: addresses that were there before may be odd."""

    def points(of: Object) -> list[Object]:
        return ((of.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []

    errors: list[FieldError] = []
    known = {point.get("ip") for point in points(old)}
    for position, point in enumerate(points(obj)):
        path = index("status.loadBalancer.ingress", position)
        address, host = point.get("ip"), point.get("hostname")
        if address and address not in known:
            errors += [invalid(f"{path}.ip", address, text) for text in ipaddr.ip(address, strict=True)]
        if host:
            errors += named(f"{path}.hostname", host, names.dns_subdomain)
            if ipaddr.parse_ip(host) is not None:
                errors.append(invalid(f"{path}.hostname", host, _NO_IP))
    return errors


def _secret_name_texts(name: str | None) -> list[str]:
    return names.dns_subdomain(name) if name else []


def _host_texts(host: str) -> list[str]:
    return names.wildcard_dns_subdomain(host) if "*" in host else names.dns_subdomain(host)


def _spec_errors(spec: Object, tolerance: _Tolerance) -> list[FieldError]:
    errors: list[FieldError] = []
    rules, backend = spec.get("rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        errors.append(invalid("spec", rules, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _backend_errors(backend, "spec.defaultBackend")
    for position, rule in enumerate(rules or ()):
        path, host = index("spec.rules", position), rule.get("host") or ""
        if host:
            if ipaddr.parse_ip(host) is not None:
                errors.append(invalid(f"{path}.host", host, _NO_IP))
            errors += named(f"{path}.host", host, _host_texts)
        if "*" not in host or not tolerance.wildcard_rules:
            errors += _http_errors(rule, path, tolerance)
    for position, tls in enumerate(spec.get("tls") or ()):
        path = index("spec.tls", position)
        for number, host in enumerate(tls.get("hosts") or ()):
            errors += named(index(f"{path}.hosts", number), host, _host_texts)
        if not tolerance.secret_names:
            errors += named(f"{path}.secretName", tls.get("secretName") or "", _secret_name_texts)
    if spec.get("ingressClassName") is not None:
        errors += named("spec.ingressClassName", spec["ingressClassName"], names.dns_subdomain)
    return errors


def _http_errors(rule: Object, path: str, tolerance: _Tolerance) -> list[FieldError]:
    http = rule.get("http")
    if http is None:
        return []
    path = f"{path}.http.paths"
    paths = http.get("paths") or ()
    errors = [] if paths else [required(path)]
    for position, each in enumerate(paths):
        errors += _path_errors(each, index(path, position))
    return errors


def _path_errors(rule: Object, path: str) -> list[FieldError]:
    path_type, value, value_path = rule.get("pathType"), rule.get("path") or "", f"{path}.path"
    errors: list[FieldError] = []
    if path_type is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    if path_type in ("Exact", "Prefix"):
        if not value.startswith("/"):
            errors.append(invalid(value_path, value, "must be an absolute path"))
        for part in ("//", "/./", "/../", "%2f", "%2F"):
            if part in value:
                errors.append(invalid(value_path, value, f"must not contain '{part}'"))
        for ending in ("/..", "/."):
            if value.endswith(ending):
                errors.append(invalid(value_path, value, f"cannot end with '{ending}'"))
    elif path_type == "ImplementationSpecific":
        if value and not value.startswith("/"):
            errors.append(invalid(value_path, value, "must be an absolute path"))
    else:
        errors.append(not_supported(f"{path}.pathType", path_type, _PATH_TYPES))
    return errors + _backend_errors(rule.get("backend") or {}, f"{path}.backend")


def _backend_errors(backend: Object, path: str) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference_errors(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors = required_named(f"{path}.service.name", service.get("name"), _service_name_texts)
    port = service.get("port") or {}
    name, number = port.get("name"), port.get("number")
    if name and number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif name:
        errors += named(f"{path}.service.port.name", name, names.port_name)
    elif number:
        errors += [invalid(f"{path}.service.port.number", number, text) for text in names.port_number(number)]
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _service_name_texts(name: str) -> list[str]:
    return names.dns_label(name)


def _reference_errors(reference: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if reference.get("apiGroup") is not None:
        errors += named(f"{path}.apiGroup", reference["apiGroup"], names.dns_subdomain)
    for name in ("kind", "name"):
        errors += required_named(f"{path}.{name}", reference.get(name), names.path_segment_name)
    return errors


class IngressClassRules(LifecycleRules):
    group, kind = GROUP, "IngressClass"
    metadata_on_update = "both"
    generation_fields = ("spec",)

    def default(self, obj: Object) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None:
            parameters.setdefault("scope", "Cluster")

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        controller, path = spec.get("controller") or "", "spec.controller"
        errors: list[FieldError] = []
        if len(controller.encode()) > _CONTROLLER_BYTES_MAX:
            errors.append(too_long(path, _CONTROLLER_BYTES_MAX))
        errors += domain_prefixed_path(path, controller)
        if spec.get("parameters") is not None:
            errors += _parameters_errors(spec["parameters"], "spec.parameters")
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        controller = (obj.get("spec") or {}).get("controller") or ""
        old_controller = (old.get("spec") or {}).get("controller") or ""
        return unchanged(controller, old_controller, "spec.controller") + self.validate_create(obj)


def _parameters_errors(parameters: Object, path: str) -> list[FieldError]:
    errors = _reference_errors(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        errors.append(required(f"{path}.scope"))
    elif scope not in ("Cluster", "Namespace"):
        errors.append(not_supported(f"{path}.scope", scope, ("Cluster", "Namespace")))
    elif scope == "Cluster":
        if namespace is not None:
            errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += named(f"{path}.namespace", namespace, names.dns_label)
    return errors
