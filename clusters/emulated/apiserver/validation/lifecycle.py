"""The usual life of a kind: its status is written through `status` only, its generation counts changes of intent.

Most kinds need nothing more than the class data: `zero_status` is what a new object's status looks like, in
(field, value) pairs (None: the kind has no status of its own); `generation_fields` are what a change of bumps the
generation.
"""

from __future__ import annotations

from typing import Any, ClassVar

from clusters.emulated.apiserver.validation.fields import equal
from clusters.emulated.apiserver.validation.rules import KindRules, Object


class LifecycleRules(KindRules):
    """A kind whose main endpoint keeps the stored status and counts generations."""

    zero_status: ClassVar[tuple[tuple[str, Any], ...] | None] = None
    #: The status endpoint leaves labels, annotations, finalizers and owners as they are, too.
    status_keeps_metadata: ClassVar[bool] = False

    def prepare_create(self, obj: Object) -> None:
        if self.zero_status is not None:
            obj["status"] = {name: {} if value == {} else value for name, value in self.zero_status}
        if self.generation_fields:
            obj.setdefault("metadata", {})["generation"] = 1

    def prepare_update(self, obj: Object, old: Object) -> None:
        if self.zero_status is not None:
            keep_field(obj, old, "status")
        if self.generation_fields:
            bump_generation(obj, old, any(self._changed(obj, old, name) for name in self.generation_fields))

    def _changed(self, obj: Object, old: Object, name: str) -> bool:
        return not equal(obj.get(name), old.get(name))

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        if self.status_keeps_metadata:
            keep_metadata(obj, old)


def keep_field(obj: Object, old: Object, name: str) -> None:
    """`obj` has what `old` has under `name`, or nothing if that has nothing."""
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def keep_metadata(obj: Object, old: Object) -> None:
    """A status write resets these parts of the metadata to what is stored."""
    metadata, stored = obj.setdefault("metadata", {}), old.get("metadata") or {}
    for name in (
        "deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences",
    ):  # fmt: skip
        keep_field(metadata, stored, name)


def bump_generation(obj: Object, old: Object, changed: bool) -> None:
    generation = (old.get("metadata") or {}).get("generation", 0)
    if changed:
        obj.setdefault("metadata", {})["generation"] = generation + 1
    elif generation:
        obj.setdefault("metadata", {})["generation"] = generation
