"""Nobody grants what they do not hold: checks for writes of roles and bindings.

The registry calls these before it stores a Role, ClusterRole, RoleBinding or ClusterRoleBinding. Members of
system:masters, and users with the verb `escalate` on the role or `bind` on the role referred to, may pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusters.emulated.apiserver.authorization.attributes import Attributes
from clusters.emulated.apiserver.authorization.chain import (
    PRIVILEGED_GROUP,
    AuthorizerChain,
    aggregate_texts,
)
from clusters.emulated.apiserver.authorization.rbac import (
    CLUSTER_ROLES,
    GROUP,
    ROLES,
    RbacAuthorizer,
)
from clusters.emulated.apiserver.authorization.rules import PolicyRule, compact, covers, describe
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.emulated.apiserver.request import RequestInfo, UserInfo
from clusters.kube import errors
from clusters.kube.gostring import quote, quoted_list

_FULL_AUTHORITY: tuple[PolicyRule, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_GARBAGE_COLLECTED = ("ownerReferences", "finalizers", "selfLink", "managedFields")


class EscalationCheck:
    """Holds what the checks need to ask."""

    def __init__(self, chain: AuthorizerChain, rbac: RbacAuthorizer, objects: Objects) -> None:
        self._chain = chain
        self._rbac = rbac
        self._objects = objects

    async def check_role_write(
        self, user: UserInfo, info: RequestInfo, role: Object, old: Object | None = None
    ) -> None:
        """A Role or ClusterRole is created (`old` is None) or changed; raises the 403."""
        if PRIVILEGED_GROUP in user.groups or await self._may_escalate(user, info):
            return
        if old is not None and only_garbage_collected_fields_change(role, old):
            return
        resource, name = info.group_resource, role["metadata"].get("name", "")
        problem = self._not_held(user, info, role.get("rules") or ())
        if problem:
            raise errors.forbidden(resource, name, problem)
        aggregates = _has_aggregation(role) or (old is not None and _has_aggregation(old))
        # An aggregation rule can gather anything, now or later.
        if aggregates and self._not_held(user, info, _FULL_AUTHORITY):
            raise errors.forbidden(resource, name, "must have cluster-admin privileges to use the aggregationRule")

    async def check_binding_write(
        self, user: UserInfo, info: RequestInfo, binding: Object, old: Object | None = None
    ) -> None:
        """A RoleBinding or ClusterRoleBinding is created or changed; raises the 403, or 404 without the role."""
        if PRIVILEGED_GROUP in user.groups:
            return
        if old is not None and only_garbage_collected_fields_change(binding, old):
            return
        role_ref = binding.get("roleRef") or {}
        if await self._may_bind(user, role_ref, info.namespace):
            return
        rules = await self._role_rules(role_ref, info)
        problem = self._not_held(user, info, rules)
        if problem:
            raise errors.forbidden(info.group_resource, binding["metadata"].get("name", ""), problem)

    async def _may_escalate(self, user: UserInfo, info: RequestInfo) -> bool:
        asked = Attributes(user, "escalate", info.group, "*", info.resource, namespace=info.namespace, name=info.name)
        return (await self._chain.authorize(asked)).allowed

    async def _may_bind(self, user: UserInfo, role_ref: dict[str, str], namespace: str) -> bool:
        resource = {"Role": "roles", "ClusterRole": "clusterroles"}.get(role_ref.get("kind", ""))
        if resource is None:
            return False
        group, name = role_ref.get("apiGroup", ""), role_ref.get("name", "")
        asked = Attributes(user, "bind", group, "*", resource, namespace=namespace, name=name)
        return (await self._chain.authorize(asked)).allowed

    async def _role_rules(self, role_ref: dict[str, str], info: RequestInfo) -> Sequence[PolicyRule]:
        kind, name = role_ref.get("kind", ""), role_ref.get("name", "")
        if kind == "Role":
            role = await self._objects.get_live(ROLES, info.namespace, name)
        elif kind == "ClusterRole":
            role = await self._objects.get_live(CLUSTER_ROLES, "", name)
        else:
            raise errors.unknown(f"unsupported role reference kind: {quote(kind)}")
        if role is None:
            # Kubernetes looks the role up in the request's context, and so blames the request's resource.
            raise errors.not_found(info.group_resource, name)
        return role.get("rules") or ()

    def _not_held(self, user: UserInfo, info: RequestInfo, rules: Sequence[PolicyRule]) -> str:
        """What the user would grant without holding it, as the message says it; empty when nothing."""
        grants = self._rbac.grants(user, info.namespace)
        missing = covers(grants.rules, rules)
        if not missing:
            return ""
        lines = sorted({describe(rule) for rule in compact(missing)})
        text = (
            f"user {quote(user.name)} (groups={quoted_list(list(user.groups))}) is attempting to grant "
            "RBAC permissions not currently held:\n" + "\n".join(lines)
        )
        if grants.errors:
            # Here too the roles that were not found are named by the request's resource.
            lost = [_blame(error, info.group_resource) for error in grants.errors]
            text += f"; resolution errors: [{aggregate_texts(lost)}]"
        return text


def _blame(error: str, resource: str) -> str:
    kind, _, rest = error.partition(" ")
    return f"{resource} {rest}" if kind.endswith(f".{GROUP}") else error


def _has_aggregation(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def only_garbage_collected_fields_change(new: Object, old: Object) -> bool:
    """The garbage collector must be able to let go of roles that it could not write."""
    return _without_gc_fields(new) == _without_gc_fields(old)


def _without_gc_fields(obj: Object) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _GARBAGE_COLLECTED}
    return {**obj, "metadata": metadata}
