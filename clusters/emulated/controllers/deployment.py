"""Deployments: a ReplicaSet per Pod template, and moving Pods from the old ones to the new one."""

from __future__ import annotations

from typing import Any, Final

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import AlreadyExists, ApiFailure, NotFound
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from clusters.emulated.controllers import deployment_rollout as rollout
from clusters.emulated.controllers.deployment_rollout import Objects, replicas
from clusters.emulated.controllers.ownership import Claims, controller_of, controller_reference
from clusters.emulated.controllers.pod_control import is_namespace_terminating
from clusters.emulated.controllers.pod_state import is_terminal
from clusters.kube import pod_template_hash, selectors

Object = dict[str, Any]

_NAME_MAX: Final = 253
#: Over a network each of our writes takes so long that the ReplicaSet controller has acted on it before we look
#: again. In one process nothing takes any time: without this pause we would scale by counts from before.
_LET_REPLICA_SETS_ACT_S: Final = 0.001


class DeploymentController(Controller):
    name = "deployment-controller"
    workers = 5
    retries_max = 15

    def setup(self) -> None:
        self.deployments = self.informer(DEPLOYMENTS)
        self.sets = self.informer(REPLICA_SETS)
        self.pods = self.informer(PODS)
        #: Templates as they are compared, by the uid of their owner: (generation, text).
        self._texts: dict[str, tuple[int, str]] = {}
        self.deployments.add_handler(self.enqueue, self._changed, self._forget_and_enqueue)
        self.sets.add_handler(self._set_added, self._set_changed, self._set_deleted)
        self.pods.add_handler(on_delete=self._pod_deleted)

    # What happened

    def _changed(self, old: Object, new: Object) -> None:
        if old["metadata"].get("generation") == new["metadata"].get("generation"):
            self.enqueue_after(new, _LET_REPLICA_SETS_ACT_S)
        else:
            self.enqueue(new)

    def _forget_and_enqueue(self, d: Object, _: bool) -> None:
        self._texts.pop(d["metadata"]["uid"], None)
        self.enqueue(d)

    def _deployment_of(self, replica_set: Object) -> Object | None:
        reference = controller_of(replica_set)
        if reference is None or reference["kind"] != "Deployment":
            return None
        d = self.deployments.store.get(f"{replica_set['metadata']['namespace']}/{reference['name']}")
        return d if d is not None and d["metadata"]["uid"] == reference["uid"] else None

    def _enqueue_owner(self, replica_set: Object) -> None:
        d = self._deployment_of(replica_set)
        if d is not None:
            self.enqueue_after(d, _LET_REPLICA_SETS_ACT_S)

    def _enqueue_matching(self, replica_set: Object) -> None:
        labels = replica_set["metadata"].get("labels") or {}
        for d in self.deployments.store.list(replica_set["metadata"]["namespace"]) if labels else ():
            selector = selectors.from_label_selector(d["spec"].get("selector"))
            if not selector.empty and selector.matches(labels):
                self.enqueue(d)

    def _set_added(self, replica_set: Object) -> None:
        if "deletionTimestamp" not in replica_set["metadata"] and controller_of(replica_set) is None:
            self._enqueue_matching(replica_set)
        else:
            self._enqueue_owner(replica_set)

    def _set_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        handed_over = controller_of(old) != controller_of(new)
        if handed_over:
            self._enqueue_owner(old)
        if controller_of(new) is not None:
            self._enqueue_owner(new)
        elif handed_over or old["metadata"].get("labels") != new["metadata"].get("labels"):
            self._enqueue_matching(new)

    def _set_deleted(self, replica_set: Object, _: bool) -> None:
        self._texts.pop(replica_set["metadata"]["uid"], None)
        self._enqueue_owner(replica_set)

    def _pod_deleted(self, pod: Object, _: bool) -> None:
        """Recreate waits for the last old Pod to be gone."""
        reference = controller_of(pod)
        if reference is None or reference["kind"] != "ReplicaSet":
            return
        replica_set = self.sets.store.get(f"{pod['metadata']['namespace']}/{reference['name']}")
        if replica_set is None or replica_set["metadata"]["uid"] != reference["uid"]:
            return
        d = self._deployment_of(replica_set)
        if d is None or d["spec"]["strategy"]["type"] != "Recreate":
            return
        sets = self.sets.store.owned_by(d["metadata"]["uid"])
        if not any(self.pods.store.owned_by(each["metadata"]["uid"]) for each in sets):
            self.enqueue(d)

    # What to do about it

    async def reconcile(self, key: str) -> None:
        cached = self.deployments.store.get(key)
        if cached is None:
            return
        try:
            await self._sync(_own_copy(cached))
        except ApiFailure as failure:
            if not is_namespace_terminating(failure):
                raise

    async def _sync(self, d: Object) -> None:
        metadata = d["metadata"]
        if d["spec"].get("selector") == {}:
            await self._refuse_to_select_all(d)
            return
        selector = selectors.from_label_selector(d["spec"].get("selector"))
        claims = Claims(self.api, d, DEPLOYMENTS, REPLICA_SETS, selector.matches)
        sets = rollout.by_creation(await claims.claim(self.sets.store.list(metadata["namespace"])))
        if "deletionTimestamp" in metadata:
            new, old = await self._new_and_old(d, sets)
            await self._write_status(d, rollout.status_of(d, _all(old, new), new, self.clock.now_s()))
            return
        await self._note_pause(d)
        if d["spec"].get("paused"):
            await self._sync_scale(d, sets)
        elif _rollback_to(d) is not None:
            await self._roll_back(d, sets)
        elif await self._was_scaled(d, sets):
            await self._sync_scale(d, sets)
        elif rollout.is_rolling(d):
            await self._roll(d, sets)
        else:
            await self._recreate(d, sets)

    async def _refuse_to_select_all(self, d: Object) -> None:
        text = "This deployment is selecting all pods. A non-empty selector is required."
        self.recorder.event(d, "Warning", "SelectingAll", text)
        generation = d["metadata"].get("generation") or 0
        if (d["status"].get("observedGeneration") or 0) < generation:
            await self._write_status(d, {**d["status"], "observedGeneration": generation})

    # Status

    async def _write_status(self, d: Object, status: Object) -> None:
        if status != d["status"]:
            d["status"] = status
            await self._put_status(d)

    async def _put_status(self, d: Object) -> None:
        """With the version that was read: a second write in the same round is a conflict, and the next round's."""
        await self.api.update(DEPLOYMENTS, d, subresource="status")

    async def _report_rollout(self, d: Object, sets: Objects, new: Object | None) -> None:
        now_s = self.clock.now_s()
        status = rollout.rollout_status(d, sets, new, now_s)
        if status == d["status"]:
            self._look_again_at_the_deadline(d, status, now_s)
        await self._write_status(d, status)

    def _look_again_at_the_deadline(self, d: Object, status: Object, now_s: float) -> None:
        progressing = rollout.condition_of(status, rollout.PROGRESSING)
        if not rollout.has_progress_deadline(d) or progressing is None or rollout.is_complete(d, status):
            return
        if progressing.get("reason") == "ProgressDeadlineExceeded":
            return
        left_s = rollout.deadline_s(d, progressing) - now_s
        if left_s < 1:
            self.queue.add_rate_limited(key_of(d))
        else:
            self.enqueue_after(d, left_s + 1)

    def _set_condition(self, d: Object, status: str, reason: str, message: str) -> None:
        condition = rollout.new_condition(rollout.PROGRESSING, status, reason, message, self.clock.now_s())
        conditions = rollout.set_condition(d["status"].get("conditions") or [], condition)
        d["status"] = {**d["status"], "conditions": conditions}

    async def _note_pause(self, d: Object) -> None:
        if not rollout.has_progress_deadline(d):
            return
        current = rollout.condition_of(d["status"], rollout.PROGRESSING) or {}
        reason, paused = current.get("reason"), bool(d["spec"].get("paused"))
        if reason == "ProgressDeadlineExceeded" or paused == (reason == "DeploymentPaused"):
            return
        if paused:
            self._set_condition(d, "Unknown", "DeploymentPaused", "Deployment is paused")
        else:
            self._set_condition(d, "Unknown", "DeploymentResumed", "Deployment is resumed")
        await self._put_status(d)

    # Which ReplicaSet is the new one

    def _text(self, obj: Object) -> str:
        """The template without the label that its own hash adds: equal if the templates mean the same."""
        uid, generation = obj["metadata"]["uid"], obj["metadata"].get("generation") or 0
        known = self._texts.get(uid)
        if known is None or known[0] != generation:
            known = self._texts[uid] = (generation, _comparable(obj["spec"]["template"]))
        return known[1]

    def _find_new(self, d: Object, sets: Objects) -> Object | None:
        """The oldest, if several have the Deployment's template."""
        text = self._text(d)
        return next((each for each in sets if self._text(each) == text), None)

    async def _new_and_old(self, d: Object, sets: Objects, create: bool = False) -> tuple[Object | None, Objects]:
        """Also brings revision numbers up to date: the new one's is always the highest."""
        found = self._find_new(d, sets)
        old = [each for each in sets if each is not found]
        number = max(map(rollout.revision, old), default=0) + 1
        if found is not None:
            return await self._update_new(d, found, number), old
        return (await self._create_new(d, old, max(number, 1)) if create else None), old

    async def _update_new(self, d: Object, new: Object, number: int) -> Object:
        before = new["metadata"].get("annotations") or {}
        annotations = rollout.new_set_annotations(d, before, number, exists=True)
        min_ready_s = d["spec"].get("minReadySeconds") or 0
        if annotations != before or min_ready_s != (new["spec"].get("minReadySeconds") or 0):
            changed = {
                **new,
                "metadata": {**new["metadata"], "annotations": annotations},
                "spec": {**new["spec"], "minReadySeconds": min_ready_s},
            }
            return await self.api.update(REPLICA_SETS, changed)
        changed_here = _set_revision(d, annotations.get(rollout.REVISION, ""))
        if rollout.has_progress_deadline(d) and rollout.condition_of(d["status"], rollout.PROGRESSING) is None:
            message = f'Found new replica set "{new["metadata"]["name"]}"'
            self._set_condition(d, "True", "FoundNewReplicaSet", message)
            changed_here = True
        if changed_here:
            await self._put_status(d)
        return new

    async def _create_new(self, d: Object, old: Objects, number: int) -> Object:
        wanted = new_replica_set(d, old, number)
        name, namespace = wanted["metadata"]["name"], d["metadata"]["namespace"]
        existed = False
        try:
            created = await self.api.create(REPLICA_SETS, wanted, namespace)
        except AlreadyExists as taken:
            existed = True
            created = await self._take_existing(d, f"{namespace}/{name}", taken)
        except ApiFailure as failure:
            if not is_namespace_terminating(failure):
                await self._report_creation_failure(d, f'Failed to create new replica set "{name}": {failure.message}')
            raise
        count = replicas(created)
        if not existed and count > 0:
            self._report_scaling(d, created, 0, count)
        changed_here = _set_revision(d, str(number))
        if not existed and rollout.has_progress_deadline(d):
            self._set_condition(d, "True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
            changed_here = True
        if changed_here:
            await self._put_status(d)
        return created

    async def _take_existing(self, d: Object, key: str, taken: AlreadyExists) -> Object:
        """Ours, created in a round that the cache does not show yet; or a collision of hashes: try another."""
        found = self.sets.store.get(key)
        if found is None:
            raise NotFound(404, f"{taken.message}, but the cache does not have it yet")
        reference = controller_of(found)
        if reference is not None and reference["uid"] == d["metadata"]["uid"] and self._text(d) == self._text(found):
            return found
        d["status"] = {**d["status"], "collisionCount": (d["status"].get("collisionCount") or 0) + 1}
        await self._put_status(d)
        raise taken

    async def _report_creation_failure(self, d: Object, message: str) -> None:
        self.recorder.event(d, "Warning", "ReplicaSetCreateError", message)
        if rollout.has_progress_deadline(d):
            self._set_condition(d, "False", "ReplicaSetCreateError", message)
            try:
                await self._put_status(d)
            except ApiFailure:
                return  # What failed first is raised, and tried again.

    # Sizes

    async def _scale(self, d: Object, replica_set: Object, count: int, force: bool = False) -> tuple[bool, Object]:
        """Whether its size changed, and the ReplicaSet as it then is."""
        before = replicas(replica_set)
        if before == count and not force:
            return False, replica_set
        annotations = replica_set["metadata"].get("annotations") or {}
        sizes = rollout.size_annotations(d)
        if before == count and sizes.items() <= annotations.items():
            return False, replica_set
        changed = {
            **replica_set,
            "metadata": {**replica_set["metadata"], "annotations": {**annotations, **sizes}},
            "spec": {**replica_set["spec"], "replicas": count},
        }
        stored = await self.api.update(REPLICA_SETS, changed)
        if before != count:
            self._report_scaling(d, stored, before, count)
        return before != count, stored

    def _report_scaling(self, d: Object, replica_set: Object, before: int, after: int) -> None:
        direction = "up" if before < after else "down"
        message = f"Scaled {direction} replica set {replica_set['metadata']['name']} from {before} to {after}"
        self.recorder.event(d, "Normal", "ScalingReplicaSet", message)

    async def _was_scaled(self, d: Object, sets: Objects) -> bool:
        new, old = await self._new_and_old(d, sets)
        for each in _active(_all(old, new)):
            desired = rollout.annotation_number(each, rollout.DESIRED_REPLICAS)
            if desired is not None and desired != replicas(d):
                return True
        return False

    async def _sync_scale(self, d: Object, sets: Objects) -> None:
        """While paused, and right after scaling: sizes follow, the rollout does not go on."""
        new, old = await self._new_and_old(d, sets)
        await self._follow_scale(d, new, old)
        if d["spec"].get("paused") and _rollback_to(d) is None:
            await self._clean_up(d, old)
        await self._write_status(d, rollout.status_of(d, _all(old, new), new, self.clock.now_s()))

    async def _follow_scale(self, d: Object, new: Object | None, old: Objects) -> None:
        active = _active(_all(old, new))
        if len(active) <= 1:
            only = active[0] if active else new if new is not None else old[-1] if old else None
            if only is not None:
                await self._scale(d, only, replicas(d))
        elif rollout.is_saturated(d, new):
            for each in _active(old):
                await self._scale(d, each, 0)
        elif rollout.is_rolling(d):
            sizes = rollout.proportional_sizes(d, active)
            by_name = {each["metadata"]["name"]: each for each in active}
            for name, count in sizes.items():
                await self._scale(d, by_name[name], count, force=True)

    async def _clean_up(self, d: Object, old: Objects) -> None:
        """Deletes the oldest revisions above the limit that have nothing left."""
        if not rollout.has_history_limit(d):
            return
        alive = [each for each in old if "deletionTimestamp" not in each["metadata"]]
        surplus = len(alive) - d["spec"]["revisionHistoryLimit"]
        if surplus <= 0:
            return
        alive.sort(key=lambda each: (rollout.revision(each), rollout.created_s(each), each["metadata"]["name"]))
        for each in alive[:surplus]:
            status, metadata = each.get("status") or {}, each["metadata"]
            unseen = (metadata.get("generation") or 0) > (status.get("observedGeneration") or 0)
            if status.get("replicas") or replicas(each) or unseen:
                continue
            try:
                await self.api.delete(REPLICA_SETS, metadata["name"], metadata["namespace"])
            except NotFound:
                continue

    # Rolling update

    async def _roll(self, d: Object, sets: Objects) -> None:
        new, old = await self._new_and_old(d, sets, create=True)
        assert new is not None, "it was just created"
        everything = _all(old, new)
        scaled = await self._grow_new(d, new, everything) or await self._shrink_old(d, new, _active(old))
        if not scaled and rollout.is_complete(d, d["status"]):
            await self._clean_up(d, old)
        await self._report_rollout(d, everything, new)

    async def _grow_new(self, d: Object, new: Object, everything: Objects) -> bool:
        count = replicas(d)
        if replicas(new) < count:
            count = rollout.new_set_replicas(d, everything, replicas(new))
        return (await self._scale(d, new, count))[0]

    async def _shrink_old(self, d: Object, new: Object, old: Objects) -> bool:
        """Unhealthy Pods of old ReplicaSets first; then as many as availability allows."""
        if rollout.wanted(old) == 0:
            return False
        min_available = replicas(d) - rollout.max_unavailable(d)
        unavailable_new = replicas(new) - rollout.available([new])
        most = rollout.wanted([*old, new]) - min_available - unavailable_new
        if most <= 0:
            return False
        try:
            old, unhealthy = await self._drop_unhealthy(d, old, most)
            dropped = await self._drop_available(d, new, old, min_available)
        except ApiFailure:
            return False  # The next round sees what changed, and goes on.
        return unhealthy + dropped > 0

    async def _drop_unhealthy(self, d: Object, old: Objects, most: int) -> tuple[Objects, int]:
        dropped = 0
        after = []
        for each in rollout.by_creation(old):
            count = min(most - dropped, replicas(each) - rollout.available([each]))
            if count > 0:
                _, each = await self._scale(d, each, replicas(each) - count)
                dropped += count
            after.append(each)
        return after, dropped

    async def _drop_available(self, d: Object, new: Object, old: Objects, min_available: int) -> int:
        most = rollout.available([*old, new]) - min_available
        dropped = 0
        for each in rollout.by_creation(old):
            count = min(replicas(each), most - dropped)
            if count > 0:
                await self._scale(d, each, replicas(each) - count)
                dropped += count
        return dropped

    # Recreate

    async def _recreate(self, d: Object, sets: Objects) -> None:
        new, old = await self._new_and_old(d, sets)
        scaled_down = False
        for each in _active(old):
            scaled_down |= (await self._scale(d, each, 0))[0]
        if scaled_down or self._old_pods_run(d, new, old):
            await self._report_rollout(d, _all(old, new), new)
            return
        if new is None:
            new, old = await self._new_and_old(d, sets, create=True)
            assert new is not None, "it was just created"
        await self._scale(d, new, replicas(d))
        if rollout.is_complete(d, d["status"]):
            await self._clean_up(d, old)
        await self._report_rollout(d, _all(old, new), new)

    def _old_pods_run(self, d: Object, new: Object | None, old: Objects) -> bool:
        if rollout.actual(old) > 0:
            return True
        return any(not is_terminal(pod) for each in old for pod in self.pods.store.owned_by(each["metadata"]["uid"]))

    # Rollback by annotation, of clients of extensions/v1beta1

    async def _roll_back(self, d: Object, sets: Objects) -> None:
        new, old = await self._new_and_old(d, sets, create=True)
        everything = _all(old, new)
        number = _rollback_to(d) or rollout.last_revision(everything)
        if not number:
            text = "Unable to find last revision."
            self.recorder.event(d, "Warning", "DeploymentRollbackRevisionNotFound", text)
            await self._end_rollback(d)
            return
        target = next((each for each in everything if rollout.revision(each) == number), None)
        if target is None:
            text = "Unable to find the revision to rollback to."
            self.recorder.event(d, "Warning", "DeploymentRollbackRevisionNotFound", text)
            await self._end_rollback(d)
        elif self._text(target) == self._text(d):
            text = f'The rollback revision contains the same template as current deployment "{d["metadata"]["name"]}"'
            self.recorder.event(d, "Warning", "DeploymentRollbackTemplateUnchanged", text)
            await self._end_rollback(d)
        else:
            d["spec"] = {**d["spec"], "template": _without_hash(target["spec"]["template"])}
            d["metadata"]["annotations"] = rollout.rolled_back_annotations(d, target)
            await self._end_rollback(d)
            text = f'Rolled back deployment "{d["metadata"]["name"]}" to revision {number}'
            self.recorder.event(d, "Normal", "DeploymentRollback", text)

    async def _end_rollback(self, d: Object) -> None:
        d["metadata"]["annotations"].pop(rollout.ROLLBACK_TO, None)
        await self.api.update(DEPLOYMENTS, d)


def _own_copy(d: Object) -> Object:
    """A Deployment whose annotations and status may be changed."""
    metadata = {**d["metadata"], "annotations": dict(d["metadata"].get("annotations") or {})}
    return {**d, "metadata": metadata, "status": dict(d.get("status") or {})}


def _all(old: Objects, new: Object | None) -> Objects:
    return [*old, new] if new is not None else old


def _active(sets: Objects) -> Objects:
    return [each for each in sets if replicas(each) > 0]


def _set_revision(d: Object, revision: str) -> bool:
    changed = bool(d["metadata"]["annotations"].get(rollout.REVISION) != revision)
    d["metadata"]["annotations"][rollout.REVISION] = revision
    return changed


def _rollback_to(d: Object) -> int | None:
    text = (d["metadata"].get("annotations") or {}).get(rollout.ROLLBACK_TO, "")
    return int(text) if text.lstrip("-").isdigit() else None


def _without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != rollout.HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _comparable(template: Object) -> str:
    return pod_template_hash.template_text(_without_hash(template))


def new_replica_set(d: Object, old: Objects, number: int) -> Object:
    """The ReplicaSet of the Deployment's template, as large as the others leave room for."""
    template, spec = d["spec"]["template"], d["spec"]
    hashed = pod_template_hash.template_hash(template, d["status"].get("collisionCount"))
    label = {rollout.HASH_LABEL: hashed}
    labels = {**((template.get("metadata") or {}).get("labels") or {}), **label}
    selector = spec["selector"]
    name = d["metadata"]["name"][: _NAME_MAX - 1 - len(hashed)]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name}-{hashed}",
            "namespace": d["metadata"]["namespace"],
            "labels": labels,
            "annotations": rollout.new_set_annotations(d, {}, number, exists=False),
            "ownerReferences": [controller_reference(d, DEPLOYMENTS)],
        },
        "spec": {
            "replicas": rollout.new_set_replicas(d, old, 0),
            "minReadySeconds": spec.get("minReadySeconds") or 0,
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **label}},
            "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
        },
    }
