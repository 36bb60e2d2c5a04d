"""The printers of the built-in kinds, by (group, kind)."""

from __future__ import annotations

from clusters.emulated.apiserver.tables.printer import Printer

PRINTERS: dict[tuple[str, str], Printer] = {}
