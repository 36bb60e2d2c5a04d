"""Ages as people read them: `45s`, `3m5s`, `2d4h`, `5y`, always two or three significant figures."""

from __future__ import annotations

from clusters.kube.timestamps import unix_s

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 24 * 3600, 365 * 24 * 3600


def human_duration(duration_s: float) -> str:
    """
    >>> human_duration(119), human_duration(130), human_duration(3 * 3600 + 300), human_duration(9 * 86400)
    ('119s', '2m10s', '3h5m', '9d')
    """
    seconds = int(duration_s)  # Towards zero, as Go converts.
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds // _MINUTE, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds // _HOUR, "h", seconds // _MINUTE % 60, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds // _DAY, "d", seconds // _HOUR % 24, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds // _YEAR, "y", seconds // _DAY % 365, "d")
    return f"{seconds // _YEAR}y"


def since(timestamp: str | None, now_s: float) -> str:
    """How long ago a timestamp of the API was."""
    return human_duration(now_s - unix_s(timestamp)) if timestamp else UNKNOWN


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
