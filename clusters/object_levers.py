"""Levers that are operations of the API itself: what somebody with kubectl breaks, on whichever backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clusters.base import Api, ApiError, Lever, Object

_SERVERS_OWN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


@dataclass
class Done:
    """How many objects it has changed."""

    fired: int = 0


class ObjectLevers:
    def __init__(self, api: Api) -> None:
        self._api = api

    @contextmanager
    def absent(self, path: str) -> Iterator[Lever]:
        obj = self._api.get(path)
        self._api.delete(path)
        try:
            yield Done(1)
        finally:
            self._api.create(path.rpartition("/")[0], _as_written(obj))

    @contextmanager
    def present(self, *objects: tuple[str, Object]) -> Iterator[Lever]:
        done = Done()
        paths: list[str] = []
        try:
            for collection, obj in objects:
                created = self._api.create(collection, obj)
                paths.append(f"{collection}/{created['metadata']['name']}")
                done.fired += 1
            yield done
        finally:
            for path in reversed(paths):
                _delete_if_there(self._api, path)

    @contextmanager
    def changed(self, path: str, patch: Object) -> Iterator[Lever]:
        before = self._api.get(path)
        after = self._api.patch(path, patch)
        changed = before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"]
        try:
            yield Done(int(changed))
        finally:
            self._api.patch(path, _undoing(patch, before))

    @contextmanager
    def applied(self, path: str, obj: Object, manager: str) -> Iterator[Lever]:
        self._api.apply(path, obj, manager=manager, force=True)
        try:
            yield Done(1)
        finally:
            nothing = {key: obj[key] for key in ("apiVersion", "kind")}
            self._api.apply(path, {**nothing, "metadata": {"name": obj["metadata"]["name"]}}, manager=manager)

    @contextmanager
    def terminating(self, namespace: str) -> Iterator[Lever]:
        path = f"/api/v1/namespaces/{namespace}"
        finalizer = "kaput.example.com/held"
        self._api.patch(path, {"metadata": {"finalizers": [finalizer]}})
        before = self._api.get(path)
        self._api.delete(path)
        try:
            yield Done(1)
        finally:
            self._finish(path)
            again = _as_written(before)
            again["metadata"].pop("finalizers", None)
            self._api.create("/api/v1/namespaces", again)

    def _finish(self, path: str) -> None:
        """Takes both kinds of finalizers off; where a namespace controller runs it may have been faster."""
        try:
            held = self._api.patch(path, {"metadata": {"finalizers": None}})
            held["spec"] = {"finalizers": []}
            self._api.update(f"{path}/finalize", held)
        except ApiError as error:
            if error.code != 404:
                raise


def _delete_if_there(api: Api, path: str) -> None:
    try:
        api.delete(path)
    except ApiError as error:
        if error.code != 404:
            raise


def _as_written(obj: Object) -> Object:
    """An object as somebody would write it down: without what the server and its controllers keep in it."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVERS_OWN}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def _undoing(patch: Object, before: Any) -> Object:
    """The merge patch that leads back."""
    undone: Object = {}
    for key, value in patch.items():
        old = before.get(key) if isinstance(before, dict) else None
        undone[key] = _undoing(value, old) if isinstance(value, dict) and isinstance(old, dict) else old
    return undone
