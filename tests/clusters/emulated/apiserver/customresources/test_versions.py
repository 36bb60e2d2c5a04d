"""Several versions of one resource: renamed, or converted by a webhook."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.transport.https import HttpsServer
from clusters.emulated.transport.inprocess import InProcess
from clusters.emulated.transport.pki import CertificateAuthority
from tests.clusters.emulated.apiserver.customresources.conftest import (
    ADMIN,
    DEFINITIONS,
    GROUP,
    Shop,
    definition,
    spec_schema,
    version,
)

Object = dict[str, Any]
TEXT = {"type": "string"}


def test_without_a_webhook_only_the_version_changes_and_its_schema_prunes(shop: Shop) -> None:
    old = version("v1beta1", spec_schema(color=TEXT, paint=TEXT), storage=False)
    new = version("v1", spec_schema(color=TEXT, size={"type": "integer", "default": 3}))
    shop.define(definition("carts", "Cart", old, new))
    code, made = shop.make("carts", "Cart", "one", "v1beta1", spec={"color": "red", "paint": "matt"})
    assert (code, made["apiVersion"], made["spec"]) == (201, f"{GROUP}/v1beta1", {"color": "red"})
    _, seen = shop("GET", f"{shop.path('carts', 'v1')}/one")
    assert (seen["apiVersion"], seen["spec"]) == (f"{GROUP}/v1", {"color": "red", "size": 3})
    _, group = shop("GET", f"/apis/{GROUP}")
    assert [each["version"] for each in group["versions"]] == ["v1", "v1beta1"]


def test_a_deprecated_version_warns_at_every_request(shop: Shop) -> None:
    schema = spec_schema(color=TEXT)
    old = version("v1beta1", schema, storage=False, deprecated=True)
    shop.define(definition("carts", "Cart", old, version("v1", schema)))
    shop("GET", shop.path("carts", "v1beta1"))
    assert shop.warnings == [f'299 - "{GROUP}/v1beta1 Cart is deprecated; use {GROUP}/v1 Cart"']
    shop("GET", shop.path("carts", "v1"))
    assert shop.warnings == []


def test_a_new_storage_version_is_remembered_beside_the_old_one(shop: Shop) -> None:
    schema = spec_schema(color=TEXT)
    crd = shop.define(definition("carts", "Cart", version("v1", schema)))
    crd["spec"]["versions"][0]["storage"] = False
    crd["spec"]["versions"].append(version("v2", schema))
    _, changed = shop("PUT", f"{DEFINITIONS}/carts.{GROUP}", crd)
    assert changed["status"]["storedVersions"] == ["v1", "v2"]


# Conversion by a webhook: v1 has spec.color, v2 has spec.paint.


class Converter:
    """A webhook that renames the field; what it answers can be bent."""

    def __init__(self) -> None:
        self.reviews: list[Object] = []
        self.bend: Callable[[Object], Object] = lambda answer: answer

    async def __call__(self, http: HttpRequest) -> HttpResponse:
        review = json.loads(http.body)
        self.reviews.append(review)
        asked = review["request"]
        converted = [self._convert(each, asked["desiredAPIVersion"]) for each in asked["objects"]]
        response = {"uid": asked["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
        head = {"kind": review["kind"], "apiVersion": review["apiVersion"]}
        answer = self.bend({**head, "response": response})
        return HttpResponse(200, [("Content-Type", "application/json")], json.dumps(answer).encode())

    @staticmethod
    def _convert(obj: Object, wanted: str) -> Object:
        new, old = ("paint", "color") if wanted.endswith("/v2") else ("color", "paint")
        spec = {new if name == old else name: value for name, value in obj.get("spec", {}).items()}
        return {**obj, "apiVersion": wanted, "spec": spec}


@pytest.fixture
def converter(shop: Shop) -> Iterator[Converter]:
    """Defines carts in v1 (stored) and v2, with a webhook between them."""
    authority = CertificateAuthority("webhooks", shop.server.clock.now_s())
    serving = authority.server("webhook", addresses=["127.0.0.1"])
    webhook = Converter()
    listener = HttpsServer(webhook, serving.server_context())
    shop.run(listener.start())
    config = {
        "url": f"https://127.0.0.1:{listener.port}/convert",
        "caBundle": base64.b64encode(authority.certificate_pem).decode(),
    }
    conversion = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config},
    }
    stored = version("v1", spec_schema(color=TEXT))
    other = version("v2", spec_schema(paint=TEXT), storage=False)
    shop.define(definition("carts", "Cart", stored, other, conversion=conversion))
    yield webhook
    shop.run(listener.stop())


def test_a_webhook_converts_what_is_written_and_what_is_read(shop: Shop, converter: Converter) -> None:
    code, made = shop.make("carts", "Cart", "one", "v2", spec={"paint": "red"})
    assert (code, made["apiVersion"], made["spec"]) == (201, f"{GROUP}/v2", {"paint": "red"})
    assert shop("GET", f"{shop.path('carts', 'v1')}/one")[1]["spec"] == {"color": "red"}
    assert shop("GET", f"{shop.path('carts', 'v2')}/one")[1]["spec"] == {"paint": "red"}
    _, patched = shop("PATCH", f"{shop.path('carts', 'v2')}/one", {"spec": {"paint": "blue"}}, "merge")
    assert (patched["spec"], patched["metadata"]["generation"]) == ({"paint": "blue"}, 2)
    assert shop("GET", f"{shop.path('carts', 'v1')}/one")[1]["spec"] == {"color": "blue"}


def test_a_list_is_converted_in_one_call(shop: Shop, converter: Converter) -> None:
    for name in ("a", "b", "c"):
        shop.make("carts", "Cart", name, spec={"color": name})
    assert converter.reviews == []  # What is asked for and stored in the same version needs no webhook.
    _, listed = shop("GET", shop.path("carts", "v2"))
    assert [each["spec"]["paint"] for each in listed["items"]] == ["a", "b", "c"]
    assert [len(each["request"]["objects"]) for each in converter.reviews] == [3]


def test_a_watch_is_converted_in_order(shop: Shop, converter: Converter) -> None:
    async def watched() -> list[Object]:
        target = f"{shop.path('carts', 'v2')}?watch=1&timeoutSeconds=1&resourceVersion=0"
        reply = await InProcess(shop.server).request("GET", target, identity=ADMIN)
        text = b"".join([chunk async for chunk in reply.chunks()])
        return [json.loads(line) for line in text.splitlines()]

    for name in ("a", "b"):
        shop.make("carts", "Cart", name, spec={"color": name})
    events = shop.run(watched())
    assert [each["object"]["spec"] for each in events] == [{"paint": "a"}, {"paint": "b"}]


def _response(**changed: Any) -> Callable[[Object], Object]:
    return lambda answer: {**answer, "response": {**answer["response"], **changed}}


def _objects(**changed: Any) -> Callable[[Object], Object]:
    def bend(answer: Object) -> Object:
        objects = [{**each, **changed} for each in answer["response"]["convertedObjects"]]
        return {**answer, "response": {**answer["response"], "convertedObjects": objects}}

    return bend


@pytest.mark.parametrize(
    ("bend", "text"),
    [
        (_response(result={"status": "Failure", "message": "no paint"}), "failed: no paint"),
        (_response(result={"status": "Failure"}), "failed: response.result.status was 'Failure', not 'Success'"),
        (_response(uid="x"), 'got "x"'),
        (_response(convertedObjects=[]), "returned 0 objects, expected 1"),
        (lambda answer: {**answer, "response": None}, "failed: no response provided"),
        (lambda answer: {**answer, "kind": "Other"}, "got apiextensions.k8s.io/v1, Kind=Other"),
        (_objects(apiVersion="a/v1"), f"invalid groupVersion (expected {GROUP}/v2, received a/v1)"),
        (_objects(kind="Car"), "invalid kind (expected Cart, received Car)"),
        (_objects(metadata={"name": "b"}), "must have the same name: one != b"),
    ],
)
def test_an_answer_that_does_not_fit_is_told(
    shop: Shop, converter: Converter, bend: Callable[[Object], Object], text: str
) -> None:
    shop.make("carts", "Cart", "one", spec={"color": "red"})
    converter.bend = bend
    code, refused = shop("GET", f"{shop.path('carts', 'v2')}/one")
    assert code == 500
    assert refused["message"].startswith(f"conversion webhook for {GROUP}/v1, Kind=Cart ")
    assert text in refused["message"]


def test_a_webhook_may_change_labels_but_no_other_metadata(shop: Shop, converter: Converter) -> None:
    _, made = shop.make("carts", "Cart", "one", spec={"color": "red"})

    def bend(answer: Object) -> Object:
        for each in answer["response"]["convertedObjects"]:
            each["metadata"] = {**each["metadata"], "labels": {"from": "v1"}, "generation": 99}
        return answer

    converter.bend = bend
    _, seen = shop("GET", f"{shop.path('carts', 'v2')}/one")
    assert seen["metadata"]["labels"] == {"from": "v1"}
    assert seen["metadata"]["generation"] == made["metadata"]["generation"]


def test_a_webhook_that_is_away(shop: Shop) -> None:
    conversion = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"}},
    }
    stored, other = version("v1", spec_schema(color=TEXT)), version("v2", spec_schema(paint=TEXT), storage=False)
    shop.define(definition("carts", "Cart", stored, other, conversion=conversion))
    shop.make("carts", "Cart", "one", spec={"color": "red"})
    code, refused = shop("GET", f"{shop.path('carts', 'v2')}/one")
    refusal = 'Post "https://127.0.0.1:1/convert?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused'
    assert (code, refused["message"]) == (500, f"conversion webhook for {GROUP}/v1, Kind=Cart failed: {refusal}")
