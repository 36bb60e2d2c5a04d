"""What the operating system knows of this process, as `process_*` metrics."""

from __future__ import annotations

import os
import resource
from pathlib import Path

_PROC = Path("/proc/self")


def process_gauges() -> dict[str, float]:
    """Empty where there is no /proc; then only the processor time is known."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    values: dict[str, float] = {"process_cpu_seconds_total": round(usage.ru_utime + usage.ru_stime, 2)}
    values["process_max_fds"] = float(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    try:
        fields = (_PROC / "stat").read_text().rpartition(")")[2].split()
        boot_s = next(
            float(line.split()[1]) for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime")
        )
        values["process_open_fds"] = float(len(os.listdir(_PROC / "fd")))  # noqa: PTH208  Only their number matters.
    except OSError:
        return values
    values["process_virtual_memory_bytes"] = float(fields[20])
    values["process_resident_memory_bytes"] = float(fields[21]) * resource.getpagesize()
    values["process_start_time_seconds"] = boot_s + float(fields[19]) / os.sysconf("SC_CLK_TCK")
    return values
