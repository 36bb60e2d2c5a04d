"""The admission chain: plugins in order, a mutating pass (hop 4) and a validating pass (hop 6).

The mutating pass runs a second time when a webhook or a mutating policy changed the object; see
`reinvocation`. Which plugins look at an operation on a resource is worked out once and kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.reinvocation import Reinvocation

_Plugins = tuple[AdmissionPlugin, ...]
# Custom resources come and go; the routing table is emptied rather than left to grow with them.
_ROUTES_MAX = 10_000


class AdmissionChain:
    """`admit` before validation of the object, `validate` after it. Both raise the first StatusError."""

    def __init__(self, plugins: Sequence[AdmissionPlugin]) -> None:
        self.plugins: _Plugins = tuple(plugins)
        self._admitting = _overriding(self.plugins, "admit")
        self._validating = _overriding(self.plugins, "validate")
        self._admit_routes: dict[tuple[str, str, str], _Plugins] = {}
        self._validate_routes: dict[tuple[str, str, str], _Plugins] = {}

    async def admit(self, attributes: Attributes) -> None:
        key = (attributes.operation, attributes.group, attributes.resource)
        plugins = self._admit_routes.get(key)
        if plugins is None:
            plugins = _route(self._admit_routes, key, self._admitting, attributes)
        reinvocation = attributes.reinvocation
        if reinvocation is None:
            reinvocation = attributes.reinvocation = Reinvocation()
        for plugin in plugins:
            await plugin.admit(attributes)
        if reinvocation.should_reinvoke:
            reinvocation.is_reinvoke = True
            for plugin in plugins:
                await plugin.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        key = (attributes.operation, attributes.group, attributes.resource)
        plugins = self._validate_routes.get(key)
        if plugins is None:
            plugins = _route(self._validate_routes, key, self._validating, attributes)
        for plugin in plugins:
            await plugin.validate(attributes)


def _overriding(plugins: _Plugins, method: str) -> _Plugins:
    return tuple(plugin for plugin in plugins if getattr(type(plugin), method) is not getattr(AdmissionPlugin, method))


def _route(
    routes: dict[tuple[str, str, str], _Plugins],
    key: tuple[str, str, str],
    plugins: _Plugins,
    attributes: Attributes,
) -> _Plugins:
    if len(routes) >= _ROUTES_MAX:
        routes.clear()
    resource = attributes.group_resource
    chosen = routes[key] = tuple(
        plugin
        for plugin in plugins
        if attributes.operation in plugin.operations and (plugin.resources is None or resource in plugin.resources)
    )
    return chosen
