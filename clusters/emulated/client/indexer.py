"""What an informer knows: objects by key, and by the values of indexes.

    pods.add_index("node", lambda pod: [pod["spec"].get("nodeName", "")])
    pods.by_index("node", "node-1")

Everybody shares the objects: they are to be read, and copied before they are changed. All orders are those in
which the objects first came, so that two runs of the same history see the same lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

Object = dict[str, Any]
Objects = list[Object]
Keys = list[str]
IndexFunction = Callable[[Object], list[str]]

_OWNER: Final = "controller-owner-uid"


def key_of(obj: Object) -> str:
    """`namespace/name`, or `name` of what belongs to no namespace."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    name: str = metadata["name"]
    return f"{namespace}/{name}" if namespace else name


def split_key(key: str) -> tuple[str, str]:
    """The namespace, empty if there is none, and the name."""
    namespace, slash, name = key.partition("/")
    return (namespace, name) if slash else ("", namespace)


class Indexer:
    def __init__(self) -> None:
        self._objects: dict[str, Object] = {}
        self._namespaces: dict[str, dict[str, Object]] = {}
        self._functions: dict[str, IndexFunction] = {}
        self._indexes: dict[str, dict[str, dict[str, Object]]] = {}

    # Reading

    def get(self, key: str) -> Object | None:
        return self._objects.get(key)

    def list(self, namespace: str = "") -> Objects:
        objects = self._namespaces.get(namespace, {}) if namespace else self._objects
        return [*objects.values()]

    def __iter__(self) -> Iterator[str]:
        """The keys."""
        return iter(self._objects)

    def by_index(self, name: str, value: str) -> Objects:
        return [*self._indexes[name].get(value, {}).values()]

    def owned_by(self, owner_uid: str) -> Objects:
        """Whose controller owner reference names this uid."""
        if _OWNER not in self._functions:
            self.add_index(_OWNER, _controller_owner)
        return self.by_index(_OWNER, owner_uid)

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    # Indexes

    def add_index(self, name: str, function: IndexFunction) -> None:
        """May be added at any time; a function of the same name is replaced."""
        self._functions[name] = function
        self._indexes[name] = {}
        for key, obj in self._objects.items():
            self._move(name, function, key, None, obj)

    # Writing: for the informer alone

    def put(self, key: str, obj: Object) -> Object | None:
        """Stores the object; returns the one it replaces."""
        old = self._objects.get(key)
        for name, function in self._functions.items():
            self._move(name, function, key, old, obj)
        self._objects[key] = obj
        namespace = obj["metadata"].get("namespace")
        if namespace:
            self._namespaces.setdefault(namespace, {})[key] = obj
        return old

    def pop(self, key: str) -> Object | None:
        """Forgets the object; returns it if it was known."""
        old = self._objects.pop(key, None)
        if old is None:
            return None
        namespace = old["metadata"].get("namespace")
        if namespace:
            members = self._namespaces[namespace]
            del members[key]
            if not members:
                del self._namespaces[namespace]
        for name, function in self._functions.items():
            self._leave(name, key, function(old))
        return old

    def _move(self, name: str, function: IndexFunction, key: str, old: Object | None, obj: Object) -> None:
        """A value that stays keeps its place in the order."""
        values = function(obj)
        if old is not None:
            self._leave(name, key, [value for value in function(old) if value not in values])
        index = self._indexes[name]
        for value in values:
            index.setdefault(value, {})[key] = obj

    def _leave(self, name: str, key: str, values: Keys) -> None:
        index = self._indexes[name]
        for value in values:
            members = index.get(value)
            if members is not None and members.pop(key, None) is not None and not members:
                del index[value]


def _controller_owner(obj: Object) -> list[str]:
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return [reference["uid"]]
    return []
