"""The ServiceAccount kind."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError

_ENFORCE = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountRules(KindRules):
    kind = "ServiceAccount"

    def prepare_create(self, obj: Object) -> None:
        # Of the secrets only the names count.
        if obj.get("secrets"):
            obj["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in obj["secrets"]]

    def prepare_update(self, obj: Object, old: Object) -> None:
        self.prepare_create(obj)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return validate_metadata(obj, True, self.validate_name)

    def warnings_create(self, obj: Object) -> list[str]:
        if _ENFORCE not in ((obj.get("metadata") or {}).get("annotations") or {}):
            return []
        text = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"metadata.annotations[{_ENFORCE}]: {text}"]

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        already = _ENFORCE in ((old.get("metadata") or {}).get("annotations") or {})
        return [] if already else self.warnings_create(obj)
