"""The way from the clients in this process to the api-server, on which requests can be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clusters.emulated.apiserver.http import Handler, HttpRequest, HttpResponse


@dataclass(eq=False)
class Interception:
    """Something done to requests on their way."""

    method: str
    path: str
    act: Callable[[HttpRequest], Any]
    fired: int = 0

    def meets(self, http: HttpRequest) -> bool:
        return (not self.method or self.method == http.method) and http.path.startswith(self.path)


class ClientWire:
    """Requests go through every interception that meets them, in the order in which these were added."""

    def __init__(self) -> None:
        self.interceptions: list[Interception] = []

    def to(self, handler: Handler) -> Handler:
        async def carry(http: HttpRequest) -> HttpResponse:
            for each in self.interceptions:
                if each.meets(http):
                    each.fired += 1
                    changed = await each.act(http)
                    http = changed or http
            return await handler(http)

        return carry
