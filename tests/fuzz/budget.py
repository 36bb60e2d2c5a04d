"""How long to search: a short, repeatable run by default; KAPUT_FUZZ=long goes on for minutes and draws anew."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

LONG = os.environ.get("KAPUT_FUZZ") == "long"

FUZZ = settings(
    max_examples=3000 if LONG else 60,
    stateful_step_count=60 if LONG else 20,
    derandomize=not LONG,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
