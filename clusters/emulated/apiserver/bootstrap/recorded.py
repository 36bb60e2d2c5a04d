"""The objects that a v1.36 api-server creates by itself, as recorded from one.

What differs from cluster to cluster (uid, resourceVersion, every time) is not in the recording; `stamped`
puts the new cluster's own in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

Object = dict[str, Any]
NewUid = Callable[[], str]

VERSIONS = {"1.36": "recorded_v1.36.json"}


class NotRecordedError(LookupError):
    """There is no recording of this version; choose one of those named."""


@cache
def _recording(version: str) -> dict[str, Any]:
    if version not in VERSIONS:
        raise NotRecordedError(
            f"no bootstrap objects for Kubernetes {version}; there are those of {', '.join(VERSIONS)}"
        )
    recording: dict[str, Any] = json.loads(Path(__file__).with_name(VERSIONS[version]).read_bytes())
    return recording


def recorded(version: str, now: str, new_uid: NewUid) -> Iterator[tuple[str, Object]]:
    """(resource, object) of everything recorded, stamped. Inner parts are shared: do not change them."""
    recording = _recording(version)
    # The recording keeps an empty time in its place, because readers compare the order of fields too.
    managed = [[{**entry, "time": now} for entry in entries] for entries in recording["managedFields"]]
    for resource, found in recording["resources"].items():
        for item in found["items"]:
            metadata = {**item["metadata"], "managedFields": managed[item["metadata"]["managedFields"]]}
            obj = {"apiVersion": found["apiVersion"], "kind": found["kind"], **item}
            obj["metadata"] = stamped(metadata, now, new_uid)
            status = item.get("status")
            if status and "conditions" in status:
                conditions = [_timed(condition, now) for condition in status["conditions"]]
                obj["status"] = {**status, "conditions": conditions}
            yield resource, obj


def recorded_item(version: str, resource: str, name: str) -> Object:
    """One recorded object without stamps, to be read only."""
    for item in _recording(version)["resources"][resource]["items"]:
        if item["metadata"]["name"] == name:
            found: Object = item
            return found
    raise NotRecordedError(f"no {resource} {name!r} among the bootstrap objects of {version}")


def stamped(metadata: Object, now: str, new_uid: NewUid) -> Object:
    """The metadata with uid and creationTimestamp, in Kubernetes' field order."""
    head: Object = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    rest = {name: value for name, value in metadata.items() if name not in head}
    stamps: Object = {"uid": new_uid()}
    if "generation" in rest:
        stamps["generation"] = rest.pop("generation")
    return {**head, **stamps, "creationTimestamp": now, **rest}


def _timed(condition: Object, now: str) -> Object:
    """A condition's time stands after its status."""
    timed: Object = {}
    for name, value in condition.items():
        timed[name] = value
        if name == "status":
            timed["lastTransitionTime"] = now
    return timed
