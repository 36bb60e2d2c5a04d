"""RoleBinding and ClusterRoleBinding: who has a role. The role it refers to can never change."""

from __future__ import annotations

from typing import ClassVar

from clusters.emulated.apiserver.validation.fields import required_named
from clusters.emulated.apiserver.validation.rbac.role import GROUP
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, index, invalid, not_supported, required
from clusters.kube.internal import printed


class RoleBindingRules(KindRules):
    group, kind = GROUP, "RoleBinding"
    metadata_on_update = "both"
    allow_create_on_update = True
    role_kinds: ClassVar[tuple[str, ...]] = ("Role", "ClusterRole")
    namespaced: ClassVar[bool] = True

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return names.path_segment_name(name)

    def default(self, obj: Object) -> None:
        role = obj.setdefault("roleRef", {})
        if not role.get("apiGroup"):
            role["apiGroup"] = GROUP
        for subject in obj.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        role = obj.get("roleRef") or {}
        if role.get("apiGroup") != GROUP:
            errors.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (GROUP,)))
        if role.get("kind") not in self.role_kinds:
            errors.append(not_supported("roleRef.kind", role.get("kind", ""), self.role_kinds))
        errors += required_named("roleRef.name", role.get("name"), names.path_segment_name)
        for position, subject in enumerate(obj.get("subjects") or ()):
            errors += _subject_errors(subject, self.namespaced, index("subjects", position))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.validate_create(obj)
        role, old_role = obj.get("roleRef") or {}, old.get("roleRef") or {}
        if any((role.get(name) or "") != (old_role.get(name) or "") for name in ("apiGroup", "kind", "name")):
            errors.append(invalid("roleRef", printed("rbac.RoleRef", role), "cannot change roleRef"))
        return errors


class ClusterRoleBindingRules(RoleBindingRules):
    kind = "ClusterRoleBinding"
    role_kinds = ("ClusterRole",)
    namespaced = False


def _subject_errors(subject: Object, namespaced: bool, path: str) -> list[FieldError]:
    name, api_group = subject.get("name") or "", subject.get("apiGroup") or ""
    errors = [] if name else [required(f"{path}.name")]
    kind = subject.get("kind") or ""
    if kind == "ServiceAccount":
        if name:
            errors += [invalid(f"{path}.name", name, text) for text in names.dns_subdomain(name)]
        if api_group:
            errors.append(not_supported(f"{path}.apiGroup", api_group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if api_group != GROUP:
            errors.append(not_supported(f"{path}.apiGroup", api_group, (GROUP,)))
    else:
        errors.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors
