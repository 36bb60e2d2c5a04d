"""What an admission plugin is shown, and what a plugin is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from clusters.emulated.apiserver.admission.reinvocation import Reinvocation
from clusters.emulated.apiserver.request import Request, UserInfo

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
Object = dict[str, Any]


@dataclass(slots=True)
class Attributes:
    """One admission question. `object` may be changed in place (or replaced) by mutating plugins;
    `old_object` is never changed. Both are in the storage version's shape; `version` and `kind` are the
    request's. For CONNECT the object is the options object (PodExecOptions …)."""

    operation: Operation
    group: str
    version: str
    kind: str
    resource: str
    subresource: str
    namespace: str
    name: str
    object: Object | None
    old_object: Object | None
    options: Object  # CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as a dict
    dry_run: bool
    user: UserInfo
    request: Request
    namespaced: bool = True
    #: Filled by the chain; webhooks and mutating policies note in it what must run again.
    reinvocation: Reinvocation | None = None

    @property
    def group_resource(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class AdmissionPlugin:
    """One rule of the house. This base class admits everything; override one or both methods.

    Refuse by raising a `StatusError` (usually `errors.forbidden(attributes.group_resource, name, why)`).
    """

    name: str = ""
    operations: frozenset[str] = frozenset(("CREATE", "UPDATE", "DELETE", "CONNECT"))
    #: The GroupResources it looks at (`pods`, `deployments.apps`); None for every one. The chain calls
    #: it for no others, so most requests pass most plugins at no cost.
    resources: frozenset[str] | None = None

    async def admit(self, attributes: Attributes) -> None:
        """Hop 4: may change `attributes.object`."""

    async def validate(self, attributes: Attributes) -> None:
        """Hop 6: sees the final object, changes nothing."""
