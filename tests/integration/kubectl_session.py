"""A session at the terminal: commands, and what each of them prints and ends with.

`session/recorded-<version>.txt` was printed by that kubectl in front of a real kube-apiserver v1.36.4 without
controllers. To record another version, give it such a server, empty and with a kubeconfig that may be changed:

    python tests/integration/kubectl_session.py /path/to/kubectl /path/to/kubeconfig > recorded-1.37.txt
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SESSION = Path(__file__).parent / "session"
TIMEOUT_S = 60.0

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
#: What differs between two runs of the same session in front of the same server, and its stand-in.
_VARYING = tuple(
    (re.compile(pattern), stand_in)
    for pattern, stand_in in (
        (_UUID, "<uid>"),
        (r"20\d\d-\d\d-\d\d[T ][\d:.]+(?:Z| \+0000 UTC)", "<time>"),
        (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]+ \+0000", "<time>"),
        (r'((?:resourceVersion|Resource Version)"?: *)"?\d+"?', r"\1<rv>"),
        (r"<(?:unknown|invalid)>", "<age>"),
        (r"\b(?:\d+[hmsd]){1,2}\b(?: ago)?", "<age>"),
        (r"127\.0\.0\.1:\d+", "<server>"),
        (r"\b10\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+", "<cluster-ip>"),
        (r"eyJ[\w.-]+", "<token>"),
        (r"\b3[0-2]\d\d\d\b", "<node-port>"),
        (r'Context "\S+"', 'Context "<context>"'),
        (r"[EIW]\d{4} [\d:.]+ +\d+ ", "<log> "),
        (r"/tmp/kubectl\S+", "<file>"),
        (r"[ \t]+", " "),  # Columns are as wide as their widest value, which may be one of these.
    )
)


@dataclass(frozen=True, slots=True)
class Step:
    """One command with its exit code and output; what varies between runs has stand-ins."""

    command: str
    exit_code: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        lines = [f"$ kubectl {self.command}", f"= {self.exit_code}"]
        lines += [f"> {line}" for line in self.stdout.splitlines()]
        lines += [f"! {line}" for line in self.stderr.splitlines()]
        return "\n".join(lines) + "\n"


def commands() -> list[str]:
    return (SESSION / "commands.txt").read_text().splitlines()


def recorded(version: str) -> list[Step]:
    return list(_parsed((SESSION / f"recorded-{version}.txt").read_text()))


def _parsed(text: str) -> Iterator[Step]:
    for part in re.split(r"^\$ kubectl ", text, flags=re.MULTILINE)[1:]:
        command, code, *lines = part.splitlines()
        stdout = "".join(f"{line[2:]}\n" for line in lines if line.startswith(">"))
        stderr = "".join(f"{line[2:]}\n" for line in lines if line.startswith("!"))
        yield Step(command, int(code.removeprefix("= ")), stdout, stderr)


def play(kubectl: Path, kubeconfig: Path, command: str, editor: Path) -> Step:
    """Runs one command of the session in the folder with its manifests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    home = str(kubeconfig.parent)
    environment |= {"KUBECONFIG": str(kubeconfig), "HOME": home, "KUBE_EDITOR": str(editor)}
    done = subprocess.run(
        [str(kubectl), *command.split(" ")],
        cwd=SESSION,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Step(command, done.returncode, _settled(done.stdout), _settled(done.stderr))


def _settled(text: str) -> str:
    for pattern, stand_in in _VARYING:
        text = pattern.sub(stand_in, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def write_editor(directory: Path) -> Path:
    """An editor for `kubectl edit` that changes one value and saves."""
    editor = directory / "editor"
    editor.write_text('#!/bin/sh\nexec sed -i "s/a: b/a: edited/" "$1"\n')
    editor.chmod(0o700)
    return editor


if __name__ == "__main__":
    binary, configuration = (Path(argument).absolute() for argument in sys.argv[1:3])
    scribe = write_editor(configuration.parent)
    for each in commands():
        sys.stdout.write(str(play(binary, configuration, each, scribe)))
