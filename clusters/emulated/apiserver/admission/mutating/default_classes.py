"""Which class of several is the default one: newest first, then by name."""

from __future__ import annotations

from clusters.emulated.apiserver.objects import Object, Objects


def default_class(objects: Objects, resource: str, *annotations: str) -> Object | None:
    """The class that carries one of the annotations with the value `true`."""
    marked = [
        each
        for each in objects.list(resource)
        if any((each["metadata"].get("annotations") or {}).get(name) == "true" for name in annotations)
    ]
    marked.sort(key=lambda each: str(each["metadata"].get("name", "")))
    # Timestamps of one format sort as text; max keeps the first of equals, which is the lowest name.
    return max(marked, key=lambda each: str(each["metadata"].get("creationTimestamp", "")), default=None)
