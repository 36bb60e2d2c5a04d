"""The catalogue as parameters of tests: chosen by `--hop` and `--fault`, with marks and readable ids."""

from __future__ import annotations

from typing import Any

import pytest

import faults
from harness.options import Options


def parameters(options: Options) -> list[Any]:
    """Every entry with its defaults, or those that were asked for."""
    chosen = [*faults.catalogue().values()]
    if options.fault is not None:
        try:
            chosen = [type(faults.fault(options.fault))]
        except faults.UnknownFaultError as error:
            raise pytest.UsageError(str(error)) from None
    if options.hop is not None:
        chosen = [each for each in chosen if each.hop == options.hop]
    return [
        pytest.param(
            each(),
            id=each.id,
            marks=[pytest.mark.hop(each.hop), pytest.mark.fault(each.id), pytest.mark.needs(*each.needs)],
        )
        for each in chosen
    ]
