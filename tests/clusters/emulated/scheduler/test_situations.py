"""What becomes of Pods, compared with what the kube-scheduler of v1.36.4 did with the same objects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clusters.emulated.scheduler.conftest import Scheduled
from tests.clusters.emulated.scheduler.play import Situation
from tests.clusters.emulated.scheduler.situations import SITUATIONS

RECORDED = json.loads((Path(__file__).parent / "situations.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name)
def test_comes_out_as_with_the_real_scheduler(scheduled: Scheduled, situation: Situation) -> None:
    assert scheduled.player.play(situation) == RECORDED[situation.name]
