"""The failure table, live: every entry happens for its real reason, is recognised by its symptom, and heals.

pytest suites/test_failure_table.py --hop 7
pytest suites/test_failure_table.py --fault fsync-stall
"""

from __future__ import annotations

import pytest

from faults import Fault
from harness.injecting import gate
from harness.symptoms import Observer


@pytest.mark.cluster(clock="virtual")
def test_failure(fault: Fault, observer: Observer) -> None:
    gate(fault, observer)
