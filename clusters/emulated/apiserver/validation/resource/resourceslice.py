"""ResourceSlice: the devices a driver offers."""

from __future__ import annotations

import re

from clusters.emulated.apiserver.validation.fields import equal, named, unchanged
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.resource.names import (
    GROUP,
    binding_condition_errors,
    list_errors,
    map_errors,
    pool_name_errors,
    qualified_name_errors,
    set_errors,
    taint_errors,
)
from clusters.emulated.apiserver.validation.rules import Object
from clusters.emulated.apiserver.validation.storage.csi import csi_driver_name_errors
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, required, too_long
from clusters.kube.gostring import quote
from clusters.kube.internal import printed

_DEVICES_MAX, _ADVANCED_DEVICES_MAX = 128, 64
_COUNTER_SETS_MAX, _COUNTERS_MAX, _CONSUMPTIONS_MAX, _TAINTS_MAX = 8, 32, 2, 16
_ATTRIBUTES_MAX = 32
_VALUE_BYTES_MAX = 64
_VALUES = ("int", "bool", "string", "version")
_PRE_RELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_is_version = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    rf"(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
).fullmatch
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_DEVICE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
    "true in the ResourceSlice spec"
)
_NO_DEVICE_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)


class ResourceSliceRules(LifecycleRules):
    group, kind = GROUP, "ResourceSlice"
    generation_fields = ("spec",)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        _drop_disabled(obj)

    def prepare_update(self, obj: Object, old: Object) -> None:
        super().prepare_update(obj, old)
        _drop_disabled(obj)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, old.get("spec") or {})

    def warnings_create(self, obj: Object) -> list[str]:
        driver = (obj.get("spec") or {}).get("driver") or ""
        if driver == driver.lower():
            return []
        return [f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters"]

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        spec = obj.get("spec") or {}
        return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver") or ""}


def _drop_disabled(obj: Object) -> None:
    # List-typed attributes and node-allocatable mappings are behind feature gates that are off.
    for device in (obj.get("spec") or {}).get("devices") or ():
        device.pop("nodeAllocatableResourceMappings", None)
        for attribute in (device.get("attributes") or {}).values():
            for name in ("ints", "bools", "strings", "versions"):
                attribute.pop(name, None)


def _spec_errors(spec: Object, old_spec: Object | None) -> list[FieldError]:
    errors = csi_driver_name_errors(spec.get("driver") or "", "spec.driver")
    pool = spec.get("pool") or {}
    errors += pool_name_errors(pool.get("name") or "", "spec.pool.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid("spec.pool.generation", generation, text))
    if old_spec is not None:
        old_pool = old_spec.get("pool") or {}
        errors += unchanged(pool.get("name") or "", old_pool.get("name") or "", "spec.pool.name")
        errors += unchanged(spec.get("driver") or "", old_spec.get("driver") or "", "spec.driver")
        errors += unchanged(spec.get("nodeName"), old_spec.get("nodeName"), "spec.nodeName")
    errors += _place_errors(spec)
    devices, counters = spec.get("devices") or [], spec.get("sharedCounters") or []
    if spec.get("devices") is not None and spec.get("sharedCounters") is not None:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    old_devices = {device.get("name"): device for device in (old_spec or {}).get("devices") or ()}
    errors += set_errors(
        devices,
        "spec.devices",
        _ADVANCED_DEVICES_MAX if advanced else _DEVICES_MAX,
        lambda device, path: _device_errors(
            device, old_devices.get(device.get("name")), path, bool(spec.get("perDeviceNodeSelection"))
        ),
        lambda device: device.get("name") or "",
    )
    return errors + set_errors(
        counters,
        "spec.sharedCounters",
        _COUNTER_SETS_MAX,
        lambda each, path: _counter_errors(each, "name", path),
        lambda each: each.get("name") or "",
    )


def _place_errors(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    chosen: list[str] = []
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if node == "":
        text = "must be either unset or set to a non-empty string"
        errors.append(invalid("spec.nodeName", node, text))
    elif node is not None:
        chosen.append("`nodeName`")
        errors += named("spec.nodeName", node, names.dns_subdomain)
    if selector is not None:
        chosen.append("`nodeSelector`")
        errors += _selector_errors(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            value = printed("[]core.NodeSelectorTerm", terms)
            text = "must have exactly one node selector term"
            errors.append(invalid("spec.nodeSelector.nodeSelectorTerms", value, text))
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name) is False:
            errors.append(invalid(f"spec.{name}", False, "must be either unset or set to true"))
        elif spec.get(name):
            chosen.append(f"`{name}`")
    if not chosen:
        errors.append(required("spec", _ONE_PLACE))
    elif len(chosen) > 1:
        text = f"{_ONE_PLACE}, but multiple fields are set"
        errors.append(invalid("spec", "{" + ", ".join(chosen) + "}", text))
    return errors


def _selector_errors(selector: Object, path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.pod.affinity import node_selector_errors

    return node_selector_errors(selector, path)


def _device_errors(device: Object, old: Object | None, path: str, per_device: bool) -> list[FieldError]:
    errors = named(f"{path}.name", device.get("name") or "", names.dns_label)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > _ATTRIBUTES_MAX:
        text = f"the total number of attributes and capacities must not exceed {_ATTRIBUTES_MAX}"
        errors.append(invalid(path, len(attributes) + len(capacity), text))
    errors += map_errors(attributes, f"{path}.attributes", -1, qualified_name_errors, _attribute_errors)

    def capacity_errors(value: Object, at: str) -> list[FieldError]:
        if value.get("requestPolicy") is None or device.get("allowMultipleAllocations"):
            return []
        return [forbidden(f"{at}.requestPolicy", "allowMultipleAllocations must be true")]

    errors += map_errors(capacity, f"{path}.capacity", -1, qualified_name_errors, capacity_errors)
    if old is None or not equal(old.get("taints"), device.get("taints")):
        errors += list_errors(device.get("taints") or (), f"{path}.taints", _TAINTS_MAX, taint_errors)
    errors += set_errors(
        device.get("consumesCounters") or (),
        f"{path}.consumesCounters",
        _CONSUMPTIONS_MAX,
        lambda each, at: _counter_errors(each, "counterSet", at),
        lambda each: each.get("counterSet") or "",
    )
    errors += _device_place_errors(device, path, per_device)
    return errors + binding_condition_errors(device, path)


def _device_place_errors(device: Object, path: str, per_device: bool) -> list[FieldError]:
    places = ("nodeName", "nodeSelector", "allNodes")
    if not per_device:
        if all(device.get(name) is None for name in places):
            return []
        return [invalid(path, None, _NO_DEVICE_PLACE)]
    errors: list[FieldError] = []
    chosen: list[str] = []
    for name in places:
        value = device.get(name)
        if value is None:
            continue
        if name == "nodeName" and not value:
            errors.append(invalid(f"{path}.nodeName", value, "must not be empty"))
        elif name == "allNodes" and not value:
            errors.append(invalid(f"{path}.allNodes", value, "must be either unset or set to true"))
        else:
            chosen.append(f"`{name}`")
            if name == "nodeName":
                errors += named(f"{path}.nodeName", value, names.dns_subdomain)
            elif name == "nodeSelector":
                errors += _selector_errors(value, f"{path}.nodeSelector")
    if not chosen:
        errors.append(required(path, _ONE_DEVICE_PLACE))
    elif len(chosen) > 1:
        errors.append(invalid(path, "{" + ", ".join(chosen) + "}", _ONE_DEVICE_PLACE))
    return errors


def _attribute_errors(attribute: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None and len(text.encode()) > _VALUE_BYTES_MAX:
        errors.append(too_long(f"{path}.string", _VALUE_BYTES_MAX))
    if version is not None:
        if not _is_version(version):
            why = "must be a string compatible with semver.org spec 2.0.0"
            errors.append(invalid(f"{path}.version", version, why))
        if len(version.encode()) > _VALUE_BYTES_MAX:
            errors.append(too_long(f"{path}.version", _VALUE_BYTES_MAX))
    given = [name for name in _VALUES if attribute.get(name) is not None]
    if len(given) != 1:
        value = printed("resource.DeviceAttribute", attribute) if given else ""
        errors.append(invalid(path, value, "exactly one value must be specified"))
    return errors


def _counter_errors(counters: Object, name_field: str, path: str) -> list[FieldError]:
    name = counters.get(name_field) or ""
    errors = named(f"{path}.{name_field}", name, names.dns_label) if name else [required(f"{path}.{name_field}")]
    values = counters.get("counters") or {}
    if not values:
        return [*errors, required(f"{path}.counters")]
    return errors + map_errors(
        values,
        f"{path}.counters",
        _COUNTERS_MAX,
        lambda key, at: named(at, key, names.dns_label),
        lambda value, at: [],
    )
