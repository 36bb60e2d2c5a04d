"""The resources an api-server serves: names, verbs, subresources, as discovery tells them.

The built-in ones of a Kubernetes version are rows of `resources_v<version>.json`; custom resources and
aggregated ones come and go at run time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

_KUBE_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")


@dataclass(frozen=True, slots=True)
class Subresource:
    """`kind` is (group, version, kind) of what it takes and answers; empty group and version: the parent's."""

    name: str
    verbs: tuple[str, ...]
    kind: tuple[str, str, str] = ("", "", "")


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource at one served version."""

    group: str
    version: str
    plural: str
    kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    storage_version_hash: str = ""
    list_kind: str = field(default="")
    #: Defined by a CustomResourceDefinition.
    custom: bool = False

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def subresource(self, name: str) -> Subresource | None:
        for each in self.subresources:
            if each.name == name:
                return each
        return None


def kube_version_order(version: str) -> tuple[int, int, int, str]:
    """Sorts the most preferred version first: v2, v1, v1beta2, v1alpha1, then all other names."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        return 3, 0, 0, version
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return stage, -int(match[1]), -int(match[3] or 0), version


@lru_cache(maxsize=4)
def built_in(version: str) -> tuple[Resource, ...]:
    """All built-in resources of a Kubernetes version, in discovery's order."""
    path = Path(__file__).with_name(f"resources_v{version}.json")
    return tuple(_resource(row) for row in orjson.loads(path.read_bytes()))


def _resource(row: dict[str, Any]) -> Resource:
    return Resource(
        group=row["g"],
        version=row["v"],
        plural=row["r"],
        kind=row["k"],
        singular=row["s"],
        namespaced=row["ns"],
        verbs=tuple(row["verbs"]),
        short_names=tuple(row.get("short", ())),
        categories=tuple(row.get("cat", ())),
        subresources=tuple(
            Subresource(each["n"], tuple(each["verbs"]), tuple(each.get("k", ("", "", ""))))
            for each in row.get("sub", ())
        ),
        storage_version_hash=row.get("hash", ""),
        list_kind=row["k"] + "List",
    )
