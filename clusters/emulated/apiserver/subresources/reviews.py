"""Reviews: questions about credentials and permissions, answered in the object that asks them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.authentication.authenticator import Authenticator
from clusters.emulated.apiserver.authentication.reviews import self_subject_review, token_review
from clusters.emulated.apiserver.authorization.chain import AuthorizerChain
from clusters.emulated.apiserver.authorization.reviews import (
    local_subject_access_review,
    self_subject_access_review,
    self_subject_rules_review,
    subject_access_review,
)
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.registry.served import BuiltIn
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources.posted import Posting, posted_kind

Object = dict[str, Any]
Answer = Callable[[Object, Request], Awaitable[Object]]


class Reviews:
    def __init__(self, services: Services, authenticator: Authenticator, authorizers: AuthorizerChain) -> None:
        self._services = services
        self._authenticator = authenticator
        self._authorizers = authorizers
        self._kinds: dict[tuple[str, str], BuiltIn] = {}
        #: By GroupResource.
        self.answers: dict[str, Answer] = {
            "tokenreviews.authentication.k8s.io": self._token,
            "selfsubjectreviews.authentication.k8s.io": self._self,
            "subjectaccessreviews.authorization.k8s.io": self._subject_access,
            "localsubjectaccessreviews.authorization.k8s.io": self._local_access,
            "selfsubjectaccessreviews.authorization.k8s.io": self._self_access,
            "selfsubjectrulesreviews.authorization.k8s.io": self._self_rules,
        }

    async def handle(self, request: Request, resource: Resource, media: MediaType) -> HttpResponse:
        kind = self._kind(resource)
        posting = Posting(request, kind, self._services)
        review = await posting.admitted()
        await posting.validate(review)
        answered = await self.answers[resource.group_resource](review, request)
        return respond.obj(request, 201, kind.finish(answered), media)

    def _kind(self, resource: Resource) -> BuiltIn:
        found = self._kinds.get((resource.version, resource.kind))
        if found is None:
            found = posted_kind(self._services.catalogue, resource.group, resource.version, resource.kind)
            self._kinds[resource.version, resource.kind] = found
        return found

    async def _token(self, review: Object, request: Request) -> Object:
        return await token_review(review, self._authenticator)

    async def _self(self, review: Object, request: Request) -> Object:
        return self_subject_review(review, request.user, self._services.clock.now_s())

    async def _subject_access(self, review: Object, request: Request) -> Object:
        return await subject_access_review(review, self._authorizers)

    async def _local_access(self, review: Object, request: Request) -> Object:
        return await local_subject_access_review(review, request.info.namespace, self._authorizers)

    async def _self_access(self, review: Object, request: Request) -> Object:
        return await self_subject_access_review(review, request.user, self._authorizers)

    async def _self_rules(self, review: Object, request: Request) -> Object:
        return self_subject_rules_review(review, request.user, self._authorizers)
