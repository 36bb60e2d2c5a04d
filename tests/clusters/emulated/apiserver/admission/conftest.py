"""A house with rules: objects in memory, a chain over them, and requests to try."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.build import build_chain
from clusters.emulated.apiserver.http import HttpRequest
from clusters.emulated.apiserver.request import Request, RequestInfo, UserInfo
from clusters.emulated.clock import RealClock
from clusters.emulated.clock.randomness import Randomness
from clusters.emulated.outbound.client import OutboundClient
from clusters.kube.errors import StatusError

Object = dict[str, Any]
Result = TypeVar("Result")
ADMIN = UserInfo("admin", groups=("system:masters", "system:authenticated"))


class StoredObjects:
    """`Objects` in a dict; what is put is at once in the cache and in the store."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self._revision = 0
        self._revisions: dict[str, int] = {}

    def put(self, resource: str, obj: Object) -> Object:
        self._revision += 1
        self._revisions[resource] = self._revision
        metadata = obj.setdefault("metadata", {})
        metadata["resourceVersion"] = str(self._revision)
        metadata.setdefault("uid", f"uid-{self._revision}")
        self._objects.setdefault(resource, {})[(metadata.get("namespace", ""), metadata["name"])] = obj
        return obj

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        return self._objects.get(resource, {}).get((namespace, name))

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        found = self._objects.get(resource, {})
        return [found[key] for key in sorted(found) if not namespace or key[0] == namespace]

    def revision_of(self, resource: str) -> int:
        return self._revisions.get(resource, 0)

    async def get_live(self, resource: str, namespace: str, name: str) -> Object | None:
        return self.get(resource, namespace, name)

    async def modify(
        self, resource: str, namespace: str, name: str, change: Callable[[Object], Object | None]
    ) -> Object | None:
        found = self.get(resource, namespace, name)
        changed = None if found is None else change(copy.deepcopy(found))
        return found if changed is None else self.put(resource, changed)

    async def create(self, resource: str, namespace: str, obj: Object) -> Object:
        return self.put(resource, obj)


class Time(RealClock):
    """The machine's time, but waiting for a default ServiceAccount takes none."""

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(0)


async def _read_nothing() -> bytes:
    return b""


class House:
    """`admit` and `validate` requests; keeps the last request's warnings and annotations."""

    def __init__(self) -> None:
        self.objects = StoredObjects()
        self.clock = Time()
        self.allowed: set[tuple[str, str, str]] = set()
        self.options: dict[str, Any] = {}
        self.request: Request
        self._chain: Any = None
        self.namespace("default")

    def namespace(self, name: str, phase: str = "Active", **labels: str) -> None:
        labels["kubernetes.io/metadata.name"] = name
        metadata = {"name": name, "labels": labels}
        self.objects.put("namespaces", {"metadata": metadata, "status": {"phase": phase}})
        self.objects.put("serviceaccounts", {"metadata": {"name": "default", "namespace": name}})

    async def _authorize(
        self,
        user: UserInfo,
        verb: str,
        group: str,
        resource: str,
        subresource: str,
        namespace: str,
        name: str,
    ) -> bool:
        return (user.name, verb, name) in self.allowed

    def attributes(
        self,
        obj: Object | None,
        *,
        operation: Any = "CREATE",
        group: str = "",
        version: str = "v1",
        resource: str = "pods",
        subresource: str = "",
        kind: str = "",
        namespace: str = "default",
        name: str | None = None,
        old: Object | None = None,
        user: UserInfo = ADMIN,
        dry_run: bool = False,
        options: Object | None = None,
    ) -> Attributes:
        some = obj or old or {}
        verb = operation.lower()
        info = RequestInfo(True, "/", verb, group=group, version=version, resource=resource, namespace=namespace)
        http = HttpRequest.__new__(HttpRequest)
        now_s = self.clock.monotonic_s()
        self.request = Request(http, info, {}, "audit", self.clock.now_s(), now_s + 34, user=user)
        if name is None:
            name = some.get("metadata", {}).get("name", "")
        return Attributes(
            operation, group, version, kind or some.get("kind", ""), resource, subresource, namespace, name,
            obj, old, options or {}, dry_run, user, self.request, bool(namespace),
        )  # fmt: skip

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run(work)

    async def _through(self, attributes: Attributes) -> Attributes:
        outbound = OutboundClient(RealClock())
        chain = build_chain(
            objects=self.objects,
            outbound=outbound,
            clock=self.clock,
            randomness=Randomness(7),
            authorize=self._authorize,
            **self.options,
        )
        try:
            await chain.admit(attributes)
            await chain.validate(attributes)
        finally:
            outbound.close()
        return attributes

    def admit(self, obj: Object | None, **how: Any) -> Object:
        """The object after both phases; raises the StatusError of whoever refused it."""
        attributes = self.attributes(obj, **how)
        return self.run(self._through(attributes)).object or {}

    def refusal(self, obj: Object | None, **how: Any) -> StatusError:
        with pytest.raises(StatusError) as caught:
            self.admit(obj, **how)
        return caught.value


@pytest.fixture
def house() -> House:
    return House()


def container(name: str = "c", **fields: Any) -> Object:
    return {"name": name, "image": "x", **fields}


def make_pod(name: str = "p", *containers: Object, namespace: str = "default", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": list(containers) or [container()], **spec},
    }


@pytest.fixture
def pod() -> Callable[..., Object]:
    return make_pod
