"""The printers of the built-in kinds, by (group, kind).

Columns are recorded from a real server (`columns.json`); how a row's cells come about is code. Kinds without code
have the two columns that every kind has, name and creation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from clusters.emulated.apiserver.tables import (
    access,
    admission,
    apps,
    autoscaling,
    batch,
    core,
    networking,
    pods,
    scheduling,
    storage,
)
from clusters.emulated.apiserver.tables.printer import Column, Printer

_MODULES = (pods, core, apps, batch, networking, storage, autoscaling, admission, access, scheduling)


def _load() -> dict[tuple[str, str], Printer]:
    recorded: dict[str, Any] = orjson.loads(Path(__file__).with_name("columns.json").read_bytes())
    descriptions: list[str] = recorded["descriptions"]
    printers: dict[tuple[str, str], Printer] = {}
    for module in _MODULES:
        for (group, kind), cells in module.CELLS.items():
            columns = tuple(
                Column(name, type, format, descriptions[description], priority)
                for name, type, format, description, priority in recorded["columns"][f"{group}/{kind}"]
            )
            printers[group, kind] = Printer(
                columns,
                cells,
                pods.row_conditions if module is pods else None,
                order=access.flow_schema_order if kind == "FlowSchema" else None,
            )
    return printers


PRINTERS: dict[tuple[str, str], Printer] = _load()
