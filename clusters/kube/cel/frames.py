"""The frame a program runs in, and what the planner knows about a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Frame = list[Any]
Evaluate = Callable[[Frame], Any]

# The first two places of a frame are the cost so far and its limit.
FIRST_SLOT = 2

VALUE = 0
CONSTANT = 1
# A variable with its selectors: as a branch of ?: or as an index it costs one less (cel-go's rule).
ATTRIBUTE = 2
CONDITIONAL = 3


class Plan:
    """How to evaluate a node, what that always costs, and what sort of step it is.

    ``chain`` is (slot, fields, may the slot be unbound) while the step is just ``variable.field.field``.
    """

    __slots__ = ("chain", "cost", "evaluate", "kind", "value")

    def __init__(
        self,
        evaluate: Evaluate,
        cost: int,
        kind: int,
        value: Any = None,
        chain: tuple[int, tuple[str, ...], bool] | None = None,
    ) -> None:
        self.evaluate = evaluate
        self.cost = cost
        self.kind = kind
        self.value = value
        self.chain = chain

    @classmethod
    def constant(cls, value: Any) -> Plan:
        return cls(lambda frame: value, 0, CONSTANT, value)
