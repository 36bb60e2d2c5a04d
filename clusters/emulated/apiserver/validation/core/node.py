"""The Node kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.metadata import validate_metadata, validate_metadata_update
from clusters.emulated.apiserver.validation.pod.affinity import taints_errors
from clusters.emulated.apiserver.validation.pod.defaults import default_resource_list
from clusters.emulated.apiserver.validation.pod.resources import resource_value_errors
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, child, duplicate, forbidden, index, internal, invalid, required
from clusters.kube.gojson import JsonError, loads
from clusters.kube.gostring import quote
from clusters.kube.internal import printed
from clusters.kube.ipaddr import cidr, parse_cidr, warnings_for_cidr

Value = Mapping[str, Any]

_TAINTS = "scheduler.alpha.kubernetes.io/taints"
_is_feature = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*").fullmatch
_FEATURE_MAX = 253
_NODE_INFO = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip


class NodeRules(KindRules):
    kind = "Node"
    validates_metadata = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        single, several = spec.get("podCIDR"), spec.get("podCIDRs")
        if single and (not several or several[0] != single):
            spec["podCIDRs"] = [single]
        elif several and not single:
            spec["podCIDR"] = several[0]
        status = obj.setdefault("status", {})
        # Structs by value in Go: they are always written, with their empty fields.
        status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
        status.setdefault("nodeInfo", dict.fromkeys(_NODE_INFO, ""))
        if status.get("allocatable") is None and status.get("capacity") is not None:
            status["allocatable"] = dict(status["capacity"])
        default_resource_list(status.get("capacity"))
        default_resource_list(status.get("allocatable"))

    def prepare_create(self, obj: Object) -> None:
        (obj.get("spec") or {}).pop("configSource", None)
        (obj.get("status") or {}).pop("config", None)

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        errors = validate_metadata(obj, False, self.validate_name)
        errors += _annotations(obj)
        if spec.get("taints"):
            errors += taints_errors(spec["taints"], "metadata.taints")
        errors += _resources(status)
        swap = ((status.get("nodeInfo") or {}).get("swap") or {}).get("capacity")
        if swap is not None and swap <= 0:
            errors.append(invalid("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero"))
        errors += _declared_features(status.get("declaredFeatures") or ())
        return errors + _pod_cidrs(spec.get("podCIDRs") or ())

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")
        if (old.get("spec") or {}).get("configSource") is None:
            (obj.get("spec") or {}).pop("configSource", None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_create(obj) + self._update_errors(obj, old)

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        if (old.get("status") or {}).get("config") is None:
            (obj.get("status") or {}).pop("config", None)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return self._after_metadata(obj, old)

    def _update_errors(self, obj: Object, old: Object) -> list[FieldError]:
        return validate_metadata_update(obj, old) + self._after_metadata(obj, old)

    def _after_metadata(self, obj: Object, old: Object) -> list[FieldError]:
        spec, stored, status = obj.get("spec") or {}, old.get("spec") or {}, obj.get("status") or {}
        errors = _annotations(obj) + _resources(status)
        errors += _declared_features(status.get("declaredFeatures") or ())
        seen: list[Value] = []
        for position, address in enumerate(status.get("addresses") or ()):
            if address in seen:
                shown = printed("core.NodeAddress", address)
                errors.append(duplicate(index("status.addresses", position), shown))
            seen.append(address)
        errors += _kept_cidrs(spec.get("podCIDRs") or (), stored.get("podCIDRs") or ())
        if stored.get("providerID") and stored["providerID"] != spec.get("providerID", ""):
            text = 'node updates may not change providerID except from "" to valid'
            errors.append(forbidden("spec.providerID", text))
        if spec.get("configSource") is not None:
            errors += _config_source(spec["configSource"], "spec.configSource", in_status=False)
        for field in ("assigned", "active", "lastKnownGood"):
            source = (status.get("config") or {}).get(field)
            if source is not None:
                errors += _config_source(source, f"status.config.{field}", in_status=True)
        if spec.get("taints"):
            errors += taints_errors(spec["taints"], "metadata.taints")
        if spec.get("externalID", "") != stored.get("externalID", ""):
            errors.append(forbidden("spec.externalID", "may not be updated"))
        return errors

    def warnings_create(self, obj: Object) -> list[str]:
        spec, warnings = obj.get("spec") or {}, []
        if spec.get("configSource") is not None:
            warnings.append("spec.configSource: the feature is removed")
        if spec.get("externalID"):
            warnings.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for position, value in enumerate(spec.get("podCIDRs") or ()):
            warnings += warnings_for_cidr(index("spec.podCIDRs", position), value)
        return warnings

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {"spec.unschedulable": "true" if (obj.get("spec") or {}).get("unschedulable") else "false"}


def _annotations(obj: Object) -> list[FieldError]:
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get(_TAINTS)
    if not text:
        return []
    try:
        taints = loads(text.encode())
    except JsonError as wrong:
        return [invalid("metadata.annotations", _TAINTS, str(wrong))]
    return taints_errors(taints, child("metadata.annotations", _TAINTS)) if isinstance(taints, list) else []


def _resources(status: Value) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("capacity", "allocatable"):
        for name, text in (status.get(kind) or {}).items():
            errors += resource_value_errors(name, text, f"status.{kind}.{name}")
    return errors


def _declared_features(features: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, feature in enumerate(features):
        at = index("status.declaredFeatures", position)
        if names.size(feature) > _FEATURE_MAX:
            text = f"invalid feature name {quote(feature)}: must be no more than {_FEATURE_MAX} characters"
            errors.append(invalid(at, feature, text))
        elif not _is_feature(feature):
            text = (
                "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
                "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            )
            errors.append(invalid(at, feature, f"invalid feature name {quote(feature)}: {text}"))
        if position + 1 < len(features):
            after, at = features[position + 1], index("status.declaredFeatures", position + 1)
            if feature == after:
                errors.append(duplicate(at, after))
            elif feature > after:
                errors.append(invalid(at, after, "list must be sorted alphabetically"))
    return errors


def _pod_cidrs(values: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, value in enumerate(values):
        errors += [invalid(index("spec.podCIDRs", position), value, text) for text in cidr(value, strict=True)]
    if len(values) > 1:
        bad = next((item for item in enumerate(values) if parse_cidr(item[1]) is None), None)
        if bad is not None:
            text = f"invalid CIDR[{bad[0]}]: <nil> (invalid CIDR address: {bad[1]})"
            text = f"invalid PodCIDRs. failed to check with dual stack with error:{text}"
            errors.append(internal("spec.podCIDRs", text))
        versions = {network.version for network in map(parse_cidr, values) if network is not None}
        if len(versions) < 2 or len(values) > 2:
            text = "may specify no more than one CIDR for each IP family"
            errors.append(invalid("spec.podCIDRs", list(values), text))
    return errors


def _kept_cidrs(new: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    text = 'node updates may not change podCIDR except from "" to valid'
    if not old:
        return []
    if len(old) != len(new):
        return [forbidden("spec.podCIDRs", text)]
    return [forbidden("spec.podCIDRs", text) for value, before in zip(new, old, strict=True) if value != before]


def _config_source(source: Value, path: str, *, in_status: bool) -> list[FieldError]:
    reference = source.get("configMap")
    if reference is None:
        text = "exactly one reference subfield must be non-nil"
        return [invalid(path, printed("core.NodeConfigSource", source), text)]
    errors: list[FieldError] = []
    at = child(path, "configMap")
    for field in ("uid", "resourceVersion"):
        if in_status and not reference.get(field):
            errors.append(required(child(at, field)))
        elif not in_status and reference.get(field):
            errors.append(forbidden(child(at, field), f"{field} must not be set in spec"))
    for field, rule in (
        ("namespace", names.dns_label), ("name", names.dns_subdomain), ("kubeletConfigKey", names.config_map_key),
    ):  # fmt: skip
        value = reference.get(field, "")
        if not value:
            errors.append(required(child(at, field)))
        else:
            errors += [invalid(child(at, field), value, text) for text in rule(value)]
    return errors
