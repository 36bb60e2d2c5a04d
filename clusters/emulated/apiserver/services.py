"""What the verbs work with: one bundle, built when the api-server is wired, handed to every handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.registry.hooks import NO_HOOKS, Hooks
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.clock import Clock, Randomness
from clusters.kube.apply.ownership import Convert
from clusters.kube.schema import Catalogue

Object = dict[str, Any]


def _no_converter(served: Served) -> Convert | None:
    return None


class Admission(Protocol):
    """Hops 4 and 6 as one object."""

    async def admit(self, attributes: Attributes) -> None: ...

    async def validate(self, attributes: Attributes) -> None: ...


class Authorize(Protocol):
    """Asks the authorization chain about something other than the request itself; raises 403."""

    async def __call__(self, user: UserInfo, request: Request, verb: str, served: Served, name: str) -> None: ...


@dataclass(slots=True)
class Services:
    clock: Clock
    randomness: Randomness
    catalogue: Catalogue
    admission: Admission
    authorize: Authorize
    #: By storage resource name (`pods`, `deployments.apps`).
    storages: dict[str, ResourceStorage]
    #: How server-side apply sees an object in other versions of its resource; None where there are none.
    converter: Callable[[Served], Convert | None] = _no_converter
    hooks: dict[str, Hooks] = field(default_factory=dict)

    def storage(self, served: Served) -> ResourceStorage:
        return self.storages[served.storage_resource]

    def hooks_of(self, served: Served) -> Hooks:
        return self.hooks.get(served.storage_resource, NO_HOOKS)
