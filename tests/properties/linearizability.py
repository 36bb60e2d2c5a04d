"""Is there an order of the operations on one key that explains every answer? (Wing and Gong's search.)

An order may swap operations that overlapped in time, never ones where one had ended before the other began.
An operation without a certain answer may have happened at any time after its start, or never.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final, Literal

STEPS_MAX: Final = 2_000_000

Verdict = Literal["linearizable", "violation", "unknown"]
State = tuple[int, bytes] | None  # mod_revision and value; None while the key does not exist


@dataclass(frozen=True)
class Operation:
    """One call. `expected` is the revision that a write demands (0: absent); each written value is unique.

    A write that was refused, and a read, carry the state that they were shown in `shown`; a refusal that did
    not show it has `told` false.
    """

    kind: Literal["write", "delete", "read"]
    started: float
    ended: float  # inf when the answer is not certain
    value: bytes = b""
    expected: int = 0
    outcome: Literal["done", "refused", "uncertain"] = "done"
    revision: int = 0  # of a write that is done
    shown: State = None
    told: bool = True


def check(operations: list[Operation]) -> Verdict:
    """The verdict on the operations of one key, which begins absent. "unknown": the search was too long."""
    learned = {o.shown[1]: o.shown[0] for o in operations if o.shown is not None}
    ordered = sorted(operations, key=lambda o: o.started)
    certain = sum(1 << i for i, o in enumerate(ordered) if o.ended != inf)
    seen: set[tuple[int, State]] = set()
    stack: list[tuple[int, State]] = [(0, None)]  # which operations have happened, and the state after them
    steps = 0
    while stack:
        done, state = stack.pop()
        if done & certain == certain:
            return "linearizable"
        if (done, state) in seen:
            continue
        seen.add((done, state))
        # Only what began before every pending operation's end may come next.
        deadline = min(o.ended for i, o in enumerate(ordered) if not done >> i & 1)
        for i, operation in enumerate(ordered):
            if done >> i & 1 or operation.started > deadline:
                continue
            steps += 1
            if steps > STEPS_MAX:
                return "unknown"
            for after in _steps(operation, state, learned):
                stack.append((done | 1 << i, after))
    return "violation"


def _steps(operation: Operation, state: State, learned: dict[bytes, int]) -> list[State]:
    """The states that this operation can lead to from here; none if its answer contradicts the state."""
    if operation.kind == "read":
        return [state] if operation.shown == state else []
    matches = (0 if state is None else state[0]) == operation.expected
    if operation.outcome == "refused":
        return [state] if not matches and (operation.shown == state or not operation.told) else []
    if not matches:
        return [state] if operation.outcome == "uncertain" else []
    if operation.kind == "delete":
        return [None] if state is not None else []
    if operation.outcome == "done":
        grows = state is None or operation.revision > state[0]
        return [(operation.revision, operation.value)] if grows else []
    # Nobody was told this write's revision. If its value was never shown to anyone, no later write can have
    # expected it, so any number that no one uses will do.
    return [(learned.get(operation.value, -operation.expected - 1), operation.value)]
