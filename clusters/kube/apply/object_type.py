"""What server-side apply knows of one version of a kind: its type, and how an object of it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusters.kube.apply.types import DEDUCED, Type, of_schema, of_struct
from clusters.kube.schema.model import Struct
from clusters.kube.schema.shape import shape


@dataclass(frozen=True, slots=True, eq=False)
class ObjectType:
    """Build it once per kind and version (per CRD generation for custom resources) and keep it."""

    root: Type
    struct: Struct | None = None
    #: Whether the type may have changed since fields were recorded: CRDs can, built-in kinds cannot.
    may_change: bool = False

    @staticmethod
    def of_struct(struct: Struct) -> ObjectType:
        return ObjectType(of_struct(struct), struct)

    @staticmethod
    def of_schema(schema: dict[str, Any] | None, object_meta: Struct) -> ObjectType:
        """A custom resource's; without a schema every map is merged and every list is one field."""
        root = DEDUCED if schema is None else of_schema(schema, object_meta)
        return ObjectType(root, may_change=schema is not None)

    def written(self, obj: dict[str, Any] | None) -> dict[str, Any]:
        """The object with the zero values that Go writes; nothing for an object that is not there."""
        if self.struct is None:
            return {} if obj is None else obj
        return shape(self.struct, obj or {})
