"""A PersistentVolumeClaim that is deleted stays as long as a Pod on a node uses it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from clusters.emulated.controllers.pod_claims import belongs_to, claim_keys_of, claims_of
from clusters.emulated.controllers.pod_conditions import is_finished

Object = dict[str, Any]

FINALIZER = "kubernetes.io/pvc-protection"


class PvcProtectionController(Controller):
    name = "persistentvolumeclaim-protection-controller"
    service_account = "pvc-protection-controller"

    def setup(self) -> None:
        self._claims = self.informer(PERSISTENT_VOLUME_CLAIMS)
        self._pods = self.informer(PODS)
        self._pods.store.add_index("claim", claim_keys_of)
        self._claims.add_handler(self._claim, lambda _, new: self._claim(new))
        self._pods.add_handler(self._pod, lambda _, new: self._pod(new), lambda gone, _: self._enqueue_claims(gone))

    def _claim(self, claim: Object) -> None:
        if wants_finalizer(claim, FINALIZER) or may_lose_finalizer(claim, FINALIZER):
            self.enqueue(claim)

    def _pod(self, pod: Object) -> None:
        if is_finished(pod) or not pod["spec"].get("nodeName"):
            self._enqueue_claims(pod)

    def _enqueue_claims(self, pod: Object) -> None:
        for key in claim_keys_of(pod):
            self.enqueue(key)

    async def reconcile(self, key: str) -> None:
        claim = self._claims.store.get(key)
        if claim is None:
            return
        if may_lose_finalizer(claim, FINALIZER):
            known = self._pods.store.by_index("claim", key)
            if any(uses(pod, claim) for pod in known):
                return
            # The informer may be late, and what is deleted does not come back: ask who knows.
            live = (await self.api.list(PODS, claim["metadata"]["namespace"])).items
            if any(uses(pod, claim) for pod in live):
                return
        elif not wants_finalizer(claim, FINALIZER):
            return
        try:
            await self.api.update(PERSISTENT_VOLUME_CLAIMS, toggled(claim, FINALIZER))
        except NotFound:
            return


def uses(pod: Object, claim: Object) -> bool:
    if not pod["spec"].get("nodeName"):
        return False
    metadata = pod["metadata"]
    is_shut_down = metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds") == 0
    return any(
        name == claim["metadata"]["name"]
        and ("persistentVolumeClaim" in volume or (not is_shut_down and belongs_to(claim, pod)))
        for name, volume in claims_of(pod)
    )


def wants_finalizer(obj: Object, finalizer: str) -> bool:
    metadata = obj["metadata"]
    return not metadata.get("deletionTimestamp") and finalizer not in (metadata.get("finalizers") or ())


def may_lose_finalizer(obj: Object, finalizer: str) -> bool:
    metadata = obj["metadata"]
    return bool(metadata.get("deletionTimestamp")) and finalizer in (metadata.get("finalizers") or ())


def toggled(obj: Object, finalizer: str) -> Object:
    """The object without the finalizer, or with it if it had none."""
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer in finalizers:
        changed = [name for name in finalizers if name != finalizer]
    else:
        changed = [*finalizers, finalizer]
    return {**obj, "metadata": {**obj["metadata"], "finalizers": changed}}
