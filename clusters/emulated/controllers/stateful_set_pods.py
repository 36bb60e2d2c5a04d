"""Creating, updating and deleting the Pods of a StatefulSet and their claims, with the events that tell of it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import AlreadyExists, ApiFailure, NotFound
from clusters.emulated.client.events import EventRecorder
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.informers import SharedInformer
from clusters.emulated.client.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from clusters.emulated.controllers import stateful_set_identity as identity
from clusters.emulated.controllers.own_writes import OwnWrites

Object = dict[str, Any]


class ClaimError(ApiFailure):
    """A claim cannot be had: it could not be created, or is being deleted."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


class StatefulPods:
    def __init__(
        self, api: Api, recorder: EventRecorder, pods: SharedInformer, claims: SharedInformer, writes: OwnWrites
    ) -> None:
        self._api = api
        self._recorder = recorder
        self._pods = pods
        self._claims = claims
        self._writes = writes

    # Pods

    async def create(self, stateful_set: Object, pod: Object) -> None:
        try:
            await self._create_claims(stateful_set, pod)
        except ApiFailure as failure:
            self._report("Create", stateful_set, pod, failure)
            raise
        failed: ApiFailure | None = None
        try:
            stored = await self._api.create(PODS, pod, pod["metadata"]["namespace"])
            self._writes.wrote(key_of(stateful_set), self._pods, stored)
        except AlreadyExists:
            raise
        except ApiFailure as failure:
            failed = failure
        await self._settle_claims(stateful_set, pod)
        self._report("Create", stateful_set, pod, failed)
        if failed is not None:
            raise failed

    async def update(self, stateful_set: Object, pod: Object) -> None:
        """Gives the Pod its name, labels, volumes and the owners of its claims back."""
        changed = pod
        if not identity.identity_matches(stateful_set, pod):
            changed = identity.with_identity(stateful_set, changed)
        if not identity.storage_matches(stateful_set, pod):
            changed = identity.with_storage(stateful_set, changed)
            await self._create_claims(stateful_set, changed)
        settled = self.claims_settled(stateful_set, changed)
        if not settled:
            await self._settle_claims(stateful_set, changed)
        if changed is pod and settled:
            return
        try:
            stored = await self._api.update(PODS, changed)
        except ApiFailure as failure:
            self._report("Update", stateful_set, pod, failure)
            raise
        self._writes.wrote(key_of(stateful_set), self._pods, stored)
        self._report("Update", stateful_set, pod, None)

    async def delete(self, stateful_set: Object, pod: Object) -> None:
        metadata = pod["metadata"]
        try:
            await self._api.delete(PODS, metadata["name"], metadata["namespace"])
        except NotFound:
            pass  # As good as deleted, and reported so.
        except ApiFailure as failure:
            self._report("Delete", stateful_set, pod, failure)
            raise
        self._report("Delete", stateful_set, pod, None)

    # Claims

    def _claim(self, stateful_set: Object, template: Object, pod: Object) -> Object | None:
        name = identity.claim_name(stateful_set, template, identity.ordinal_of(pod))
        return self._claims.store.get(f"{stateful_set['metadata']['namespace']}/{name}")

    def is_claim_stale(self, stateful_set: Object, pod: Object) -> bool:
        """A claim still goes with the Pod's predecessor: wait until it is gone."""
        if not identity.retention_of(stateful_set)[1]:
            return False
        for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
            claim = self._claim(stateful_set, template, pod)
            if claim is not None and identity.has_stale_owner(claim, pod, PODS):
                return True
        return False

    def claims_settled(self, stateful_set: Object, pod: Object) -> bool:
        for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
            claim = self._claim(stateful_set, template, pod)
            if claim is not None and not identity.owners_up_to_date(claim, stateful_set, pod):
                return False
        return True

    async def settle_claims(self, stateful_set: Object, pod: Object) -> None:
        """Sets the owners of the claims of a Pod that goes."""
        if not self.claims_settled(stateful_set, pod):
            await self._update_owners(stateful_set, pod)

    async def create_missing_claims(self, stateful_set: Object, pod: Object) -> None:
        await self._create_claims(stateful_set, pod)
        await self._settle_claims(stateful_set, pod)

    async def _settle_claims(self, stateful_set: Object, pod: Object) -> None:
        try:
            await self._update_owners(stateful_set, pod)
        except ApiFailure as failure:
            self._report("Update", stateful_set, pod, failure)
            raise

    async def _update_owners(self, stateful_set: Object, pod: Object) -> None:
        for template in stateful_set["spec"].get("volumeClaimTemplates") or ():
            claim = self._claim(stateful_set, template, pod)
            if claim is None:
                continue
            name = claim["metadata"]["name"]
            if identity.has_unexpected_controller(claim, stateful_set, pod):
                text = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging "
                    "controller, the retention policy is ignored for this claim"
                )
                self._recorder.event(stateful_set, "Warning", "ConflictingController", text)
            if identity.owners_up_to_date(claim, stateful_set, pod):
                continue
            owners = identity.wanted_owners(claim, stateful_set, pod)
            changed = {**claim, "metadata": {**claim["metadata"], "ownerReferences": owners}}
            try:
                stored = await self._api.update(PERSISTENT_VOLUME_CLAIMS, changed)
            except ApiFailure as failure:
                text = f"could not update claim {name} for delete policy ownerRefs: {failure.message}"
                raise ClaimError(text) from failure
            self._writes.wrote(key_of(stateful_set), self._claims, stored)

    async def _create_claims(self, stateful_set: Object, pod: Object) -> None:
        problems: list[str] = []
        for _, claim in identity.claims_of(stateful_set, identity.ordinal_of(pod)):
            name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
            found = self._claims.store.get(f"{namespace}/{name}")
            if found is not None:
                if "deletionTimestamp" in found["metadata"]:
                    problems.append(f"pvc {name} is being deleted")
                continue
            try:
                stored = await self._api.create(PERSISTENT_VOLUME_CLAIMS, claim, namespace)
            except ApiFailure as failure:
                problems.append(f"failed to create PVC {name}: {failure.message}")
                if not isinstance(failure, AlreadyExists):
                    self._report_claim(stateful_set, pod, name, failure)
            else:
                self._writes.wrote(key_of(stateful_set), self._claims, stored)
                self._report_claim(stateful_set, pod, name, None)
        if problems:
            unique = list(dict.fromkeys(problems))
            raise ClaimError(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")

    # Events

    def _report(self, verb: str, stateful_set: Object, pod: Object, failure: ApiFailure | None) -> None:
        about = f"{verb} Pod {pod['metadata']['name']} in StatefulSet {stateful_set['metadata']['name']}"
        if failure is None:
            self._recorder.event(stateful_set, "Normal", f"Successful{verb}", f"{about} successful")
        else:
            self._recorder.event(stateful_set, "Warning", f"Failed{verb}", f"{about} failed error: {failure.message}")

    def _report_claim(self, stateful_set: Object, pod: Object, claim: str, failure: ApiFailure | None) -> None:
        where = f"Pod {pod['metadata']['name']} in StatefulSet {stateful_set['metadata']['name']}"
        if failure is None:
            self._recorder.event(stateful_set, "Normal", "SuccessfulCreate", f"Create Claim {claim} {where} success")
        else:
            text = f"Create Claim {claim} for {where} failed error: {failure.message}"
            self._recorder.event(stateful_set, "Warning", "FailedCreate", text)
