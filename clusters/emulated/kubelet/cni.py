"""The network of one node's Pods: addresses from the node's range, given by ADD and taken back by DEL.

Levers: `fail_add` (the plugin fails; DEL too, unless told otherwise), `plugin_missing`, `conf_removed`.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_network

from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.store.levers import Lever

NOT_INITIALIZED = "cni plugin not initialized"


class CniError(Exception):
    """The plugin failed; the text is what the container runtime reports after `…network for sandbox "id": `."""


class Cni:
    def __init__(self, pod_cidr: str) -> None:
        self.pod_cidr = pod_cidr
        self._free: list[str] = []
        self._next = 0
        self._addresses: dict[str, str] = {}
        self._faults = Faults()
        #: Told when the network may have become ready, or not ready.
        self.condition_changed: Callable[[], None] = lambda: None

    # Levers

    def fail_add(self, message: str = "no addresses", *, delete_works: bool = False) -> Lever:
        """ADD fails with this message; DEL as well, unless `delete_works`."""
        return self._faults.pull("add", ("add only" if delete_works else "both", message))

    def plugin_missing(self) -> Lever:
        """The plugin's binary is gone: ADD and DEL cannot be called."""
        return self._faults.pull("add", ("missing", ""))

    def conf_removed(self) -> Lever:
        """No network configuration: the runtime reports its network as not ready."""
        return self._faults.pull("conf", changed=lambda: self.condition_changed())

    # For the runtime

    @property
    def ready(self) -> bool:
        return self._faults.match("conf") is None

    @property
    def not_ready_message(self) -> str:
        return f"Network plugin returns error: {NOT_INITIALIZED}"

    def add(self, sandbox_id: str) -> str:
        self._require_conf()
        fault = self._faults.match("add")
        if fault is not None:
            raise CniError(_plugin_error(fault, "add"))
        address = self._free.pop() if self._free else self._fresh()
        self._addresses[sandbox_id] = address
        return address

    def delete(self, sandbox_id: str) -> None:
        self._require_conf()
        fault = self._faults.match("add")
        if fault is not None and fault[0] != "add only":
            raise CniError(_plugin_error(fault, "delete"))
        address = self._addresses.pop(sandbox_id, None)
        if address is not None:
            self._free.insert(0, address)  # Used again as late as possible.

    def _require_conf(self) -> None:
        if self._faults.match("conf") is not None:
            raise CniError(NOT_INITIALIZED)

    def _fresh(self) -> str:
        network = ip_network(self.pod_cidr)
        self._next += 1
        if self._next + 1 >= network.num_addresses - 1:
            raise CniError(
                f'plugin type="bridge" failed (add): failed to allocate for range 0: no IP addresses available in '
                f"range set: {network[1]}-{network[-2]}"
            )
        return str(network[self._next + 1])


def _plugin_error(fault: tuple[str, str], verb: str) -> str:
    kind, message = fault
    if kind == "missing":
        message = 'failed to find plugin "bridge" in path [/opt/cni/bin]'
    return f'plugin type="bridge" failed ({verb}): {message}'
