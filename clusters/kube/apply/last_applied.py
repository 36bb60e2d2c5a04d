"""The annotation that client-side `kubectl apply` leaves, and how server-side apply takes over from it.

Only the manager `kubectl` does: fields that the annotation holds unchanged are no conflict for it, and the
annotation follows what it applies.
"""

from __future__ import annotations

from typing import Any

import orjson

from clusters.kube.apply import validation
from clusters.kube.apply.fieldset import FieldSet, difference
from clusters.kube.apply.ownership import Object, Versions, changes
from clusters.kube.apply.typed import owned
from clusters.kube.gostring import to_json

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"
_ANNOTATIONS_MAX_BYTES = 256 * 1024


def allowed_conflicts(versions: Versions, live: Object) -> FieldSet | None:
    """Fields that kubectl owned by client-side apply and nobody changed since; None without an annotation."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return None
    try:
        last: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None  # The annotation is the client's; what cannot be read gives no rights.
    if not isinstance(last, dict) or last.get("apiVersion") != versions.api_version:
        return None
    root = versions.kind.root
    if validation.text(root, last) is not None:
        return None
    changed = changes(versions.kind, last, live)
    fields = difference(owned(root, last), changed.modified)
    return difference(difference(fields, changed.added), changed.removed)


def follow(obj: Object, config: Object) -> Object:
    """The object with its annotation, if it has one, set to the configuration that was applied."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    metadata = dict(config.get("metadata") or {})
    kept = {name: text for name, text in _annotations(config).items() if name != ANNOTATION}
    if kept:
        metadata["annotations"] = kept
    else:
        metadata.pop("annotations", None)
    followed = {**annotations, ANNOTATION: to_json({**config, "metadata": metadata}) + "\n"}
    size = sum(len(name.encode()) + len(text.encode()) for name, text in followed.items())
    if size > _ANNOTATIONS_MAX_BYTES:
        del followed[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": followed}}


def _annotations(obj: Object) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}
