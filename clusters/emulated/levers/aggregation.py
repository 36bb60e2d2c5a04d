"""An aggregated api-server beside the cluster: real HTTPS, behind a Service and an APIService."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

import orjson

from clusters.base import Lever
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.levers.services import service_before

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster

_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_SERVICE = "aggregated"


class AggregationLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster

    @contextmanager
    def serve(self, group: str, resource: str, kind: str) -> Iterator[None]:
        """Serves version v1 of a group with one resource, of which there is nothing."""
        discovery = {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/v1",
            "resources": [
                {"name": resource, "singularName": kind.lower(), "namespaced": False, "kind": kind, "verbs": ["list"]}
            ],
        }
        documents = {
            f"/apis/{group}/v1": discovery,
            f"/apis/{group}/v1/{resource}": {"kind": f"{kind}List", "apiVersion": f"{group}/v1", "items": []},
        }

        async def answer(http: HttpRequest) -> HttpResponse:
            found = documents.get(http.path)
            if found is None:
                return HttpResponse(404, [("Content-Type", "text/plain")], b"404 page not found\n")
            return HttpResponse(200, [("Content-Type", "application/json")], orjson.dumps(found))

        neighbours = self._cluster.neighbours
        spec = {
            "group": group,
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": base64.b64encode(neighbours.authority.certificate_pem).decode(),
            "service": {"namespace": "default", "name": _SERVICE, "port": 443},
        }
        registration = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1.{group}"},
            "spec": spec,
        }
        with ExitStack() as ends:
            standing = ends.enter_context(neighbours.standing(group, answer, (f"{_SERVICE}.default.svc",)))
            ends.enter_context(service_before(self._cluster, _SERVICE, standing.port))
            ends.enter_context(self._cluster.levers.objects.present((_API_SERVICES, registration)))
            yield

    def down(self, group: str) -> AbstractContextManager[Lever]:
        """Nobody listens where it was."""
        return self._cluster.neighbours.network(group, "down")
