"""The shapes of every built-in kind of one Kubernetes version, read from `types_<version>.json`.

The file's rows are `[field name, type, flags, extras]`: `*apps/v1.DeploymentSpec` refers to a struct,
`!v1.Time` to a type with a text form of its own, `string:v1.Protocol` to a named string; flag bits are
1 omitempty, 2 omitzero, 4 pointer. Structs are built when first asked for.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from clusters.kube.schema.model import Field, ListType, MapType, Scalar, Struct, Type

_OMIT_EMPTY, _OMIT_ZERO, _POINTER = 1, 2, 4


class UnknownVersion(ValueError):
    """There is no data for this Kubernetes version; the message lists those there are."""


class Catalogue:
    """`Catalogue.of("1.36").kind("apps", "v1", "Deployment")` is the Deployment's struct, or None."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._rows: dict[str, dict[str, Any]] = data["structs"]
        self._kinds: dict[str, str] = data["kinds"]
        self._structs: dict[str, Struct] = {}

    @staticmethod
    @lru_cache(maxsize=4)
    def of(version: str) -> Catalogue:
        folder = Path(__file__).parent
        path = folder / f"types_v{version}.json"
        if not path.exists():
            known = ", ".join(sorted(each.stem.removeprefix("types_v") for each in folder.glob("types_v*.json")))
            raise UnknownVersion(f"Kubernetes {version} cannot be emulated; there are shapes for {known}")
        return Catalogue(orjson.loads(path.read_bytes()))

    def kind(self, group: str, version: str, kind: str) -> Struct | None:
        name = self._kinds.get(f"{group}/{version}/{kind}")
        return None if name is None else self.struct(name)

    def kinds(self) -> list[tuple[str, str, str]]:
        """Every (group, version, kind) there is, lists and options included."""
        return [tuple(key.rsplit("/", 2)) for key in self._kinds]  # type: ignore[misc]

    def struct(self, name: str) -> Struct:
        """A struct by its name in the data, e.g. `core/v1.PodSpec` or `meta/v1.ObjectMeta`."""
        built = self._structs.get(name)
        if built is None:
            row = self._rows[name]
            package, _, short = name.rpartition(".")
            built = Struct(name, f"{package.rpartition('/')[2]}.{short}")
            self._structs[name] = built  # Registered before its fields: JSONSchemaProps contains itself.
            built.required = tuple(row.get("r", ()))
            built.map_type = row.get("mt", "granular")
            built.fields = {each[0]: self._field(each) for each in row["f"]}
        return built

    def _field(self, row: list[Any]) -> Field:
        extras: dict[str, Any] = row[3] if len(row) > 3 else {}
        flags: int = row[2]
        return Field(
            row[0],
            self._type(row[1]),
            omit_empty=bool(flags & _OMIT_EMPTY),
            omit_zero=bool(flags & _OMIT_ZERO),
            pointer=bool(flags & _POINTER),
            patch_strategy=extras.get("ps", ""),
            patch_merge_key=extras.get("mk", ""),
            list_type=extras.get("lt", ""),
            list_map_keys=tuple(extras.get("lk", ())),
            map_type=extras.get("mt", ""),
            default=extras.get("d"),
            embedded_in=extras.get("in", ""),
        )

    def _type(self, text: str | list[Any]) -> Type:
        if isinstance(text, list):
            element = self._type(text[1])
            given = text[2] if len(text) > 2 else None
            if text[0] == "list":
                return ListType(element, given or f"[]{element.go_name}")
            return MapType(element, given or f"map[string]{element.go_name}")
        if text.startswith("*"):
            return self.struct(text[1:])
        if text.startswith("!"):
            return Scalar(text[1:], text[1:])
        kind, _, go_name = text.partition(":")
        return Scalar(kind, go_name or ("[]uint8" if kind == "bytes" else kind))
