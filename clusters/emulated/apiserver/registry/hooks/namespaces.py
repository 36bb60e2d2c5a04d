"""Namespaces are emptied before they go.

DELETE                                  phase Terminating, deletionTimestamp = now
content removed, PUT …/finalize         spec.finalizers empty: gone with that write, unless metadata.finalizers
                                        still holds it, then with the write that empties those
"""

from __future__ import annotations

from clusters.emulated.apiserver.options import DeleteOptions
from clusters.emulated.apiserver.registry.hooks.contract import Hooks, Object
from clusters.kube import errors

_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


class NamespaceHooks(Hooks):
    def check_delete(self, obj: Object, options: DeleteOptions) -> None:
        """Preconditions, in words that only Namespaces use."""
        metadata = obj["metadata"]
        for name, wanted, field in (
            ("UID", options.precondition_uid, "uid"),
            ("ResourceVersion", options.precondition_resource_version, "resourceVersion"),
        ):
            found = metadata.get(field, "")
            if wanted is not None and wanted != found:
                text = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {found}"
                raise errors.conflict("namespaces", metadata["name"], text)

    def mark_deleting(self, obj: Object, options: DeleteOptions, now: str) -> bool | None:
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return False if (obj.get("spec") or {}).get("finalizers") else None
        metadata["deletionTimestamp"] = now
        obj.setdefault("status", {})["phase"] = "Terminating"
        finalizers = _finalizers(metadata.get("finalizers") or [], options)
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        return True

    def may_delete_during_update(self, obj: Object) -> bool:
        return not (obj.get("spec") or {}).get("finalizers")


def _finalizers(present: list[str], options: DeleteOptions) -> list[str]:
    orphan, foreground = _ORPHAN in present, _FOREGROUND in present
    if options.orphan_dependents is not None:
        orphan, foreground = options.orphan_dependents, not options.orphan_dependents
    elif options.propagation_policy is not None:
        orphan = options.propagation_policy == "Orphan"
        foreground = options.propagation_policy == "Foreground"
    if (orphan, foreground) == (_ORPHAN in present, _FOREGROUND in present):
        return present
    kept = [name for name in present if name not in (_ORPHAN, _FOREGROUND)]
    return kept + [_ORPHAN] * orphan + [_FOREGROUND] * foreground
