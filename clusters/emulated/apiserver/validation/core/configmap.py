"""The ConfigMap kind."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, too_long

DATA_MAX_BYTES = 1024 * 1024
IMMUTABLE = "field is immutable when `immutable` is set"


def decoded_size(base64_text: str) -> int:
    """How many bytes a base64 text stands for."""
    return len(base64_text) * 3 // 4 - base64_text.count("=", -2)


class ConfigMapRules(KindRules):
    kind = "ConfigMap"

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        size = 0
        binary = obj.get("binaryData") or {}
        for key, value in (obj.get("data") or {}).items():
            wrong = names.config_map_key(key)
            if wrong:
                errors += [invalid(f"data[{key}]", key, text) for text in wrong]
            if key in binary:
                errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
            size += len(value) if value.isascii() else names.size(value)
        for key, value in binary.items():
            errors += [invalid(f"binaryData[{key}]", key, text) for text in names.config_map_key(key)]
            size += decoded_size(value or "")
        if size > DATA_MAX_BYTES:
            errors.append(too_long("[]", DATA_MAX_BYTES))  # So prints a path without a name.
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        if old.get("immutable"):
            if not obj.get("immutable"):
                errors.append(forbidden("immutable", IMMUTABLE))
            errors += [
                forbidden(field, IMMUTABLE)
                for field in ("data", "binaryData")
                if (obj.get(field) or {}) != (old.get(field) or {})
            ]
        errors += validate_metadata(obj, True, self.validate_name)
        return errors + self.validate_create(obj)
