"""Which Pods stand behind a Service, and under which addresses and ports: the rule that Endpoints and
EndpointSlices share."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.resources import PODS, SERVICES
from clusters.kube import selectors

Object = dict[str, Any]


class ServiceFollower(Controller):
    """Is called for a Service whenever it or a Pod that it selects (or selected) changes."""

    def setup(self) -> None:
        self.services = self.informer(SERVICES)
        self.pods = self.informer(PODS)
        self.services.add_handler(self.enqueue, lambda _, new: self.enqueue(new), lambda gone, _: self.enqueue(gone))
        self.pods.add_handler(self._pod, self._pod_changed, lambda gone, _: self._pod(gone))

    def _pod(self, pod: Object) -> None:
        labels = pod["metadata"].get("labels") or {}
        for service in self.services.store.list(pod["metadata"]["namespace"]):
            selector = service["spec"].get("selector")
            if selector and selectors.from_map(selector).matches(labels):
                self.enqueue(service)

    def _pod_changed(self, old: Object, new: Object) -> None:
        self._pod(new)
        if old["metadata"].get("labels") != new["metadata"].get("labels"):
            self._pod(old)


def is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def is_terminating(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_finished(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def selected_pods(service: Object, pods: list[Object]) -> list[Object]:
    """The Pods of the namespace that the Service selects."""
    matches = selectors.from_map(service["spec"]["selector"]).matches
    return [pod for pod in pods if matches(pod["metadata"].get("labels") or {})]


def belongs(pod: Object, *, with_terminating: bool) -> bool:
    """A Pod counts once it has an address, until it is finished or (for Endpoints) on its way out."""
    if is_finished(pod) or not pod_addresses(pod):
        return False
    return with_terminating or not is_terminating(pod)


def pod_addresses(pod: Object) -> list[str]:
    status = pod.get("status") or {}
    several = [each["ip"] for each in status.get("podIPs") or () if each.get("ip")]
    return several or ([status["podIP"]] if status.get("podIP") else [])


def address_types(service: Object) -> list[str]:
    families = service["spec"].get("ipFamilies") or ()
    return [family for family in ("IPv4", "IPv6") if family in families] or ["IPv4"]


def addresses_of(pod: Object, address_type: str) -> list[str]:
    return [ip for ip in pod_addresses(pod) if (":" in ip) == (address_type == "IPv6")]


def ports_of(service: Object, pod: Object) -> list[Object]:
    """The Service's ports as this Pod serves them; a named target that the Pod does not have is left out."""
    found = []
    for port in service["spec"].get("ports") or ():
        number = _target(pod, port)
        if number is not None:
            each = {"name": port.get("name", ""), "protocol": port.get("protocol", "TCP"), "port": number}
            if port.get("appProtocol"):
                each["appProtocol"] = port["appProtocol"]
            found.append(each)
    return found


def _target(pod: Object, port: Object) -> int | None:
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    for container in (*spec["containers"], *sidecars):
        for each in container.get("ports") or ():
            if each.get("name") == target and each.get("protocol", "TCP") == port.get("protocol", "TCP"):
                number: int = each["containerPort"]
                return number
    return None


def has_hostname(service: Object, pod: Object) -> bool:
    spec = pod["spec"]
    return bool(spec.get("hostname")) and spec.get("subdomain") == service["metadata"]["name"]
