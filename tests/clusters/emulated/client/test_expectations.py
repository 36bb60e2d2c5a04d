"""What a controller has asked for and not yet seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.emulated.client.expectations import ControllerExpectations, UidTrackingExpectations
from clusters.emulated.clock import VirtualClock


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    clock = VirtualClock()
    with clock.running():
        yield clock


def test_they_hold_until_everything_was_seen(clock: VirtualClock) -> None:
    expectations = ControllerExpectations(clock)
    assert expectations.satisfied("shop/web"), "nothing was asked for"
    expectations.expect_creations("shop/web", 2)
    expectations.creation_observed("shop/web")
    assert not expectations.satisfied("shop/web")
    assert expectations.satisfied("shop/other")
    expectations.creation_observed("shop/web")
    assert expectations.satisfied("shop/web")


def test_after_five_minutes_they_are_given_up(clock: VirtualClock) -> None:
    expectations = ControllerExpectations(clock)
    expectations.expect_deletions("shop/web", 1)
    clock.advance(300)
    assert not expectations.satisfied("shop/web")
    clock.advance(1)
    assert expectations.satisfied("shop/web")


def test_a_deletion_that_is_seen_twice_counts_once(clock: VirtualClock) -> None:
    expectations = UidTrackingExpectations(clock)
    expectations.expect_deleted("shop/web", ["shop/web-a", "shop/web-b"])
    expectations.deleted_observed("shop/web", "shop/web-a")
    expectations.deleted_observed("shop/web", "shop/web-a")
    expectations.deleted_observed("shop/web", "shop/foreign")
    assert not expectations.satisfied("shop/web")
    expectations.deleted_observed("shop/web", "shop/web-b")
    assert expectations.satisfied("shop/web")


def test_forgotten_expectations_hold_nothing(clock: VirtualClock) -> None:
    expectations = UidTrackingExpectations(clock)
    expectations.expect_deleted("shop/web", ["shop/web-a"])
    expectations.forget("shop/web")
    assert expectations.satisfied("shop/web")
    assert expectations.pending("shop/web") == (0, 0)
