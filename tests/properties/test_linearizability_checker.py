"""The checker accepts what can be explained and catches what cannot."""

from __future__ import annotations

from math import inf

import pytest
from linearizability import Operation, check

CREATE = Operation("write", 0, 1, b"1", 0, revision=2)
UPDATE = Operation("write", 2, 3, b"2", 2, revision=3)


def read(started: float, ended: float, shown: tuple[int, bytes] | None) -> Operation:
    return Operation("read", started, ended, shown=shown)


@pytest.mark.parametrize(
    "operations",
    [
        [CREATE, UPDATE, read(4, 5, (3, b"2"))],
        [CREATE, UPDATE, read(2, 3, (2, b"1")), read(2, 3, (3, b"2"))],  # overlaps: before or after
        [CREATE, Operation("write", 2, 3, b"2", 9, "refused", shown=(2, b"1"))],
        [CREATE, Operation("write", 2, inf, b"2", 2, "uncertain"), read(4, 5, (2, b"1"))],
        [
            CREATE,
            Operation("write", 2, inf, b"2", 2, "uncertain"),
            read(4, 5, (2, b"1")),
            read(6, 7, (3, b"2")),
        ],
        [CREATE, Operation("delete", 2, 3, expected=2), read(4, 5, None)],
    ],
)
def test_what_an_order_explains_is_linearizable(operations: list[Operation]) -> None:
    assert check(operations) == "linearizable"


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([CREATE, UPDATE, read(4, 5, (2, b"1"))], id="stale read"),
        pytest.param([CREATE, read(4, 5, None)], id="lost write"),
        pytest.param([CREATE, UPDATE, Operation("write", 2, 3, b"3", 2, revision=4)], id="two writes on one revision"),
        pytest.param([CREATE, UPDATE, read(2, 2.4, (3, b"2")), read(2.5, 3, (2, b"1"))], id="a read goes back in time"),
        pytest.param(
            [CREATE, Operation("write", 2, 3, b"2", 2, "refused", shown=(2, b"1"))],
            id="refused without reason",
        ),
        pytest.param(
            [
                CREATE,
                Operation("write", 2, inf, b"2", 2, "uncertain"),
                read(4, 5, (3, b"2")),
                read(6, 7, (2, b"1")),
            ],
            id="an uncertain write undone",
        ),
        pytest.param([CREATE, Operation("write", 2, 3, b"2", 2, revision=2)], id="a revision used twice"),
    ],
)
def test_what_no_order_explains_is_a_violation(operations: list[Operation]) -> None:
    assert check(operations) == "violation"
