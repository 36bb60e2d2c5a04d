"""ApplyConfiguration mutations: merging as server-side apply does, without its ownership of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from clusters.emulated.apiserver.objects import Object
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.typed import merge
from clusters.kube.apply.types import Type
from clusters.kube.apply.validation import text
from clusters.kube.schema.catalogue import Catalogue

ObjectTypeFor = Callable[[str, str, str], ObjectType | None]
"""Group, version and kind to the type that says how its fields merge; None for unknown kinds."""


@lru_cache(maxsize=256)
def built_in_type(group: str, version: str, kind: str) -> ObjectType | None:
    """An `ObjectTypeFor` for api-servers without custom resources."""
    struct = Catalogue.of("1.36").kind(group, version, kind)
    return None if struct is None else ObjectType.of_struct(struct)


class ConfigurationMerger:
    """Carries out `MergeConfiguration` for every kind that `type_for` knows."""

    def __init__(self, type_for: ObjectTypeFor) -> None:
        self._type_for = type_for

    def __call__(self, obj: Object, configuration: Object) -> Object:
        group, _, version = obj["apiVersion"].rpartition("/")
        found = self._type_for(group, version, obj["kind"])
        if found is None:
            raise ValueError("type converter must not be nil")
        problem = text(found.root, configuration)
        if problem is not None:
            raise ValueError(f"failed to convert patch object to typed object: {problem}")
        # Replacing a whole atomic value by accident is easy, so it is not allowed at all.
        atomics = list(_atomics(found.root, configuration, ""))
        if atomics:
            listed = ", ".join(atomics)
            raise ValueError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {listed}")
        merged: Object = merge(found.root, obj, configuration)
        return merged


def _atomics(kind: Type | None, value: Any, path: str) -> Iterator[str]:
    if kind is None:
        return
    if isinstance(value, dict) and kind.map is not None:
        if kind.map.atomic:
            yield path
        for name, item in value.items():
            if kind.map.declared(name):
                yield from _atomics(kind.map.of(name), item, f"{path}.{name}")
    elif isinstance(value, list) and kind.list is not None:
        if kind.list.atomic:
            yield path
        for position, item in enumerate(value):
            yield from _atomics(kind.list.element, item, f"{path}[{position}]")
