"""Cluster IPs: one IPAddress object per address, so that the store itself keeps anybody from getting one twice.

Addresses come from the ready ServiceCIDRs. Of each range the lower part is for those who choose an address
themselves, and is given out only when the rest is full.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.registry.hooks.contract import Object
from clusters.emulated.apiserver.registry.hooks.loopback import Loopback
from clusters.emulated.clock import Randomness
from clusters.kube import errors
from clusters.kube.ipaddr import parse_cidr, parse_ip

SERVICE_CIDRS = "servicecidrs.networking.k8s.io"
IP_ADDRESSES = "ipaddresses.networking.k8s.io"

ALLOCATED = "provided IP is already allocated"
FULL = "range is full"
MISMATCHED = "the provided network does not match the current range"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefusedError(Exception):
    """The text says why; `full` when it is nobody's fault."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.full = text == FULL


class ClusterIps:
    """`cidrs` are the api-server's own ranges: they say which IP families the cluster has, the first by default."""

    def __init__(self, cidrs: tuple[str, ...], objects: Objects, loopback: Loopback, randomness: Randomness) -> None:
        self._own = [network for network in map(parse_cidr, cidrs) if network is not None]
        self._objects = objects
        self._loopback = loopback
        self._randomness = randomness
        self.families = tuple(f"IPv{network.version}" for network in self._own)

    async def allocate(self, service: Object, family: str, address: str, dry_run: bool) -> str:
        """`address`, or any when it is empty, now belongs to the Service."""
        networks = [network for network in self._networks() if f"IPv{network.version}" == family]
        if dry_run:
            return _dry(networks, address)
        if address:
            wanted = parse_ip(address)
            if wanted is None or not any(_contains(network, wanted) for network in networks):
                raise AddressRefusedError(MISMATCHED)
            await self._create(str(wanted), family, service)
            return address
        for network in networks:
            for candidate in self._candidates(network):
                name = str(candidate)
                if self._objects.get(IP_ADDRESSES, "", name) is not None:
                    continue
                try:
                    await self._create(name, family, service)
                except AddressRefusedError as refused:
                    if str(refused) != ALLOCATED:
                        raise  # No other address would be taken either.
                    continue  # Somebody was faster.
                return name
        raise AddressRefusedError(FULL)

    async def release(self, address: str) -> None:
        parsed = parse_ip(address)
        try:
            await self._loopback.delete(IP_ADDRESSES, "", str(parsed or address))
        except errors.StatusError as error:
            if error.code != 404:
                raise

    def _networks(self) -> list[Network]:
        """Of the ServiceCIDRs that are ready; of the api-server's own flag before there is any."""
        stored = self._objects.list(SERVICE_CIDRS)
        if not stored:
            return list(self._own)
        found = []
        for each in stored:
            if each["metadata"].get("deletionTimestamp") or not _ready(each):
                continue
            found += [parse_cidr(text) for text in (each.get("spec") or {}).get("cidrs") or ()]
        return [network for network in found if network is not None]

    def _candidates(self, network: Network) -> Iterator[Address]:
        """All addresses of the range in the order in which they are tried."""
        first = int(network.network_address) + 1
        last = int(network.broadcast_address) - (1 if network.version == 4 else 0)
        static = _static_size(network)
        kind = type(network.network_address)
        for low, high in ((first + static, last), (first, first + static - 1)):
            size = high - low + 1
            if size <= 0:
                continue
            start = int(self._randomness.fraction() * size)
            for step in range(size):
                yield kind(low + (start + step) % size)

    async def _create(self, name: str, family: str, service: Object) -> None:
        metadata = service["metadata"]
        obj: Object = {
            "kind": "IPAddress",
            "apiVersion": "networking.k8s.io/v1",
            "metadata": {
                "name": name,
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": family,
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                },
            },
            "spec": {
                "parentRef": {
                    "resource": "services",
                    "namespace": metadata.get("namespace", ""),
                    "name": metadata.get("name", ""),
                }
            },
        }
        try:
            await self._loopback.create(IP_ADDRESSES, "", obj)
        except errors.StatusError as error:
            text = ALLOCATED if error.reason == "AlreadyExists" else error.message
            raise AddressRefusedError(text) from None


def _dry(networks: list[Network], address: str) -> str:
    """A dry run does not look for a free address: it shows the range's own."""
    if not networks:
        raise AddressRefusedError(FULL)
    network = networks[0]
    if not address:
        return str(network.network_address)
    wanted = parse_ip(address)
    if wanted is None or not _contains(network, wanted):
        text = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {network}"
        raise AddressRefusedError(text)
    return address


def _contains(network: Network, address: Address) -> bool:
    """Neither the network's own address nor, for IPv4, that of broadcasts can be given out."""
    if address.version != network.version or int(address) <= int(network.network_address):
        return False
    last = int(network.broadcast_address) - (1 if network.version == 4 else 0)
    return int(address) <= last


def _static_size(network: Network) -> int:
    if network.num_addresses <= 16:
        return 0
    return min(max(16, network.num_addresses // 16), 256)


def _ready(service_cidr: Object) -> bool:
    for condition in (service_cidr.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            return bool(condition.get("status") == "True")
    return True
