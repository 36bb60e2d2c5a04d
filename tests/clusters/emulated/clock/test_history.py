"""The same seed gives the same history, in one process and in another; another seed gives another."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from clusters.emulated.history import History
from tests.clusters.emulated.clock import busy_scenario


@pytest.fixture(scope="module")
def first() -> History:
    return busy_scenario.run(7)


def test_the_same_seed_gives_the_same_history(first: History) -> None:
    second = busy_scenario.run(7)
    assert first.difference(second) is None
    assert first.digest() == second.digest()
    done = " ".join(entry.what for entry in first.entries())
    assert "PUT /registry/secrets/mill/" in done, "the controller got its work done"
    assert "PATCH /api/v1/namespaces/" in done, "events were counted"
    assert first.length > 1000


def test_another_seed_gives_another_history(first: History) -> None:
    other = busy_scenario.run(8)
    assert first.digest() != other.digest()
    assert first.difference(other) is not None


def test_the_same_seed_gives_the_same_history_in_another_process(first: History) -> None:
    """Also where Python orders its sets differently."""
    command = [sys.executable, "-m", "tests.clusters.emulated.clock.busy_scenario", "7"]
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert told.split() == [first.digest(), str(first.length)]
