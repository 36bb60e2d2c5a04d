"""Where the clients are: binaries on PATH, beside this Python, and in KUBEBUILDER_ASSETS."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest


def folders() -> list[Path]:
    """Where to look, in order."""
    named = [os.environ.get("KUBEBUILDER_ASSETS", ""), *os.environ.get("PATH", "").split(os.pathsep)]
    return [*(Path(folder) for folder in named if folder), Path(sys.executable).parent]


def find(name: str) -> Path | None:
    found = shutil.which(name, path=os.pathsep.join(map(str, folders())))
    return None if found is None else Path(found)


def required(name: str) -> Path:
    """The binary; where there is none, the test is skipped."""
    found = find(name)
    if found is None:
        pytest.skip(f"no {name} here: put one on PATH, or into the folder that KUBEBUILDER_ASSETS names")
    return found


def kubectls() -> dict[str, Path]:
    """Every kubectl of 1.30 to 1.37 here, by minor version: files named kubectl, kubectl-1.30 and the like."""
    found: dict[str, Path] = {}
    for binary in _named_kubectl():
        version = _minor(binary)
        if version is not None and 30 <= int(version.partition(".")[2]) <= 37:
            found.setdefault(version, binary)
    return dict(sorted(found.items()))


def _named_kubectl() -> Iterator[Path]:
    for folder in folders():
        if folder.is_dir():
            for each in sorted(folder.glob("kubectl*")):
                if re.fullmatch(r"kubectl(-?v?\d\.\d+(\.\d+)?)?", each.name) and os.access(each, os.X_OK):
                    yield each


def _minor(binary: Path) -> str | None:
    done = subprocess.run([binary, "version", "--client", "-o", "json"], capture_output=True, timeout=60, check=False)
    if done.returncode:
        return None
    version = orjson.loads(done.stdout)["clientVersion"]["gitVersion"]
    matched = re.match(r"v(\d+\.\d+)", version)
    return None if matched is None else matched[1]
