from __future__ import annotations

from pathlib import Path

import pytest

from harness.kubectl import Kubectl, KubectlFailedError


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Something that is called as kubectl is, and tells what it was given."""
    file = tmp_path / "kubectl"
    file.write_text('#!/bin/sh\ncat\necho "$KUBECONFIG $KUBERNETES_SERVICE_HOST $*"\necho oops >&2\nexit ${2:-0}\n')
    file.chmod(0o700)
    return file


def test_it_uses_the_clusters_kubeconfig_and_no_other(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    ran = Kubectl(script, tmp_path / "config")("get", stdin="in ")
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, f"in {tmp_path}/config  get\n", "oops\n")


def test_an_unexpected_exit_code_fails_the_test_with_what_was_printed(script: Path, tmp_path: Path) -> None:
    kubectl = Kubectl(script, tmp_path / "config")
    assert kubectl("get", "3", exit_code=3).exit_code == 3
    assert kubectl("get", "3", exit_code=None).exit_code == 3
    with pytest.raises(KubectlFailedError, match="ended with 3, expected was 0"):
        kubectl("get", "3")
