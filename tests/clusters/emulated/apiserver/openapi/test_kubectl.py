"""kubectl against the documents, over HTTPS."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusters.emulated.cluster import EmulatedCluster

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on PATH")

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1"}]
"""
Kubectl = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmulatedCluster]:
    with EmulatedCluster() as cluster:
        yield cluster


@pytest.fixture
def kubectl(cluster: EmulatedCluster, tmp_path: Path) -> Kubectl:
    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(cluster.kubeconfig)}
        command = ["kubectl", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, timeout=60)

    return run


def test_an_unknown_field_is_refused_before_anything_is_stored(kubectl: Kubectl) -> None:
    wrong = DEPLOYMENT.replace("replicas: 2", "replicaz: 2")
    result = kubectl("create", "--validate=strict", "-f", "-", stdin=wrong)
    assert result.returncode == 1
    assert 'unknown field "spec.replicaz"' in result.stderr


def test_apply_and_diff_merge_by_the_schemas(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=DEPLOYMENT).stdout == "deployment.apps/web created\n"
    changed = DEPLOYMENT.replace("web:1", "web:2")
    difference = kubectl("diff", "-f", "-", stdin=changed)
    assert difference.returncode == 1
    assert "image: web:2" in difference.stdout
    assert kubectl("apply", "-f", "-", stdin=changed).stdout == "deployment.apps/web configured\n"
    applied = kubectl("apply", "--server-side", "-f", "-", stdin=changed)
    assert applied.stdout == "deployment.apps/web serverside-applied\n"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("explain", "pods.spec.containers", "--recursive"), "imagePullPolicy\t<string>"),
        (("explain", "deployment", "--api-version=apps/v1"), "GROUP:      apps"),
        (("explain", "pods", "--output=plaintext-openapiv2"), "KIND:     Pod\nVERSION:  v1\n"),
        (("explain", "pod.spec.restartPolicy"), "ENUM:\n    Always\n    Never\n    OnFailure"),
    ],
)
def test_explain_reads_the_documents(kubectl: Kubectl, arguments: tuple[str, ...], shown: str) -> None:
    result = kubectl(*arguments)
    assert shown in result.stdout, result.stderr
