"""Hop 5: what is served, and how versions are converted."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson

from clusters.base import Lever, Object
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.levers.pulling import Count, in_loop

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster

_CONVERTER = "converter"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class SchemaLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster

    @contextmanager
    def unserved(self, group: str) -> Iterator[Lever]:
        """An API group is switched off, as by --runtime-config."""
        registries = [replica.registry for replica in self._cluster.plane.replicas]
        gone = [(registry, each) for registry in registries for each in registry if each.resource.group == group]

        def remove() -> None:
            for registry, each in gone:
                registry.remove(each.resource.group, each.resource.version, each.resource.plural)

        in_loop(self._cluster.run, remove)
        try:
            yield Count(len(gone))
        finally:
            in_loop(self._cluster.run, lambda: [registry.add(each) for registry, each in gone])  # type: ignore[func-returns-value]

    @contextmanager
    def conversion(self, definition: Object) -> Iterator[None]:
        """Creates a CustomResourceDefinition whose webhook renames the version and nothing else."""
        neighbours = self._cluster.neighbours
        with neighbours.standing(_CONVERTER, _convert, ()) as standing:
            bundle = base64.b64encode(neighbours.authority.certificate_pem).decode()
            client = {"url": f"https://127.0.0.1:{standing.port}/convert", "caBundle": bundle}
            webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
            spec = {**definition["spec"], "conversion": {"strategy": "Webhook", "webhook": webhook}}
            with self._cluster.levers.objects.present((_DEFINITIONS, {**definition, "spec": spec})):
                yield

    @contextmanager
    def conversion_down(self) -> Iterator[Lever]:
        """Nobody listens where the conversion webhook was."""
        with self._cluster.neighbours.network(_CONVERTER, "down") as lever:
            yield lever


async def _convert(http: HttpRequest) -> HttpResponse:
    review = orjson.loads(http.body)
    asked = review["request"]
    converted = [{**each, "apiVersion": asked["desiredAPIVersion"]} for each in asked["objects"]]
    response = {"uid": asked["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
    head = {"kind": review["kind"], "apiVersion": review["apiVersion"]}
    return HttpResponse(200, [("Content-Type", "application/json")], orjson.dumps({**head, "response": response}))
