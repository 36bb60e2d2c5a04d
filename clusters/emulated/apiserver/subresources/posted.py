"""Objects that are posted to be acted on and never stored: bindings, evictions, token requests, reviews."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.media import body as bodies
from clusters.emulated.apiserver.options import WriteOptions, write_options
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.registry.served import BuiltIn
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.validation.rules import KindRules
from clusters.emulated.apiserver.verbs.write import dedup_owners, manager_of, match_namespace
from clusters.emulated.clock.clock import rfc3339
from clusters.kube.apply import managed_fields
from clusters.kube.schema import Catalogue

Object = dict[str, Any]
_SYSTEM_FIELDS = ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


@lru_cache(maxsize=64)
def posted_kind(
    catalogue: Catalogue,
    group: str,
    version: str,
    kind: str,
    *,
    shape_of: str = "",
    default: Callable[[Object], None] | None = None,
) -> BuiltIn:
    """A kind that can be read from a body; `shape_of` is the version that it has the shape of, if not its own;
    `default` fills in what the API defaults."""
    struct = catalogue.kind(group, shape_of or version, kind)
    assert struct is not None, f"no shape of {group}/{version} {kind}"
    members: dict[str, Any] = {"group": group, "kind": kind}
    if default is not None:
        members["default"] = lambda rules, obj: default(obj)
    rules: KindRules = type(f"Posted{kind}Rules", (KindRules,), members)()
    resource = Resource(group, version, f"{kind.lower()}s", kind, kind.lower(), True, ("create",))
    return BuiltIn(resource, struct, rules)


class Posting:
    """One request that posts such an object: read it, have it admitted, act on it, `validate` before acting."""

    def __init__(self, request: Request, kind: BuiltIn, services: Services) -> None:
        self.request = request
        self.kind = kind
        self._services = services
        self.options: WriteOptions = WriteOptions("CreateOptions")

    async def admitted(self, *, keep_system_fields: bool = False) -> Object:
        """The posted object after mutating admission. Some kinds name what they are about by uid and
        resourceVersion, which are kept then."""
        request, kind = self.request, self.kind
        is_yaml = bodies.input_is_yaml(request)
        bodies.raw_body(request)
        self.options = options = write_options(request.query, "CreateOptions")
        strict = options.field_validation != "Ignore"
        obj, problems = bodies.read_object(
            request, kind, yaml=is_yaml, strict=strict, catalogue=self._services.catalogue
        )
        bodies.field_problems(request, options.field_validation, problems, kind, kind.resource.version)
        if not keep_system_fields:
            for name in _SYSTEM_FIELDS:
                obj["metadata"].pop(name, None)
        match_namespace(obj["metadata"], request.info.namespace)
        dedup_owners(request, obj, after_admission=False)
        obj = managed_fields.update(
            None,
            kind.finish(obj),
            manager_of(request, options),
            schema=kind.apply_type,
            api_version=kind.resource.group_version,
            subresource=request.info.subresource,
            now=rfc3339(self._services.clock.now_s()),
        )
        attributes = self._attributes({**obj, "metadata": dict(obj["metadata"])})
        await self._services.admission.admit(attributes)
        assert attributes.object is not None
        return attributes.object

    async def validate(self, obj: Object) -> None:
        await self._services.admission.validate(self._attributes(obj))

    def _attributes(self, obj: Object) -> Attributes:
        info = self.request.info
        return Attributes(
            operation="CREATE",
            group=info.group,
            version=info.version,
            kind=self.kind.resource.kind,
            resource=info.resource,
            subresource=info.subresource,
            namespace=info.namespace,
            name=info.name or obj["metadata"].get("name", ""),
            object=obj,
            old_object=None,
            options=self.options.as_object("CreateOptions"),
            dry_run=self.options.dry_run,
            user=self.request.user,
            request=self.request,
            namespaced=bool(info.namespace),
        )
