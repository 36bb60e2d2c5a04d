"""The Secret kind: what each type must hold."""

from __future__ import annotations

import base64
import binascii

from clusters.emulated.apiserver.validation.core.configmap import DATA_MAX_BYTES, IMMUTABLE, decoded_size
from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, required, too_long
from clusters.kube.gojson import JsonError, loads

_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_REDACTED = "<secret contents redacted>"
_JSON_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


class SecretRules(KindRules):
    kind = "Secret"

    def default(self, obj: Object) -> None:
        if not obj.get("type"):
            obj["type"] = "Opaque"
        # What is written as text is kept as data, and never shown as text again.
        texts = obj.pop("stringData", None)
        if texts:
            data = obj.get("data")
            if data is None:
                data = obj["data"] = {}
            for key, text in texts.items():
                data[key] = base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")

    def validate_create(self, obj: Object) -> list[FieldError]:
        data = obj.get("data") or {}
        errors: list[FieldError] = []
        size = 0
        for key, value in data.items():
            errors += [invalid(f"data[{key}]", key, text) for text in names.config_map_key(key)]
            size += decoded_size(value or "")
        if size > DATA_MAX_BYTES:
            errors.append(too_long("data", DATA_MAX_BYTES))
        return errors + self._type_errors(obj, data)

    def _type_errors(self, obj: Object, data: dict[str, str]) -> list[FieldError]:
        kind = obj.get("type", "")
        if kind == "kubernetes.io/service-account-token":
            annotations = (obj.get("metadata") or {}).get("annotations") or {}
            if not annotations.get(_ACCOUNT_NAME):
                return [required(f"metadata.annotations[{_ACCOUNT_NAME}]")]
        elif kind in _JSON_KEYS:
            key = _JSON_KEYS[kind]
            return _json_errors(data[key], f"data[{key}]") if key in data else [required(f"data[{key}]")]
        elif kind == "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                return [required("data[username]"), required("data[password]")]
        elif kind == "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                return [required("data[ssh-privatekey]")]
        elif kind == "kubernetes.io/tls":
            return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
        return []

    def prepare_update(self, obj: Object, old: Object) -> None:
        if not obj.get("type"):
            obj["type"] = old.get("type", "")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        if obj.get("type", "") != old.get("type", ""):
            errors.append(invalid("type", obj.get("type", ""), "field is immutable"))
        if old.get("immutable"):
            if not obj.get("immutable"):
                errors.append(forbidden("immutable", IMMUTABLE))
            if (obj.get("data") or {}) != (old.get("data") or {}):
                errors.append(forbidden("data", IMMUTABLE))
        errors += validate_metadata(obj, True, self.validate_name)
        return errors + self.validate_create(obj)

    def warnings_create(self, obj: Object) -> list[str]:
        if obj.get("type") != "kubernetes.io/tls":
            return []
        from clusters.emulated.apiserver.validation.core.tls_pair import pair_error

        data = obj.get("data") or {}
        wrong = pair_error(_decoded(data.get("tls.crt", "")), _decoded(data.get("tls.key", "")))
        return [wrong] if wrong else []

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {"type": obj.get("type", "")}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text or "")
    except binascii.Error:
        return b""


def _json_errors(text: str, path: str) -> list[FieldError]:
    try:
        value = loads(_decoded(text))
    except JsonError as wrong:
        return [invalid(path, _REDACTED, str(wrong))]
    if isinstance(value, dict) or value is None:
        return []
    kind = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    detail = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    return [invalid(path, _REDACTED, detail)]
