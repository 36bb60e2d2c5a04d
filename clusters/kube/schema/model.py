"""What a type is made of. Built once per process from the version's data file, then only read.

A field of type `*int32` with `omitempty` named replicas is
`Field("replicas", Scalar("int32", "int32"), omit_empty=True, pointer=True, …)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(slots=True, eq=False)
class Scalar:
    """A leaf. `kind` is one of bool, string, int32, int64, float64, bytes, any, or the Go name of a type
    that reads itself (`v1.Time`, `v1.MicroTime`, `resource.Quantity`, `intstr.IntOrString`,
    `runtime.RawExtension`, `v1.FieldsV1`, `v1.JSON`, …); `go_name` is what Go's messages call it
    (`v1.RestartPolicy`)."""

    kind: str
    go_name: str


@dataclass(slots=True, eq=False)
class ListType:
    element: Type
    go_name: str


@dataclass(slots=True, eq=False)
class MapType:
    element: Type
    go_name: str


@dataclass(slots=True, eq=False)
class Struct:
    """`name` identifies the struct (`apps/v1.DeploymentSpec`), `go_name` is Go's (`v1.DeploymentSpec`)."""

    name: str
    go_name: str
    fields: dict[str, Field] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    #: `atomic` when server-side apply treats the whole struct as one value (LabelSelector, references).
    map_type: str = "granular"
    decoder: Any = None  # compiled by `decode`
    shaper: Any = None  # compiled by `shape`

    @property
    def short_name(self) -> str:
        return self.go_name.rpartition(".")[2]


Type: TypeAlias = Scalar | ListType | MapType | Struct


@dataclass(slots=True, eq=False)
class Field:
    name: str
    type: Type
    omit_empty: bool
    omit_zero: bool
    pointer: bool
    #: Strategic merge: `merge`, `replace`, `retainKeys` or a comma-separated mix; and the key to merge by.
    patch_strategy: str = ""
    patch_merge_key: str = ""
    #: Server-side apply: `atomic`, `set`, `map` for lists ("" means atomic); keys of a `map` list.
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    #: The declared default, used by server-side apply to fill in missing list-map keys (protocol TCP).
    default: Any = None
    #: The Go structs between the struct and this field (`VolumeSource`): JSON does not show them, errors do.
    embedded_in: str = ""
