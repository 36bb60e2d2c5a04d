"""Clients that nobody here wrote. Each test runs where its client is present, and says what is missing otherwise.

Binaries are looked for on PATH, beside this Python, and in the folder that KUBEBUILDER_ASSETS names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.emulated.cluster import EmulatedCluster

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def emulated() -> Iterator[EmulatedCluster]:
    """A fresh cluster that was asked for its kubeconfig, so it serves HTTPS."""
    with EmulatedCluster() as cluster:
        assert cluster.kubeconfig.exists()
        yield cluster


@pytest.fixture
def kubeconfig(emulated: EmulatedCluster, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The emulated cluster's kubeconfig, which is also the only one that clients find by themselves."""
    for name in os.environ:
        if name.startswith("KUBE"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KUBECONFIG", str(emulated.kubeconfig))
    return emulated.kubeconfig
