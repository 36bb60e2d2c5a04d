"""Services get their cluster IPs, IP families and node ports when they are written, and give them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.registry.hooks.cluster_ips import AddressRefusedError, ClusterIps
from clusters.emulated.apiserver.registry.hooks.contract import Finish, Hooks, Object
from clusters.emulated.apiserver.registry.hooks.ip_families import initialize, keeps_preferred
from clusters.emulated.apiserver.registry.hooks.loopback import Loopback
from clusters.emulated.apiserver.registry.hooks.node_ports import NodePorts, PortOperation, PortRefusedError
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.validation.core.service_ips import (
    is_headless,
    keep_allocated,
    normalize_cluster_ips,
)
from clusters.emulated.apiserver.validation.core.service_types import needs_health_check, needs_node_port
from clusters.kube import errors
from clusters.kube.field import invalid
from clusters.kube.gostring import quote

Spec = Mapping[str, Any]


class ServiceHooks(Hooks):
    def __init__(self, cluster_ips: ClusterIps, node_ports: NodePorts, loopback: Loopback) -> None:
        self._cluster_ips = cluster_ips
        self._node_ports = node_ports
        self._loopback = loopback

    async def begin_create(self, request: Request, obj: Object, dry_run: bool) -> Finish:
        spec = obj["spec"] = dict(obj.get("spec") or {})
        normalize_cluster_ips(spec, None)
        initialize(obj, None, self._cluster_ips.families)
        ports = await self._begin_ports(spec, None, dry_run)
        allocation = _Allocation(self._cluster_ips, ports, dry_run)
        try:
            if spec.get("type") != "ExternalName" and not is_headless(spec):
                await allocation.all_addresses(obj)
            if ports is not None:
                _give_ports(obj, ports)
                if needs_health_check(spec):
                    _give_health_check_port(spec, ports)
        except BaseException:
            await allocation.finish(False)
            raise
        return allocation.finish

    async def begin_update(self, request: Request, obj: Object, old: Object, dry_run: bool) -> Finish:
        spec = obj["spec"] = dict(obj.get("spec") or {})
        stored = old.get("spec") or {}
        keep_allocated(spec, stored)
        normalize_cluster_ips(spec, stored)
        initialize(obj, stored, self._cluster_ips.families)
        ports = await self._begin_ports(spec, stored, dry_run)
        allocation = _Allocation(self._cluster_ips, ports, dry_run)
        try:
            await _update_addresses(obj, stored, allocation)
            if ports is not None:
                _update_ports(obj, stored, ports)
                if needs_health_check(spec) and not needs_health_check(stored):
                    _give_health_check_port(spec, ports)
        except BaseException:
            await allocation.finish(False)
            raise
        return allocation.finish

    async def _begin_ports(self, spec: Object, stored: Spec | None, dry_run: bool) -> PortOperation | None:
        """None where no port is to be given: most Services have a cluster IP and nothing else."""
        if not needs_node_port(spec):
            return None
        spec["ports"] = [dict(port) for port in spec.get("ports") or ()]
        return await self._node_ports.begin(dry_run)

    async def after_delete(self, obj: Object) -> None:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        try:
            # A Service that comes back under this name must not find the old one's Endpoints.
            await self._loopback.delete("endpoints", metadata["namespace"], metadata["name"])
        except errors.StatusError as error:
            if error.code != 404:
                raise
        if spec.get("type") != "ExternalName" and not is_headless(spec):
            for address in spec.get("clusterIPs") or ():
                await self._cluster_ips.release(address)


class _Allocation:
    """What one write takes and, once it is stored, gives back."""

    def __init__(self, cluster_ips: ClusterIps, ports: PortOperation | None, dry_run: bool) -> None:
        self._cluster_ips = cluster_ips
        self._ports = ports
        self._dry_run = dry_run
        self._taken: list[str] = []
        self.to_release: list[str] = []

    async def all_addresses(self, service: Object) -> None:
        spec = service["spec"]
        addresses = list(spec.get("clusterIPs") or ())
        for position, family in enumerate(spec["ipFamilies"]):
            if position >= len(addresses):
                addresses.append("")
            spec["clusterIPs"] = addresses
            addresses[position] = await self.address(service, family, addresses[position])
        spec["clusterIP"] = addresses[0]

    async def address(self, service: Object, family: str, wanted: str) -> str:
        try:
            address = await self._cluster_ips.allocate(service, family, wanted, self._dry_run)
        except AddressRefusedError as refused:
            name = service["metadata"].get("name", "")
            if refused.full and not wanted:
                raise errors.internal(f"failed to allocate a serviceIP for Service {quote(name)}: {refused}") from None
            text = f"failed to allocate IP {wanted}: {refused}" if wanted else f"failed to allocate IP: {refused}"
            problem = invalid("spec.clusterIPs", service["spec"].get("clusterIPs"), text)
            raise errors.invalid("Service", name, [problem]) from None
        if not self._dry_run:
            self._taken.append(address)
        return address

    async def finish(self, stored: bool) -> None:
        if self._ports is not None:
            self._ports.end()
        if self._dry_run:
            return
        for address in self.to_release if stored else self._taken:
            await self._cluster_ips.release(address)


async def _update_addresses(service: Object, stored: Spec, allocation: _Allocation) -> None:
    spec = service["spec"]
    if keeps_preferred(spec, stored):
        return
    was_named, is_named = stored.get("type") == "ExternalName", spec.get("type") == "ExternalName"
    if was_named and not is_named:
        if not is_headless(spec):
            await allocation.all_addresses(service)
        return
    if is_headless(stored) or (was_named and is_named):
        return
    if is_named:
        allocation.to_release += stored.get("clusterIPs") or ()
        return
    old, new = stored.get("ipFamilies") or [], spec.get("ipFamilies") or []
    if len(old) == 1 and len(new) == 2:
        addresses = [*(spec.get("clusterIPs") or ()), ""][:2]
        spec["clusterIPs"] = addresses
        addresses[1] = await allocation.address(service, new[1], addresses[1])
    elif len(old) == 2 and len(new) == 1:
        allocation.to_release.append(stored["clusterIPs"][1])


def _allocates_ports(spec: Spec) -> bool:
    return spec.get("type") == "NodePort" or bool(spec.get("allocateLoadBalancerNodePorts"))


def _give_ports(service: Object, ports: PortOperation) -> None:
    """Ports of the same number (TCP and UDP) share a node port, unless they ask for different ones."""
    spec = service["spec"]
    given: dict[int, int] = {}
    for position, port in enumerate(spec["ports"]):
        number, wanted = port.get("port", 0), port.get("nodePort", 0)
        if not wanted and not _allocates_ports(spec):
            continue
        shared = given.get(number, 0)
        if not shared:
            asked = next(
                (each["nodePort"] for each in spec["ports"] if each.get("port") == number and each.get("nodePort")), 0
            )
            if asked:
                _take(service, ports, position, asked)
            else:
                asked = _take_next(ports)
            port["nodePort"] = given[number] = asked
        elif not wanted:
            port["nodePort"] = shared
        elif wanted != shared:
            _take(service, ports, position, wanted)


def _update_ports(service: Object, stored: Spec, ports: PortOperation) -> None:
    spec = service["spec"]
    had = {port["nodePort"] for port in stored.get("ports") or () if port.get("nodePort")}
    taken: set[int] = set()
    seen: list[tuple[str, int]] = []
    for position, port in enumerate(spec["ports"]):
        wanted = port.get("nodePort", 0)
        if not wanted and not _allocates_ports(spec):
            continue
        if not wanted:
            wanted = port["nodePort"] = _take_next(ports)
        elif wanted not in had and wanted not in taken:
            _take(service, ports, position, wanted)
            taken.add(wanted)
        pair = (port.get("protocol", ""), wanted)
        if pair in seen:
            raise errors.unknown(f"duplicate nodePort: {{{pair[0]} {pair[1]}}}")
        seen.append(pair)


def _take(service: Object, ports: PortOperation, position: int, port: int) -> None:
    try:
        ports.allocate(port)
    except PortRefusedError as refused:
        problem = invalid(f"spec.ports[{position}].nodePort", port, str(refused))
        raise errors.invalid("Service", service["metadata"].get("name", ""), [problem]) from None


def _take_next(ports: PortOperation) -> int:
    try:
        return ports.allocate_next()
    except PortRefusedError as refused:
        raise errors.internal(f"failed to allocate a nodePort: {refused}") from None


def _give_health_check_port(spec: Object, ports: PortOperation) -> None:
    wanted = spec.get("healthCheckNodePort", 0)
    try:
        if wanted:
            ports.allocate(wanted)
        else:
            spec["healthCheckNodePort"] = ports.allocate_next()
    except PortRefusedError as refused:
        what = f"requested HealthCheck NodePort {wanted}" if wanted else "a HealthCheck NodePort 0"
        raise errors.internal(f"failed to allocate {what}: {refused}") from None
