"""Apply conflicts: fields that the configuration changes and that somebody else owns."""

from __future__ import annotations

from clusters.kube.apply.elements import printed
from clusters.kube.apply.entries import Manager
from clusters.kube.apply.fieldset import FieldSet, Path, from_paths, paths
from clusters.kube.errors import StatusError, apply_conflict


class ConflictsError(Exception):
    """What stands in the way of an apply; `force` takes the fields over."""

    def __init__(self, found: list[tuple[Manager, Path]]) -> None:
        super().__init__(f"{len(found)} conflicts")
        self.found = found

    @staticmethod
    def of(sets: dict[Manager, FieldSet]) -> ConflictsError:
        managers = sorted(sets, key=Manager.identifier)
        return ConflictsError([(manager, path) for manager in managers for path in paths(sets[manager])])

    def fields(self) -> FieldSet:
        return from_paths(*(path for _, path in self.found))

    def status_error(self) -> StatusError:
        shown = [(manager.printed(), "".join(map(printed, path))) for manager, path in self.found]
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
            for manager, path in shown
        ]
        if len(shown) == 1:
            manager, path = shown[0]
            return apply_conflict(causes, f"Apply failed with 1 conflict: conflict with {manager}: {path}")
        lines: list[str] = []
        last: Manager | None = None
        for (owner, _), (manager, path) in zip(self.found, shown, strict=True):
            if owner != last:
                lines.append(f"conflicts with {manager}:")
                last = owner
            lines.append(f"- {path}")
        return apply_conflict(causes, f"Apply failed with {len(shown)} conflicts: " + "\n".join(lines))
