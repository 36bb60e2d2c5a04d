"""DeviceClass, ResourceClaim and ResourceClaimTemplate: which devices are wanted."""

from __future__ import annotations

import re

from clusters.emulated.apiserver.validation.conditions import condition_errors
from clusters.emulated.apiserver.validation.fields import named, unchanged
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.resource.names import (
    CONFIGS_MAX,
    GROUP,
    SELECTORS_MAX,
    binding_condition_errors,
    configuration_errors,
    fully_qualified_name_errors,
    list_errors,
    pool_name_errors,
    raw_object_errors,
    selector_errors,
    set_errors,
    toleration_errors,
)
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.emulated.apiserver.validation.storage.csi import csi_driver_name_errors
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, index, invalid, not_supported, required

_REQUESTS_MAX = 32
_FIRST_AVAILABLE_MAX = 8
_RESERVED_FOR_MAX = 256
_MODES = ("All", "ExactCount")
_REQUEST_REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_NEW_RESERVATION = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
_is_extended = re.compile(r"(?!requests\.)[^/]+/.+").fullmatch


class DeviceClassRules(LifecycleRules):
    group, kind = GROUP, "DeviceClass"
    metadata_on_update = "both"
    generation_fields = ("spec",)

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return [] if prefix else names.dns_subdomain(name)  # Its declared rules know nothing of generateName.

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = list_errors(spec.get("selectors") or (), "spec.selectors", SELECTORS_MAX, selector_errors)
        errors += list_errors(spec.get("config") or (), "spec.config", CONFIGS_MAX, configuration_errors)
        extended = spec.get("extendedResourceName")
        if extended is not None and not _is_extended_resource(extended):
            text = "must be a valid extended resource name"
            errors.append(invalid("spec.extendedResourceName", extended, text))
        return errors


def _is_extended_resource(name: str) -> bool:
    native = "/" not in name or "kubernetes.io/" in name
    return not native and bool(_is_extended(name)) and not names.qualified_name(f"requests.{name}")


def default_claim_spec(spec: Object) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        wanted = [*(request.get("firstAvailable") or ())]
        if request.get("exactly") is not None:
            wanted.append(request["exactly"])
        for each in wanted:
            each["allocationMode"] = each.get("allocationMode") or "ExactCount"
            if each["allocationMode"] == "ExactCount" and not each.get("count"):
                each["count"] = 1
            for toleration in each.get("tolerations") or ():
                toleration["operator"] = toleration.get("operator") or "Equal"


class ResourceClaimRules(LifecycleRules):
    group, kind = GROUP, "ResourceClaim"
    metadata_on_update = "both"
    zero_status = ()
    status_keeps_metadata = True

    def default(self, obj: Object) -> None:
        default_claim_spec(obj.setdefault("spec", {}))

    def validate_create(self, obj: Object) -> list[FieldError]:
        return claim_spec_errors(obj.get("spec") or {}, "spec")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return unchanged(obj.get("spec"), old.get("spec"), "spec", "resource.ResourceClaimSpec")

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        _drop_deallocated(obj.get("status") or {}, old.get("status") or {})

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status, old_status = obj.get("status") or {}, old.get("status") or {}
        requests = _request_names((obj.get("spec") or {}).get("devices") or {})
        deleting = (obj.get("metadata") or {}).get("deletionTimestamp") is not None
        errors = set_errors(
            status.get("reservedFor") or (),
            "status.reservedFor",
            _RESERVED_FOR_MAX,
            _consumer_errors,
            lambda consumer: consumer.get("uid") or "",
        )
        errors += _device_status_errors(status)
        allocation, old_allocation = status.get("allocation"), old_status.get("allocation")
        if status.get("reservedFor"):
            if allocation is None:
                text = "may not be specified when `allocated` is not set"
                errors.append(forbidden("status.reservedFor", text))
            elif deleting and any(each not in (old_status.get("reservedFor") or ()) for each in status["reservedFor"]):
                errors.append(forbidden("status.reservedFor", _NEW_RESERVATION))
        if allocation is not None and old_allocation is not None:
            errors += unchanged(allocation, old_allocation, "status.allocation", "*resource.AllocationResult")
        elif allocation is not None:
            errors += _allocation_errors(allocation, requests, "status.allocation")
        return errors


class ResourceClaimTemplateRules(KindRules):
    group, kind = GROUP, "ResourceClaimTemplate"
    metadata_on_update = "both"

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("metadata", {})
        default_claim_spec(spec.setdefault("spec", {}))

    def validate_create(self, obj: Object) -> list[FieldError]:
        return claim_spec_errors((obj.get("spec") or {}).get("spec") or {}, "spec.spec")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_create(obj) + unchanged(
            obj.get("spec"), old.get("spec"), "spec", "resource.ResourceClaimTemplateSpec"
        )


def claim_spec_errors(spec: Object, path: str) -> list[FieldError]:
    devices, path = spec.get("devices") or {}, f"{path}.devices"
    requests = _request_names(devices)

    def constraint_errors(constraint: Object, at: str) -> list[FieldError]:
        errors = _reference_errors(constraint.get("requests") or (), requests, f"{at}.requests")
        for name in ("matchAttribute", "distinctAttribute"):
            if constraint.get(name) is not None:
                return errors + fully_qualified_name_errors(constraint[name], f"{at}.{name}")
        return [*errors, required(at, _ONE_ATTRIBUTE)]

    def config_errors(config: Object, at: str) -> list[FieldError]:
        errors = _reference_errors(config.get("requests") or (), requests, f"{at}.requests")
        return errors + configuration_errors(config, at)

    errors = set_errors(devices.get("requests") or (), f"{path}.requests", _REQUESTS_MAX, _request_errors, _name_of)
    errors += list_errors(devices.get("constraints") or (), f"{path}.constraints", 32, constraint_errors)
    return errors + list_errors(devices.get("config") or (), f"{path}.config", CONFIGS_MAX, config_errors)


def _name_of(named_object: Object) -> str:
    return named_object.get("name") or ""


def _request_names(devices: Object) -> set[str]:
    """What a reference may say: `request`, or `request/subrequest`."""
    found: set[str] = set()
    for request in devices.get("requests") or ():
        found.add(_name_of(request))
        found |= {f"{_name_of(request)}/{_name_of(sub)}" for sub in request.get("firstAvailable") or ()}
    return found


def _reference_errors(references: list[str] | tuple[()], requests: set[str], path: str) -> list[FieldError]:
    return set_errors(
        references, path, _REQUESTS_MAX, lambda name, at: request_reference_errors(name, requests, at), str
    )


def request_reference_errors(name: str, requests: set[str], path: str) -> list[FieldError]:
    segments = name.split("/")
    if len(segments) > 2:
        return [invalid(path, name, _REQUEST_REFERENCE)]
    errors: list[FieldError] = []
    for segment in segments:
        errors += named(path, segment, names.dns_label)
    return errors if name in requests else [*errors, invalid(path, name, _REQUEST_REFERENCE)]


def _request_errors(request: Object, path: str) -> list[FieldError]:
    errors = named(f"{path}.name", _name_of(request), names.dns_label)
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    if exactly is None and not alternatives:
        errors.append(required(path, _ONE_KIND))
    elif exactly is not None and alternatives:
        errors.append(invalid(path, None, f"{_ONE_KIND}, but multiple fields are set"))
    elif alternatives:
        errors += set_errors(alternatives, f"{path}.firstAvailable", _FIRST_AVAILABLE_MAX, _subrequest_errors, _name_of)
    else:
        errors += _device_errors(exactly or {}, f"{path}.exactly")
    return errors


def _subrequest_errors(request: Object, path: str) -> list[FieldError]:
    return named(f"{path}.name", _name_of(request), names.dns_label) + _device_errors(request, path)


def _device_errors(request: Object, path: str) -> list[FieldError]:
    class_name = request.get("deviceClassName") or ""
    errors = (
        named(f"{path}.deviceClassName", class_name, names.dns_subdomain)
        if class_name
        else [required(f"{path}.deviceClassName")]
    )
    errors += list_errors(request.get("selectors") or (), f"{path}.selectors", SELECTORS_MAX, selector_errors)
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "All":
        if count:
            text = "must not be specified when allocationMode is 'All'"
            errors.append(invalid(f"{path}.count", count, text))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    for position, toleration in enumerate(request.get("tolerations") or ()):
        errors += toleration_errors(toleration, index(f"{path}.tolerations", position))
    return errors


def _consumer_errors(consumer: Object, path: str) -> list[FieldError]:
    return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not consumer.get(name)]


def _device_key(device: Object) -> tuple[str, ...]:
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def _allocated(status: Object) -> list[tuple[str, ...]]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    return [_device_key(result) for result in results]


def _drop_deallocated(status: Object, old_status: Object) -> None:
    """The status of a device goes with its allocation."""
    gone = set(_allocated(old_status)) - set(_allocated(status))
    devices = [device for device in status.get("devices") or () if _device_key(device) not in gone]
    if devices:
        status["devices"] = devices
    else:
        status.pop("devices", None)


def _device_status_errors(status: Object) -> list[FieldError]:
    allocated = _allocated(status)

    def errors_of(device: Object, path: str) -> list[FieldError]:
        errors = csi_driver_name_errors(device.get("driver") or "", f"{path}.driver")
        errors += pool_name_errors(device.get("pool") or "", f"{path}.pool")
        errors += named(f"{path}.device", device.get("device") or "", names.dns_label)
        if _device_key(device) not in allocated:
            shown = {"Driver": _device_key(device)[0], "Pool": _device_key(device)[1], "Device": _device_key(device)[2]}
            errors.append(invalid(path, shown, "must be an allocated device in the claim"))
        errors += condition_errors(device.get("conditions") or (), f"{path}.conditions")
        if device.get("data") is not None:
            errors += raw_object_errors(device["data"], f"{path}.data")
        return errors

    return list_errors(status.get("devices") or (), "status.devices", -1, errors_of)


def _allocation_errors(allocation: Object, requests: set[str], path: str) -> list[FieldError]:
    devices, path_of = allocation.get("devices") or {}, f"{path}.devices"

    def result_errors(result: Object, at: str) -> list[FieldError]:
        errors = request_reference_errors(result.get("request") or "", requests, f"{at}.request")
        errors += csi_driver_name_errors(result.get("driver") or "", f"{at}.driver")
        errors += pool_name_errors(result.get("pool") or "", f"{at}.pool")
        errors += named(f"{at}.device", result.get("device") or "", names.dns_label)
        return errors + binding_condition_errors(result, at)

    def config_errors(config: Object, at: str) -> list[FieldError]:
        source = config.get("source") or ""
        errors: list[FieldError] = []
        if not source:
            errors.append(required(f"{at}.source"))
        elif source not in ("FromClaim", "FromClass"):
            errors.append(not_supported(f"{at}.source", source, ("FromClaim", "FromClass")))
        errors += _reference_errors(config.get("requests") or (), requests, f"{at}.requests")
        return errors + configuration_errors(config, at)

    errors = list_errors(devices.get("results") or (), f"{path_of}.results", _REQUESTS_MAX, result_errors)
    errors += list_errors(devices.get("config") or (), f"{path_of}.config", 2 * CONFIGS_MAX, config_errors)
    if allocation.get("nodeSelector") is not None:
        from clusters.emulated.apiserver.validation.pod.affinity import node_selector_errors

        errors += node_selector_errors(allocation["nodeSelector"], f"{path}.nodeSelector")
    return errors
