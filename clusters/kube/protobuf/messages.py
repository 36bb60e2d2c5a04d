"""Which number each field of a built-in kind has in protobuf, joined with its type from the catalogue.

`numbers_<version>.json` has, per struct, rows of `[number, JSON name, Go name?]` in the order of their numbers; the
Go name is there where it is not the JSON name with a capital. A struct that JSON inlines (a Volume's source)
is a message of its own in protobuf: its row has a list of rows in the place of the name. The file is read
when the first client speaks protobuf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from clusters.kube.schema import Catalogue, Field, ListType, Struct

#: The one struct that types with a text form of their own contain.
SCHEMA_PROPS = "apiextensions/v1.JSONSchemaProps"
_WRAPPED = frozenset(("v1.ExtraValue", "v1beta1.ExtraValue", "v1.Verbs"))


def is_wrapped(kind: ListType) -> bool:
    """Whether a list is a message with `items` and not a repeated field: a list type with a name of its own."""
    return kind.go_name in _WRAPPED


@dataclass(frozen=True, slots=True)
class FieldNumber:
    """One field of a message: a field of the struct, or (`inlined`) a message of several of them."""

    number: int
    go_name: str
    field: Field | None = None
    inlined: Message | None = None


@dataclass(frozen=True, slots=True)
class Message:
    name: str
    fields: tuple[FieldNumber, ...]


class Messages:
    """`Messages.of("1.36").message(struct)` is how the struct is written; compiled codecs live here too."""

    def __init__(self, catalogue: Catalogue, numbers: dict[str, list[list[Any]]]) -> None:
        self.catalogue = catalogue
        self._numbers = numbers | _metadata_numbers()
        self.encoders: dict[str, Any] = {}  # filled by `encode`
        self.decoders: dict[str, Any] = {}  # filled by `decode`
        self._metadata_only = _metadata_structs(catalogue)

    @staticmethod
    @lru_cache(maxsize=4)
    def of(version: str) -> Messages:
        path = Path(__file__).parent / f"numbers_v{version}.json"
        return Messages(Catalogue.of(version), orjson.loads(path.read_bytes()))

    def kind(self, group: str, version: str, kind: str) -> Struct | None:
        """The struct of a kind; the metadata-only kinds, which the catalogue does not list, included."""
        if group == "meta.k8s.io" and kind.startswith("PartialObjectMetadata"):
            return self._metadata_only.get(f"{version}.{kind}")
        return self.catalogue.kind(group, version, kind)

    def message(self, struct: Struct) -> Message:
        struct = self.struct(struct)
        return self._message(struct.name.rpartition(".")[2], self._numbers[struct.name], struct)

    def struct(self, struct: Struct) -> Struct:
        """This version's own struct of that name: another version's may not know all the numbered fields."""
        mine = self._metadata_only.get(struct.go_name)
        return mine if mine is not None and mine.name == struct.name else self.catalogue.struct(struct.name)

    def _message(self, name: str, rows: list[list[Any]], struct: Struct) -> Message:
        return Message(name, tuple(self._field(row, struct) for row in rows))

    def _field(self, row: list[Any], struct: Struct) -> FieldNumber:
        number, name = row[0], row[1]
        if isinstance(name, list):
            return FieldNumber(number, row[2], inlined=self._message(row[2], name, struct))
        go_name = row[2] if len(row) > 2 else name[:1].upper() + name[1:]
        return FieldNumber(number, go_name, struct.fields[name])


def _metadata_numbers() -> dict[str, list[list[Any]]]:
    v1: list[list[Any]] = [[1, "metadata", "ListMeta"], [2, "items"]]
    v1beta1: list[list[Any]] = [[1, "items"], [2, "metadata", "ListMeta"]]
    return {
        "meta/v1.PartialObjectMetadata": [[1, "metadata", "ObjectMeta"]],
        "meta/v1.PartialObjectMetadataList": v1,
        "meta/v1beta1.PartialObjectMetadataList": v1beta1,
    }


def _metadata_structs(catalogue: Catalogue) -> dict[str, Struct]:
    """PartialObjectMetadata and its lists, by `version.Kind`."""

    def plain(name: str, kind: Struct | ListType) -> Field:
        return Field(name, kind, omit_empty=True, omit_zero=False, pointer=False)

    object_meta, list_meta = catalogue.struct("meta/v1.ObjectMeta"), catalogue.struct("meta/v1.ListMeta")
    one = Struct(
        "meta/v1.PartialObjectMetadata", "v1.PartialObjectMetadata", {"metadata": plain("metadata", object_meta)}
    )
    structs = {"v1.PartialObjectMetadata": one, "v1beta1.PartialObjectMetadata": one}
    for version in ("v1", "v1beta1"):
        structs[f"{version}.PartialObjectMetadataList"] = Struct(
            f"meta/{version}.PartialObjectMetadataList",
            f"{version}.PartialObjectMetadataList",
            {
                "metadata": plain("metadata", list_meta),
                "items": plain("items", ListType(one, "[]v1.PartialObjectMetadata")),
            },
        )
    return structs
