"""Custom resources have APIServices too: local ones, which come and go with the versions that are served."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clusters.kube import errors

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer

Object = dict[str, Any]

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_API_SERVICES = "apiservices.apiregistration.k8s.io"
_MANAGED = "kube-aggregator.kubernetes.io/automanaged"


def desired(group: str, definitions: list[Object]) -> dict[str, Object]:
    """By name: the APIServices that the definitions of a group ask for."""
    versions = {
        version["name"]
        for crd in definitions
        if crd["spec"]["group"] == group
        for version in crd["spec"].get("versions") or ()
        if version.get("served")
    }
    return {
        f"{version}.{group}": {
            "kind": "APIService",
            "apiVersion": "apiregistration.k8s.io/v1",
            "metadata": {"name": f"{version}.{group}", "labels": {_MANAGED: "true"}},
            "spec": {"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100},
        }
        for version in sorted(versions)
    }


class Autoregistration:
    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def sync(self, group: str) -> None:
        """Creates what is missing, mends what was changed, deletes what nobody asks for any more."""
        objects, loopback = self._server.objects, self._server.registry_wiring.loopback
        wanted = desired(group, list(objects.list(_DEFINITIONS)))
        present = {
            each["metadata"]["name"]: each
            for each in objects.list(_API_SERVICES)
            if each["spec"].get("group", "") == group
        }
        for name, service in wanted.items():
            known = present.get(name)
            if known is None:
                await self._create(service)
            elif _is_managed(known) and known["spec"] != service["spec"]:
                await loopback.update(_API_SERVICES, "", name, _with_spec(service["spec"]))
        for name, known in present.items():
            if name not in wanted and _is_managed(known):
                try:
                    await loopback.delete(_API_SERVICES, "", name)
                except errors.StatusError as error:
                    if error.code != 404:
                        raise

    async def _create(self, service: Object) -> None:
        try:
            await self._server.registry_wiring.loopback.create(_API_SERVICES, "", service)
        except errors.StatusError as error:
            if error.reason != "AlreadyExists":  # Another replica was faster.
                raise


def _with_spec(spec: Object) -> Callable[[Object], Object]:
    return lambda now: {**now, "spec": spec}


def _is_managed(service: Object) -> bool:
    return (service["metadata"].get("labels") or {}).get(_MANAGED) == "true"
