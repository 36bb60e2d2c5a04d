"""Building a Table from objects, for any kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.tables.printer import DEFAULT, Printer
from clusters.emulated.clock import Clock
from clusters.kube import errors

Object = dict[str, Any]


def table(
    served: Served,
    items: list[Stored],
    metadata: Object,
    query: Mapping[str, list[str]],
    clock: Clock,
    version: str,
) -> Object:
    """The Table of these objects; `?includeObject=` says how much of each object a row carries."""
    include = (query.get("includeObject") or ["Metadata"])[0] or "Metadata"
    if include not in ("None", "Metadata", "Object"):
        from clusters.kube.field import not_supported

        problem = not_supported("includeObject", include, ("Metadata", "None", "Object", ""))
        raise errors.invalid("TableOptions.meta.k8s.io", "", [problem])
    printer = printer_of(served)
    now_s = clock.now_s()
    order = printer.order
    if order is not None:
        items = sorted(items, key=lambda each: order(each.object))
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in printer.columns],
        "rows": [_row(printer, served, each, now_s, include, version) for each in items] or _no_rows(printer),
    }


def _no_rows(printer: Printer) -> list[Object] | None:
    """Kinds without columns of their own have no list to be empty, but null."""
    return None if printer is DEFAULT else []


def printer_of(served: Served) -> Printer:
    custom = getattr(served, "printer", None)
    if custom is not None:
        return custom  # type: ignore[no-any-return]
    from clusters.emulated.apiserver.tables.printers import PRINTERS  # Loaded when first looked at.

    return PRINTERS.get((served.resource.group, served.resource.kind), DEFAULT)


def _row(printer: Printer, served: Served, stored: Stored, now_s: float, include: str, version: str) -> Object:
    obj = served.to_version(stored.object)
    # One printer serves all versions of a built-in kind; a custom resource's columns name its version's fields.
    shown = obj if served.struct is None else stored.object
    row: Object = {"cells": printer.cells(shown, now_s)}
    conditions = printer.conditions(shown) if printer.conditions is not None else None
    if conditions:
        row["conditions"] = conditions
    if include == "Metadata":
        kind = {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}"}
        row["object"] = {**kind, "metadata": obj["metadata"]}
    else:
        row["object"] = orjson.Fragment(served.body(stored)) if include == "Object" else None
    return row
