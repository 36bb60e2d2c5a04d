"""Finding the resource of an apiVersion and kind, and its scale subresource, as RESTMapper and scale client do."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.resources import Resource

Object = dict[str, Any]


class NoKindMatchError(Exception):
    """The api-server serves no such kind; the message is the RESTMapper's."""


class NoScaleError(Exception):
    """The resource exists and cannot be scaled."""


class ScaleTargets:
    """Remembers what it found: kinds of a served version do not change. What was not found is asked again."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._found: dict[tuple[str, str], tuple[Resource, bool]] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        return (await self._lookup(api_version, kind))[0]

    async def scale(self, api_version: str, kind: str, namespace: str, name: str) -> Object:
        """The Scale object. Raises `NoKindMatchError`, `NoScaleError`, `NotFound` or another `ApiFailure`."""
        resource, scalable = await self._lookup(api_version, kind)
        if not scalable:
            raise NoScaleError(f"{resource.group_resource} does not implement the scale subresource")
        return await self._api.document(resource.path(namespace, name, "scale"))

    async def _lookup(self, api_version: str, kind: str) -> tuple[Resource, bool]:
        found = self._found.get((api_version, kind))
        if found is not None:
            return found
        group, slash, version = api_version.rpartition("/")
        try:
            document = await self._api.document(f"/apis/{api_version}" if slash else f"/api/{version}")
        except NotFound:
            document = {}
        rows = document.get("resources") or []
        for row in rows:
            if row["kind"] == kind and "/" not in row["name"]:
                resource = Resource(group, version, row["name"], kind, row["namespaced"])
                scalable = any(each["name"] == f"{row['name']}/scale" for each in rows)
                self._found[(api_version, kind)] = (resource, scalable)
                return resource, scalable
        raise NoKindMatchError(f'no matches for kind "{kind}" in version "{api_version}"')
