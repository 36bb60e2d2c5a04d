"""The sentence that says why a Pod fits nowhere."""

from __future__ import annotations

from clusters.emulated.scheduler.fit_error import Diagnosis
from clusters.emulated.scheduler.status import unresolvable, unschedulable


def test_reasons_are_counted_and_sorted_as_text() -> None:
    diagnosis = Diagnosis()
    for number in range(12):
        diagnosis.add(f"n{number}", unschedulable("Insufficient cpu", *(["Insufficient memory"] * (number < 2))))
    assert diagnosis.message(12) == "0/12 nodes are available: 12 Insufficient cpu, 2 Insufficient memory."


def test_nodes_that_were_not_looked_at_share_a_reason() -> None:
    diagnosis = Diagnosis(absent=unresolvable("Preemption is not helpful for scheduling"))
    diagnosis.add("a", unresolvable("No preemption victims found for incoming pod"))
    assert diagnosis.message(3) == (
        "0/3 nodes are available: 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_what_was_known_before_looking_at_nodes_comes_alone() -> None:
    diagnosis = Diagnosis(pre_filter_message='persistentvolumeclaim "c" not found', post_filter_message="not found")
    assert diagnosis.message(1) == '0/1 nodes are available: persistentvolumeclaim "c" not found. not found'


def test_no_reason_at_all() -> None:
    assert Diagnosis().message(1) == "0/1 nodes are available:"
