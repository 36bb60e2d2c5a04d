"""`--keep`: after a failed test its cluster stays up, for kubectl in another shell, until Enter or Ctrl-C."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from clusters.base import Cluster


def wait_with(cluster: Cluster, config: pytest.Config) -> None:
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    try:
        sys.stderr.write(
            f"\nkaput: the test failed and its cluster is still up\n"
            f"export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}\n"
            "kaput: Enter goes on with the next test\n"
        )
        sys.stderr.flush()
        sys.stdin.readline()
    finally:
        if capture is not None:
            capture.resume_global_capture()
