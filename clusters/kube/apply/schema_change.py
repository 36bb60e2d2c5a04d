"""Fields recorded under an older schema of a CRD, brought in line with the present one.

What became atomic is owned as a whole by whoever owned a part of it; what became granular stays as it is.
"""

from __future__ import annotations

from clusters.kube.apply.fieldset import SELF, FieldSet
from clusters.kube.apply.types import DEDUCED, UNTYPED, Type


def reconcile(fields: FieldSet, kind: Type | None) -> FieldSet:
    """The set under the type; `fields` itself if nothing changes."""
    if kind is None:
        return fields
    reconciled = {}
    changed = False
    for element, node in fields.items():
        below = _below(kind, element)
        new = node
        if node and below is not None and below is not DEDUCED and below is not UNTYPED:
            atomic = (below.map or below.list) if below.map is not None or below.scalar is None else None
            children = [each for each in node if each != SELF]
            new = {} if atomic is not None and atomic.atomic and children else reconcile(node, below)
        changed = changed or new is not node
        reconciled[element] = new
    return reconciled if changed else fields


def _below(kind: Type, element: str) -> Type | None:
    if kind.map is not None:
        return kind.map.of(element[2:]) if element.startswith("f:") else kind.map.element
    return kind.list.element if kind.list is not None and element != SELF else None
