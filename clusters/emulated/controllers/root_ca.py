"""Every namespace has a ConfigMap kube-root-ca.crt with the CA that Pods verify the api-server by."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import AlreadyExists, Forbidden, NotFound
from clusters.emulated.client.resources import CONFIG_MAPS, NAMESPACES

Object = dict[str, Any]

NAME = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as "
    "the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
    "Kubernetes clusters."
)


class RootCaPublisher(Controller):
    """The CA is the one that the api-server itself publishes for extension servers."""

    name = "root-ca-certificate-publisher-controller"
    service_account = "root-ca-cert-publisher"

    def setup(self) -> None:
        self._namespaces = self.informer(NAMESPACES)
        self._maps = self.informer(CONFIG_MAPS)
        self._namespaces.add_handler(self.enqueue, lambda _, new: self.enqueue(new))
        self._maps.add_handler(None, lambda _, new: self._changed(new), lambda gone, _: self._changed(gone))

    def _changed(self, config_map: Object) -> None:
        metadata = config_map["metadata"]
        if metadata["name"] == NAME:
            self.enqueue(metadata["namespace"])
        elif metadata["name"] == "extension-apiserver-authentication":
            for namespace in self._namespaces.store.list():
                self.enqueue(namespace)

    async def reconcile(self, key: str) -> None:
        namespace = self._namespaces.store.get(key)
        if namespace is None or (namespace.get("status") or {}).get("phase") != "Active":
            return
        source = self._maps.store.get("kube-system/extension-apiserver-authentication")
        if source is None:
            return
        data = {"ca.crt": source["data"]["client-ca-file"]}
        annotations = {"kubernetes.io/description": _DESCRIPTION}
        present = self._maps.store.get(f"{key}/{NAME}")
        if present is None:
            wanted = {"metadata": {"name": NAME, "namespace": key, "annotations": annotations}, "data": data}
            try:
                await self.api.create(CONFIG_MAPS, wanted)
            except (AlreadyExists, Forbidden):
                return  # Not shown yet, or the namespace has begun to end.
        elif (
            present.get("data") != data
            or not (present["metadata"].get("annotations") or {}).items() >= annotations.items()
        ):
            changed = {**present, "data": data}
            merged = {**(present["metadata"].get("annotations") or {}), **annotations}
            changed["metadata"] = {**present["metadata"], "annotations": merged}
            try:
                await self.api.update(CONFIG_MAPS, changed)
            except NotFound:
                return  # Deleted meanwhile: its deletion comes as an event.
