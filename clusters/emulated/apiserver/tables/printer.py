"""How one kind looks in a table: its columns, and the cells of one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Cells = list[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """`priority` 0 is always shown, 1 only with `-o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> Object:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    """`cells(obj, now_s)` gives one cell per column; `conditions` optionally marks a row (a finished Pod).

    Built-in kinds are given in the version they are stored in. `order` sorts the rows of a list; without it they
    stay in the list's order.
    """

    columns: Sequence[Column]
    cells: Callable[[Object, float], Cells]
    conditions: Callable[[Object], list[Object] | None] | None = None
    order: Callable[[Object], Any] | None = None


NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may "
    "allow a client to request the generation of an appropriate name automatically. Name is primarily intended "
    "for creation idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
    "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. "
    "It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. "
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)

NAME = Column("Name", format="name", description=NAME_DESCRIPTION)
CREATED_AT = Column("Created At", type="date", description=CREATED_DESCRIPTION)


def _name_and_creation(obj: Object, now_s: float) -> Cells:
    metadata = obj["metadata"]
    return [metadata.get("name", ""), metadata.get("creationTimestamp")]


DEFAULT = Printer((NAME, CREATED_AT), _name_and_creation)
