"""What admission needs of the rest of the api-server: versions, decoding, authorization, Services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.build import build_chain
from clusters.emulated.apiserver.admission.chain import AdmissionChain
from clusters.emulated.apiserver.admission.matching import Resource
from clusters.emulated.apiserver.admission.policies.parameters import ParamResource
from clusters.emulated.apiserver.authorization.attributes import Attributes as AuthorizationAttributes
from clusters.emulated.apiserver.media import body as bodies
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.outbound.client import OutboundClient
from clusters.kube import errors
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.schema import DecodeError

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer

Object = dict[str, Any]


class AdmissionWiring:
    """Builds the chain of one api-server and answers what the plugins ask of it."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.outbound = OutboundClient(server.clock)

    def chain(self) -> AdmissionChain:
        server = self.server
        return build_chain(
            objects=server.objects,
            outbound=self.outbound,
            clock=server.clock,
            randomness=server.randomness,
            authorize=self.authorize,
            resolve_service=server.routes.resolve,
            convert=self.convert,
            redecode=self.redecode,
            equivalents=self.equivalents,
            resource_for_kind=self.resource_for_kind,
            object_type=self.object_type,
            make_caller=server.metrics.webhook_caller,
        )

    async def authorize(
        self, user: UserInfo, verb: str, group: str, resource: str, subresource: str, namespace: str, name: str
    ) -> bool:
        attributes = AuthorizationAttributes(
            user, verb, group=group, version="*", resource=resource, subresource=subresource,
            namespace=namespace, name=name,
        )  # fmt: skip
        return (await self.server.authorizers.authorize(attributes)).allowed

    def convert(self, obj: Object, group: str, version: str, kind: str) -> Object:
        """The object at another version of its group, complete as it would be written."""
        served = next(
            (
                each
                for each in self.server.registry
                if each.resource.kind == kind and (each.resource.group, each.resource.version) == (group, version)
            ),
            None,
        )
        api_version = f"{group}/{version}" if group else version
        if served is None:
            rest = {name: obj[name] for name in obj if name not in ("kind", "apiVersion")}
            return {"kind": kind, "apiVersion": api_version, **rest}
        return served.to_version(served.finish(dict(obj)))

    def redecode(self, attributes: Attributes, obj: Object) -> Object:
        """What a webhook or policy patched, read as if a client had sent it."""
        served = self.server.registry.find(attributes.group, attributes.version, attributes.resource)
        if served is None or attributes.subresource not in ("", "status", "ephemeralcontainers", "resize"):
            return obj
        version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
        if served.struct is not None and kind != served.resource.kind:
            problem = bodies.wrong_kind(served.resource, version, kind, self.server.catalogue)
            if problem is not None:
                raise errors.unknown(problem)
        try:
            decoded, _ = served.decode(obj)
        except DecodeError as error:
            raise ValueError(error.text) from None
        return decoded

    def equivalents(self, group: str, version: str, resource: str, subresource: str) -> Sequence[Resource]:
        registry = self.server.registry
        this = registry.find(group, version, resource)
        if this is None:
            return ()
        ways = []
        for each in registry:
            if each.storage_resource == this.storage_resource:
                found = each.resource
                kind_group, kind_version, kind = found.group, found.version, found.kind
                sub = found.subresource(subresource) if subresource else None
                if sub is not None:
                    kind_group, kind_version = sub.kind[0] or kind_group, sub.kind[1] or kind_version
                    kind = sub.kind[2] or kind
                ways.append(Resource(found.group, found.version, found.plural, kind, kind_group, kind_version))
        return ways

    def resource_for_kind(self, group: str, version: str, kind: str) -> ParamResource | None:
        for each in self.server.registry:
            resource = each.resource
            if (resource.group, resource.version, resource.kind) == (group, version, kind):
                return ParamResource(each.storage_resource, resource.namespaced)
        return None

    def object_type(self, group: str, version: str, kind: str) -> ObjectType | None:
        for each in self.server.registry:
            resource = each.resource
            if (resource.group, resource.version, resource.kind) == (group, version, kind):
                return each.apply_type
        return None
