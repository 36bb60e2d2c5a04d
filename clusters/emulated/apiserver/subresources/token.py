"""`serviceaccounts/…/token`: a TokenRequest is answered with a token."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.authentication.jwt import SigningKey
from clusters.emulated.apiserver.authentication.token_issuer import (
    DEFAULT_EXPIRATION_S,
    Bound,
    IssuerOptions,
    bound_resource,
    check_bound,
    issue_token,
    prepare,
)
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources.posted import Posting, posted_kind
from clusters.emulated.apiserver.verbs.write import store_failure
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors

Object = dict[str, Any]
ISSUED_ID = "authentication.kubernetes.io/issued-credential-id"


def _default(token_request: Object) -> None:
    spec = token_request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = DEFAULT_EXPIRATION_S


class TokenSubresource:
    def __init__(self, services: Services, objects: Objects, key: SigningKey, options: IssuerOptions) -> None:
        self._services = services
        self._objects = objects
        self._key = key
        self._options = options
        group = "authentication.k8s.io"
        self._kind = posted_kind(services.catalogue, group, "v1", "TokenRequest", default=_default)

    async def handle(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        posting = Posting(request, self._kind, self._services)
        asked = await posting.admitted(keep_system_fields=True)
        info, now_s = request.info, self._services.clock.now_s()
        account = await self._live("serviceaccounts", info.namespace, info.name)
        prepared = prepare(asked, account, info.name, self._options, now_s)
        await posting.validate(prepared)
        bound = await self._bound(prepared, info.namespace, info.name)
        uid = self._services.randomness.uid()
        issued = issue_token(prepared, account, bound, self._key, self._options, uid, now_s)
        for warning in issued.warnings:
            request.warn(warning)
        request.audit_annotations[ISSUED_ID] = issued.credential_id
        return respond.obj(request, 201, self._kind.finish(issued.token_request), media)

    async def _bound(self, token_request: Object, namespace: str, account: str) -> Bound:
        reference = token_request["spec"].get("boundObjectRef")
        if not reference:
            return Bound()
        resource, name = bound_resource(reference), reference.get("name", "")
        found = await self._live(resource, "" if resource == "nodes" else namespace, name)
        check_bound(reference, found, account)
        if resource == "secrets":
            return Bound(secret=found)
        if resource == "nodes":
            return Bound(node=found)
        node_name = (found.get("spec") or {}).get("nodeName")
        if not node_name:
            return Bound(pod=found)
        node = self._objects.get("nodes", "", node_name) or await self._objects.get_live("nodes", "", node_name)
        # A node that is not there (yet) is still named in the token.
        return Bound(pod=found, node=node or {"metadata": {"name": node_name}})

    async def _live(self, resource: str, namespace: str, name: str) -> Object:
        try:
            found = await self._objects.get_live(resource, namespace, name)
        except store_errors.StoreError as error:
            raise store_failure(error) from error
        if found is None:
            raise errors.not_found(resource, name)
        return found
