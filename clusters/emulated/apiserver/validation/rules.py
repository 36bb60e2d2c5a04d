"""What Kubernetes fills in and checks for one kind. The base class is the kind without any rule of its own.

Rules are pure: they see objects (plain dicts in the shape of the kind's storage version, already decoded
against the Go types: known fields only, right JSON types, quantities canonical) and return field errors.
They never look anything up; what needs other objects is admission (hops 4 and 6) or the registry.

The order in which the registry calls them, for a create through POST:

    decode → default → mutating admission → default → prepare_create → validate_create → canonicalize
           → validating admission → store

and for an update (PUT, or PATCH after the patch is applied):

    decode → default → mutating admission → prepare_update → validate_update → canonicalize → …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from clusters.kube.field import FieldError

Object = dict[str, Any]


class KindRules:
    """One subclass per kind, one instance per process (stateless). `obj` may be changed in place where
    the method returns None; `old` is never changed."""

    group: ClassVar[str] = ""
    kind: ClassVar[str]

    #: PUT to a name that does not exist creates it (Leases, Events, Endpoints … say so).
    allow_create_on_update: ClassVar[bool] = False
    #: PUT without a resourceVersion overwrites whatever is there.
    allow_unconditional_update: ClassVar[bool] = True
    #: The kind checks metadata itself, in its own order: the caller does not.
    validates_metadata: ClassVar[bool] = False
    #: A finalizer must be one that Kubernetes knows or have a prefix: not in groups that were split from the core.
    checks_finalizer_names: ClassVar[bool] = True
    #: What an update through the main endpoint, and through status, checks of metadata beyond what is asked of
    #: every kind: what may not change (`update`), a whole ObjectMeta (`whole`), `both`, or `nothing`.
    metadata_on_update: ClassVar[str] = "update"
    metadata_on_status: ClassVar[str] = "update"
    #: Top-level fields whose change bumps metadata.generation; empty means the kind has no generation.
    generation_fields: ClassVar[tuple[str, ...]] = ()

    def default(self, obj: Object) -> None:
        """Fill in what the API defaults when decoding (SetDefaults_…)."""

    def prepare_create(self, obj: Object) -> None:
        """Drop what a client may not set on create (status), start generation at 1, …"""

    def validate_create(self, obj: Object) -> list[FieldError]:
        """All that is wrong with a new object, in Kubernetes' order. metadata is checked by the caller with
        `validate_metadata` unless `validates_metadata` is set."""
        return []

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        """Texts that say why `name` is no name for this kind; `prefix` for a generateName."""
        from clusters.kube.names import dns_subdomain

        return dns_subdomain(name, prefix)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Put back what this endpoint may not change (status), bump generation, …"""

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_create(obj)

    def prepare_status(self, obj: Object, old: Object) -> None:
        """An update through the status subresource: everything but status comes from `old`."""
        for name in [name for name in obj if name not in ("status", "metadata", "kind", "apiVersion")]:
            del obj[name]
        for name, value in old.items():
            if name not in ("status", "metadata", "kind", "apiVersion"):
                obj[name] = value

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return []

    def canonicalize(self, obj: Object) -> None:
        """Last touch before storing, after validation."""

    def warnings_create(self, obj: Object) -> list[str]:
        return []

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return []

    def tolerated(self) -> Sequence[str]:
        """Warnings about what the last validation let pass only because it was so before."""
        return ()

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        """What a field selector can ask for, beyond metadata.name and metadata.namespace."""
        return {}
