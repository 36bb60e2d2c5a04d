"""`componentstatuses`: the old way to ask whether the control plane is well. Read only, and deprecated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import PLAIN, MediaType
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.request import Request
from clusters.kube import errors

Object = dict[str, Any]
#: Whether a component is well, and what it says.
Check = Callable[[], tuple[bool, str]]

DEPRECATED = "v1 ComponentStatus is deprecated in v1.19+"
_PORTS = {"controller-manager": 10257, "scheduler": 10259}


def _unreachable(port: int) -> Check:
    text = f'Get "https://127.0.0.1:{port}/healthz": dial tcp 127.0.0.1:{port}: connect: connection refused'
    return lambda: (False, text)


class ComponentStatuses:
    """A component that nobody gave a check for is one that does not listen."""

    def __init__(self, checks: Mapping[str, Check] | None = None) -> None:
        self.checks: dict[str, Check] = {name: _unreachable(port) for name, port in _PORTS.items()}
        self.checks["etcd-0"] = lambda: (True, "ok")
        self.checks.update(checks or {})

    async def handle(self, request: Request, resource: Resource, media: MediaType) -> HttpResponse:
        request.warn(DEPRECATED)
        media = PLAIN if media.as_kind else media
        name = request.info.name
        if not name:
            items = [self._status(each) for each in self.checks]
            listed = {"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items}
            return respond.obj(request, 200, listed, media)
        if name not in self.checks:
            raise errors.not_found("componentstatus", name)
        found = {"kind": "ComponentStatus", "apiVersion": "v1", **self._status(name)}
        return respond.obj(request, 200, found, media)

    def _status(self, name: str) -> Object:
        well, text = self.checks[name]()
        condition = {"type": "Healthy", "status": "True" if well else "False", "message": text}
        return {"metadata": {"name": name}, "conditions": [condition]}
