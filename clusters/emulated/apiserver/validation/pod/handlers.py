"""Probes and lifecycle hooks: what they run, and their thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, invalid, not_supported, required

Value = Mapping[str, Any]

_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_PROBE_NUMBERS = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
)  # fmt: skip


def port_errors(port: object, path: str) -> list[FieldError]:
    """A port's number or its name."""
    if isinstance(port, str):
        return [invalid(path, port, text) for text in names.port_name(port)]
    number = port if isinstance(port, int) else 0
    return [invalid(path, number, text) for text in names.port_number(number)]


def _http_get(http: Value, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not http.get("path"):
        errors.append(required(child(path, "path")))
    errors += port_errors(http.get("port"), child(path, "port"))
    if http.get("scheme", "") not in ("HTTP", "HTTPS"):
        errors.append(not_supported(child(path, "scheme"), http.get("scheme", ""), ("HTTP", "HTTPS")))
    for header in http.get("httpHeaders") or ():
        name = header.get("name", "")
        errors += [invalid(child(path, "httpHeaders"), name, text) for text in names.http_header_name(name)]
    return errors


def _handler(handler: Value, kinds: tuple[str, ...], grace: int | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    found = False
    for kind in kinds:
        action = handler.get(kind)
        if action is None:
            continue
        at = child(path, kind)
        if found:
            errors.append(forbidden(at, "may not specify more than 1 handler type"))
            continue
        found = True
        if kind == "exec":
            if not action.get("command"):
                errors.append(required(child(at, "command")))
        elif kind == "httpGet":
            errors += _http_get(action, at)
        elif kind == "sleep":
            seconds = action.get("seconds", 0)
            if grace is not None and (seconds < 0 or seconds > grace):
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                errors.append(invalid(at, seconds, text))
        else:
            errors += port_errors(action.get("port"), child(at, "port"))
    if not found:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _probe(probe: Value, grace: int | None, path: str) -> list[FieldError]:
    errors = _handler(probe, _PROBE_HANDLERS, grace, path)
    for name in _PROBE_NUMBERS:
        value = probe.get(name) or 0
        if value < 0:
            errors.append(invalid(child(path, name), value, names.NEGATIVE))
    termination = probe.get("terminationGracePeriodSeconds")
    if termination is not None and termination <= 0:
        at = child(path, "terminationGracePeriodSeconds")
        errors.append(invalid(at, termination, "must be greater than 0"))
    return errors


def probes_errors(container: Value, grace: int | None, path: str) -> list[FieldError]:
    """Liveness, readiness, startup, in this order."""
    errors: list[FieldError] = []
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        at = child(path, name)
        errors += _probe(probe, grace, at)
        if name == "readinessProbe":
            termination = probe.get("terminationGracePeriodSeconds")
            if termination is not None:
                where = child(at, "terminationGracePeriodSeconds")
                errors.append(invalid(where, termination, "must not be set for readinessProbes"))
        elif probe.get("successThreshold", 0) != 1:
            where = child(at, "successThreshold")
            errors.append(invalid(where, probe.get("successThreshold", 0), "must be 1"))
    return errors


def lifecycle_errors(lifecycle: Value, grace: int | None, path: str, os: Value | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            errors += _handler(lifecycle[name], _HOOK_HANDLERS, grace, child(path, name))
    # A stop signal can only be there if it was stored earlier: its feature is off, so it is dropped on create.
    if lifecycle.get("stopSignal") is not None and os is None:
        at = child(path, "stopSignal")
        errors.append(forbidden(at, "may not be set for containers with empty `spec.os.name`"))
    return errors
