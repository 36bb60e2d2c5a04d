"""CSIDriver and CSINode: the drivers there are, and where they run."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import equal, named, nonnegative, unchanged
from clusters.emulated.apiserver.validation.lifecycle import bump_generation
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.emulated.apiserver.validation.storage.classes import GROUP
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required, too_long

_FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Persistent", "Ephemeral")
_TOKEN_IN_SECRETS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)
_NODE_ID_MAX = 256
_DRIVER_NAME_MAX = 63


def csi_driver_name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, _DRIVER_NAME_MAX)] if len(name.encode()) > _DRIVER_NAME_MAX else []
    return errors + [invalid(path, name, text) for text in names.dns_subdomain(name.lower())]


class CSIDriverRules(KindRules):
    group, kind = GROUP, "CSIDriver"
    allow_unconditional_update = False

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("attachRequired", True)
        spec.setdefault("podInfoOnMount", False)
        spec.setdefault("storageCapacity", False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]
        spec.setdefault("requiresRepublish", False)
        spec.setdefault("seLinuxMount", False)

    def prepare_create(self, obj: Object) -> None:
        # Behind a feature gate that is off: VolumeLimitScaling.
        obj["spec"].pop("preventPodSchedulingIfMissing", None)

    def prepare_update(self, obj: Object, old: Object) -> None:
        spec, old_spec = obj["spec"], old.get("spec") or {}
        if old_spec.get("preventPodSchedulingIfMissing") is None:
            spec.pop("preventPodSchedulingIfMissing", None)
        bump_generation(obj, old, not equal(spec, old_spec))

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors: list[FieldError] = []
        for name, path in (
            ("attachRequired", "attachedRequired"), ("podInfoOnMount", "podInfoOnMount"),
            ("storageCapacity", "storageCapacity"),
        ):  # fmt: skip
            if spec.get(name) is None:
                errors.append(required(f"spec.{path}"))
        policy = spec.get("fsGroupPolicy")
        if policy is not None and policy not in _FS_GROUP_POLICIES:
            errors.append(not_supported("spec.fsGroupPolicy", policy, _FS_GROUP_POLICIES))
        errors += _token_errors(spec.get("tokenRequests") or ())
        for mode in spec.get("volumeLifecycleModes") or ():
            if mode not in _LIFECYCLE_MODES:
                errors.append(not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES))
        if spec.get("seLinuxMount") is None:
            errors.append(required("spec.seLinuxMount"))
        period = spec.get("nodeAllocatableUpdatePeriodSeconds")
        if period is not None and period < 10:
            text = "must be greater than or equal to 10 seconds"
            errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text))
        in_secrets = spec.get("serviceAccountTokenInSecrets")
        if in_secrets is not None and not spec.get("tokenRequests"):
            text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, text))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        errors = self.validate_create(obj)
        errors += unchanged(spec.get("attachRequired"), old_spec.get("attachRequired"), "spec.attachedRequired")
        return errors + unchanged(
            spec.get("volumeLifecycleModes"), old_spec.get("volumeLifecycleModes"), "spec.volumeLifecycleModes"
        )

    def warnings_create(self, obj: Object) -> list[str]:
        spec = obj.get("spec") or {}
        unset = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
        return [_TOKEN_IN_SECRETS] if unset else []

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        requests = (obj.get("spec") or {}).get("tokenRequests")
        if equal(requests, (old.get("spec") or {}).get("tokenRequests")):
            return []
        return self.warnings_create(obj)


def _token_errors(requests: list[Object] | tuple[()]) -> list[FieldError]:
    errors: list[FieldError] = []
    audiences: set[str] = set()
    for position, request in enumerate(requests):
        path, audience = index("spec.tokenRequests", position), request.get("audience") or ""
        if audience in audiences:
            errors.append(duplicate(f"{path}.audience", audience))
            continue
        audiences.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is None:
            continue
        if seconds < 600:
            text = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
        if seconds > 1 << 32:
            text = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    return errors


class CSINodeRules(KindRules):
    group, kind = GROUP, "CSINode"
    metadata_on_update = "whole"
    allow_unconditional_update = False

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        seen: set[str] = set()
        for position, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
            errors += _node_driver_errors(driver, index("spec.drivers", position), seen)
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.validate_create(obj)
        drivers = (obj.get("spec") or {}).get("drivers") or ()
        for old_driver in (old.get("spec") or {}).get("drivers") or ():
            for driver in drivers:
                if driver.get("name") == old_driver.get("name"):
                    # How many volumes fit may change; all else about a driver on a node may not.
                    kept, old_kept = (
                        {name: value for name, value in each.items() if name != "allocatable"}
                        for each in (driver, old_driver)
                    )
                    errors += unchanged(kept, old_kept, "spec.drivers", "storage.CSINodeDriver")
        return errors


def _node_driver_errors(driver: Object, path: str, seen: set[str]) -> list[FieldError]:
    name, node_id = driver.get("name") or "", driver.get("nodeID") or ""
    errors = csi_driver_name_errors(name, f"{path}.name")
    if not node_id:
        errors.append(required(f"{path}.nodeID"))
    if len(node_id.encode()) > _NODE_ID_MAX:
        errors.append(invalid(f"{path}.nodeID", node_id, f"must be {_NODE_ID_MAX} characters or less"))
    errors += nonnegative((driver.get("allocatable") or {}).get("count"), f"{path}.allocatable.count")
    if name in seen:
        errors.append(duplicate(f"{path}.name", name))
    seen.add(name)
    keys = driver.get("topologyKeys") or []
    for position, key in enumerate(keys):
        if not key:
            errors.append(required(path, key))
        if key in keys[:position]:
            errors.append(duplicate(path, key))
        errors += named(path, key, names.qualified_name)
    return errors
