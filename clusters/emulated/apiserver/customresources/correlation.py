"""Which old value a new value was, so that what did not change is not refused (ratcheting).

Fields are found by name, elements of a list of type map by their keys; elements of other lists have no past.
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.customresources.structural import Structural


class Correlation:
    """A value with the old value it comes from."""

    __slots__ = ("_children", "_equal", "_keyed", "old", "schema", "value")

    def __init__(self, value: Any, old: Any, schema: Structural | None) -> None:
        self.value = value
        self.old = old
        self.schema = schema
        self._children: dict[str | int, Correlation] = {}
        self._equal: bool | None = None
        self._keyed: dict[Any, Any] | None = None

    @property
    def unchanged(self) -> bool:
        if self._equal is None:
            self._equal = _same(self.value, self.old)
        return self._equal

    def field(self, name: str) -> Correlation | None:
        schema, old, value = self.schema, self.old, self.value
        if schema is None or old.__class__ is not dict or value.__class__ is not dict:
            return None
        found = self._children.get(name)
        if found is not None:
            return found
        if name not in old or name not in value:
            return None
        part = schema.field(name)
        if part is None:
            return None
        found = self._children[name] = Correlation(value[name], old[name], part)
        return found

    def item(self, position: int) -> Correlation | None:
        schema = self.schema
        if schema is None or schema.items is None or schema.list_type != "map":
            return None
        found = self._children.get(position)
        if found is not None:
            return found
        if self.old.__class__ is not list or self.value.__class__ is not list:
            return None
        if self._keyed is None:
            self._keyed = keyed(self.old, schema)
        old = self._keyed.get(composite_key(self.value[position], schema))
        if old is None:
            return None
        found = self._children[position] = Correlation(self.value[position], old, schema.items)
        return found


def keyed(items: list[Any], schema: Structural) -> dict[Any, Any]:
    """The elements of a list of type map by their keys; of equal keys the first counts."""
    found: dict[Any, Any] = {}
    if schema.type == "array" and schema.list_type == "map" and schema.list_keys:
        for item in items:
            key = composite_key(item, schema)
            if key is not None:
                found.setdefault(key, item)
    return found


def composite_key(item: Any, schema: Structural) -> tuple[Any, ...] | None:
    if item.__class__ is not dict:
        return None
    key: list[Any] = []
    for name in schema.list_keys:
        value = item.get(name)
        if value.__class__ not in (bool, float, int, str):
            return None
        key.append((value.__class__, value))
    return tuple(key)


def _same(value: Any, old: Any) -> bool:
    """Equality that does not take 1 for true."""
    if value.__class__ is not old.__class__:
        return False
    if value.__class__ is dict:
        return len(value) == len(old) and all(name in old and _same(each, old[name]) for name, each in value.items())
    if value.__class__ is list:
        return len(value) == len(old) and all(map(_same, value, old))
    return bool(value == old)
