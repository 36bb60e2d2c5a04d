"""Hops 4 and 6: real admission webhooks over HTTPS, behind a proxy, and everything that can be wrong with one.

with levers.webhooks.serve(WebhookSpec(failure_policy="Fail")):
    with levers.webhooks.network("policy.example.com", "down"):
        ...
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from clusters.base import Lever, Object, WebhookAnswer, WebhookSpec
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.levers.proxied import Neighbourhood, Standing
from clusters.emulated.levers.pulling import Counted
from clusters.emulated.levers.services import service_before
from clusters.lever_protocols import Defect

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
_JSON = [("Content-Type", "application/json")]


class Webhook:
    """Allows everything, and labels it if it mutates; unless it was told to answer otherwise."""

    def __init__(self, spec: WebhookSpec, neighbours: Neighbourhood, sleep: Any) -> None:
        self.spec = spec
        self.answer: WebhookAnswer | None = None
        self.hits = 0
        self._neighbours = neighbours
        self._sleep = sleep

    async def __call__(self, http: HttpRequest) -> HttpResponse:
        review = orjson.loads(http.body)
        answer = self.answer
        if answer is None:
            return self._reviewed(review, self._allowing(review["request"].get("object")))
        self.hits += 1
        if answer.mode == "slow":
            with self._neighbours.on_purpose():
                await self._sleep(answer.delay_s)
            return self._reviewed(review, self._allowing(review["request"].get("object")))
        if answer.mode == "http-status":
            return HttpResponse(answer.code, [("Content-Type", "text/plain")], answer.message.encode())
        if answer.mode == "malformed":
            return HttpResponse(200, _JSON, (answer.message or "{").encode())
        return self._reviewed(review, _otherwise(answer))

    def _allowing(self, obj: Object | None) -> Object:
        if self.spec.kind == "validating" or not self.spec.label or obj is None:
            return {"allowed": True}
        labels = {**(obj["metadata"].get("labels") or {}), self.spec.label: "yes"}
        return _patched(orjson.dumps([{"op": "add", "path": "/metadata/labels", "value": labels}]))

    @staticmethod
    def _reviewed(review: Object, response: Object) -> HttpResponse:
        head = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
        answered = {"uid": review["request"]["uid"], **response}
        return HttpResponse(200, _JSON, orjson.dumps({**head, "response": answered}))


def _otherwise(answer: WebhookAnswer) -> Object:
    if answer.mode == "wrong-uid":
        return {"uid": "00000000-0000-0000-0000-000000000000", "allowed": True}
    if answer.mode == "patch":
        return _patched(answer.patch.encode())
    status: Object = {"message": answer.message} if answer.message else {}
    if answer.code:
        status["code"] = answer.code
    if answer.reason:
        status["reason"] = answer.reason
    return {"allowed": False, "status": status}


def _patched(patch: bytes) -> Object:
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}


class WebhookLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster
        self._webhooks: dict[str, Webhook] = {}

    @contextmanager
    def serve(self, *specs: WebhookSpec) -> Iterator[None]:
        """Runs and registers these webhooks, each in a configuration of its own name."""
        with ExitStack() as ends:
            for spec in specs:
                ends.enter_context(self._served(spec))
            yield

    @contextmanager
    def _served(self, spec: WebhookSpec) -> Iterator[None]:
        cluster, neighbours = self._cluster, self._cluster.neighbours
        webhook = Webhook(spec, neighbours, cluster.clock.sleep)
        names = (f"{spec.service}.default.svc",) if spec.service else ()
        collection = f"{_CONFIGURATIONS}/{spec.kind}webhookconfigurations"
        with ExitStack() as ends:
            standing = ends.enter_context(neighbours.standing(spec.name, webhook, names))
            if spec.service:
                ends.enter_context(service_before(cluster, spec.service, standing.port))
            self._webhooks[spec.name] = webhook
            ends.callback(self._webhooks.pop, spec.name)
            ends.enter_context(cluster.levers.objects.present((collection, self._configuration(spec, standing))))
            yield

    def _configuration(self, spec: WebhookSpec, standing: Standing) -> Object:
        bundle = base64.b64encode(self._cluster.neighbours.authority.certificate_pem).decode()
        where: Object = {"url": f"https://127.0.0.1:{standing.port}/admit"}
        if spec.service:
            where = {"service": {"namespace": "default", "name": spec.service, "path": "/admit"}}
        rule = {
            "apiGroups": [*spec.groups],
            "apiVersions": ["*"],
            "operations": [*spec.operations],
            "resources": [*spec.resources],
        }
        webhook: Object = {
            "name": spec.name,
            "clientConfig": {**where, "caBundle": bundle},
            "rules": [rule],
            "failurePolicy": spec.failure_policy,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **spec.extra,
        }
        if spec.timeout_s is not None:
            webhook["timeoutSeconds"] = spec.timeout_s
        kind = "MutatingWebhookConfiguration" if spec.kind == "mutating" else "ValidatingWebhookConfiguration"
        api_version = "admissionregistration.k8s.io/v1"
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": spec.name}, "webhooks": [webhook]}

    @contextmanager
    def answers(self, name: str, answer: WebhookAnswer) -> Iterator[Lever]:
        """The webhook answers so instead of allowing."""
        webhook = self._webhooks[name]
        before, webhook.answer = webhook.answer, answer
        try:
            yield Counted(lambda: webhook.hits)
        finally:
            webhook.answer = before

    def certificate(self, name: str, defect: Defect) -> AbstractContextManager[Lever]:
        return self._cluster.neighbours.certificate(name, defect)

    def network(self, name: str, toxic: str, **attributes: float) -> AbstractContextManager[Lever]:
        return self._cluster.neighbours.network(name, toxic, **attributes)
