from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.options import (
    BadClockError,
    BadOptionError,
    BadVersionError,
    Options,
    clock_factor,
    minor_version,
    read_options,
)


def given(**values: Any) -> Callable[[str], Any]:
    return values.get


@pytest.mark.parametrize(
    ("command_line", "environment", "ini", "expected"),
    [
        ({}, {}, {}, "real"),
        ({}, {}, {"kaput_clock": "scaled:2"}, "scaled:2"),
        ({}, {"KAPUT_CLOCK": "scaled:3"}, {"kaput_clock": "scaled:2"}, "scaled:3"),
        ({"clock": "scaled:4"}, {"KAPUT_CLOCK": "scaled:3"}, {"kaput_clock": "scaled:2"}, "scaled:4"),
    ],
)
def test_the_command_line_goes_before_the_environment_before_the_ini_file(
    command_line: dict[str, str], environment: dict[str, str], ini: dict[str, str], expected: str
) -> None:
    assert read_options(given(**command_line), given(**ini), environment).clock == expected


def test_a_seed_is_a_number() -> None:
    assert read_options(given(seed="7"), given(), {}).seed == 7
    with pytest.raises(BadOptionError, match="whole number, not 'x'"):
        read_options(given(seed="x"), given(), {})


def test_flags_in_the_environment() -> None:
    assert read_options(given(), given(), {"KAPUT_KEEP": "1"}).keep is True
    assert read_options(given(), given(), {"KAPUT_KEEP": "0"}).keep is False


def test_unknown_backends_and_marks_are_refused_with_what_there_is() -> None:
    with pytest.raises(BadOptionError, match="give one of: emulated"):
        Options(cluster="kind")
    with pytest.raises(BadOptionError, match="the mark cluster knows no speed"):
        Options().with_changes({"speed": 3})


@pytest.mark.parametrize(("text", "factor"), [("real", 1.0), ("scaled:60", 60.0), ("scaled:0.5", 0.5)])
def test_clocks(text: str, factor: float) -> None:
    assert clock_factor(text) == factor


@pytest.mark.parametrize("text", ["", "scaled", "scaled:", "scaled:0", "scaled:-1", "scaled:inf", "scaled:nan"])
def test_what_is_no_clock(text: str) -> None:
    with pytest.raises(BadClockError):
        clock_factor(text)


def test_versions() -> None:
    assert [minor_version(text) for text in ("1.36", "v1.36", "v1.36.4")] == ["1.36"] * 3
    for text in ("1", "one", "1.36.x", "1.2"):
        with pytest.raises(BadVersionError):
            minor_version(text)
