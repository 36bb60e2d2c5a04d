"""APIService: which server answers for a group and version. A local one is available at once."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import named
from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, index, invalid, not_supported, required

_STATUSES = ("True", "False", "Unknown")


class APIServiceRules(KindRules):
    group, kind = "apiregistration.k8s.io", "APIService"
    allow_unconditional_update = False
    # The name must be that of the spec's group and version, so the object as a whole is needed to judge it.
    validates_metadata = True
    checks_finalizer_names = False

    def default(self, obj: Object) -> None:
        service = (obj.get("spec") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {}
        if (obj.get("spec") or {}).get("service") is None:
            now = obj["metadata"].get("creationTimestamp")
            obj["status"] = {
                "conditions": [
                    {
                        "type": "Available", "status": "True", "lastTransitionTime": now, "reason": "Local",
                        "message": "Local APIServices are always available",
                    }
                ]
            }  # fmt: skip

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        metadata, stored = obj.setdefault("metadata", {}), old.get("metadata") or {}
        for name in ("labels", "annotations", "finalizers", "ownerReferences"):
            keep_field(metadata, stored, name)

    def validate_create(self, obj: Object) -> list[FieldError]:
        from clusters.emulated.apiserver.validation.metadata import object_meta_errors

        spec = obj.get("spec") or {}
        wanted = f"{spec.get('version') or ''}.{spec.get('group') or ''}"

        def name_texts(name: str, prefix: bool) -> list[str]:
            texts = names.path_segment_name(name)
            if texts or name == wanted:
                return texts
            return [f'must be `spec.version+"."+spec.group`: "{wanted}"']

        return object_meta_errors(obj.get("metadata") or {}, False, name_texts) + _spec_errors(spec)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        from clusters.emulated.apiserver.validation.metadata import object_meta_update_errors

        return object_meta_update_errors(obj, old) + self.validate_create(obj)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return [
            not_supported(f"{index('status.conditions', position)}.status", condition.get("status") or "", _STATUSES)
            for position, condition in enumerate((obj.get("status") or {}).get("conditions") or ())
            if condition.get("status") not in _STATUSES
        ]


def _spec_errors(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    group, version, service = spec.get("group") or "", spec.get("version") or "", spec.get("service")
    if not group and version != "v1":
        text = "only v1 may have an empty group and it better be legacy kube"
        errors.append(required("spec.group", text))
    if group:
        errors += named("spec.group", group, names.dns_subdomain)
    errors += named("spec.version", version, names.dns1035_label)
    for name, limit in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(name) or 0
        if not 0 < value <= limit:
            errors.append(invalid(f"spec.{name}", value, f"must be positive and less than {limit}"))
    bundle, insecure = spec.get("caBundle") or "", spec.get("insecureSkipTLSVerify") or False
    if service is None:
        if bundle:
            text = "local APIServices may not have a caBundle"
            errors.append(invalid("spec.caBundle", f"{_decoded_size(bundle)} bytes", text))
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid("spec.insecureSkipTLSVerify", True, text))
        return errors
    for name in ("namespace", "name"):
        if not service.get(name):
            errors.append(required(f"spec.service.{name}"))
    port = service.get("port") or 0
    texts = names.port_number(port)
    if texts:
        errors.append(invalid("spec.service.port", port, f"port is not valid: {', '.join(texts)}"))
    if insecure and bundle:
        errors.append(invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))
    return errors


def _decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=")
