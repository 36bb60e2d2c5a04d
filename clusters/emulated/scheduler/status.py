"""What a plugin answers about a Pod, or about a Pod on one node. Success is `None`: the common case costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    UNSCHEDULABLE = "Unschedulable"  # Preemption may help.
    UNRESOLVABLE = "UnschedulableAndUnresolvable"  # Removing pods from the node would not help.
    ERROR = "Error"  # Something unexpected; tried again after a back-off.
    SKIP = "Skip"  # This plugin has nothing to do with this Pod; its later steps are left out.


@dataclass(frozen=True, slots=True)
class Status:
    """A refusal: its code, the reasons in the user's words, and the plugin that said so."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def rejected(self) -> bool:
        return self.code is Code.UNSCHEDULABLE or self.code is Code.UNRESOLVABLE

    def by(self, plugin: str) -> Status:
        return Status(self.code, self.reasons, plugin)


SKIP = Status(Code.SKIP)


def unschedulable(*reasons: str) -> Status:
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    return Status(Code.UNRESOLVABLE, reasons)


def error(message: str) -> Status:
    return Status(Code.ERROR, (message,))
