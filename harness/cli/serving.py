"""Runs a control plane in the foreground: start, say so, wait for a signal, end everything."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from clusters.emulated.apiserver.nonresource import version_info
from clusters.emulated.components import GROUPS, KUBELETS, Components
from clusters.emulated.control_plane import ControlPlane, ControlPlaneOptions
from clusters.emulated.data_directory import DataDirectoryError
from clusters.emulated.store.errors import StoreError
from clusters.emulated.transport.https import new_event_loop
from clusters.emulated.transport.kubeconfig import write_kubeconfig
from clusters.emulated.transport.pki_directory import PkiUnusableError
from harness.cli.main import Failure

#: How long requests in hand may take when the cluster ends; watches are cut then.
GRACE_S = 0.5
FORCED = 130
# Measured: with the defaults the collector takes about 1 % of the time of 3,000 creates, and a full collection, which
# is rare, stops the server for 13 to 39 ms; frozen, that is below 0.1 ms. Throughput does not change measurably.
_GC_THRESHOLDS = (50_000, 20, 50)


def serve(options: ControlPlaneOptions, *, nodes: int, without: Collection[str] = (), kubeconfig: Path | None) -> None:
    """Returns when the cluster has ended as asked; raises `Failure` when it cannot be had."""
    logging.basicConfig(level=logging.WARNING, format="kaput: %(message)s", stream=sys.stderr)
    if kubeconfig is not None:
        refuse_foreign(kubeconfig)
    with ExitStack() as ends, asyncio.Runner(loop_factory=new_event_loop) as runner:
        target = kubeconfig or _default_kubeconfig(options, ends)
        with _explained(options, target):
            runner.run(_Foreground(ControlPlane(options), nodes, without, target, ends).run())


def _default_kubeconfig(options: ControlPlaneOptions, ends: ExitStack) -> Path:
    if options.data_dir is not None:
        return options.data_dir / "kubeconfig"
    directory = tempfile.mkdtemp(prefix="kaput-")  # 0700
    ends.callback(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory) / "kubeconfig"


def refuse_foreign(kubeconfig: Path) -> None:
    """A kubeconfig that leads to other clusters is somebody's way to them: it is never overwritten."""
    import yaml

    try:
        text = kubeconfig.read_text("utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{kubeconfig} is there and cannot be read ({error}); give another --kubeconfig") from None
    try:
        config = yaml.safe_load(text)
        clusters = [] if config is None else [entry["name"] for entry in config["clusters"]]
    except (yaml.YAMLError, KeyError, TypeError):
        clusters = ["what is in it"]
    if clusters not in ([], ["kaput"]):
        raise Failure(
            f"{kubeconfig} was not written by kaput and would be lost ({', '.join(map(str, clusters))}); "
            "give another --kubeconfig, or move that file away"
        )


class _Foreground:
    """One run of `kaput up` in its loop."""

    def __init__(
        self, plane: ControlPlane, nodes: int, without: Collection[str], kubeconfig: Path, ends: ExitStack
    ) -> None:
        self._plane = plane
        self._nodes = nodes
        self._without = without
        self._kubeconfig = kubeconfig
        self._ends = ends
        self._asked_to_end = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        starting = loop.create_task(self._start())
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled, starting)
        try:
            await starting
            await self._asked_to_end.wait()
        except asyncio.CancelledError:
            if not self._asked_to_end.is_set():
                raise
        finally:
            await self._plane.stop(GRACE_S)

    def _signalled(self, starting: asyncio.Task[None]) -> None:
        if self._asked_to_end.is_set():
            self._ends.close()
            os._exit(FORCED)
        self._asked_to_end.set()
        starting.cancel()

    async def _start(self) -> None:
        plane = self._plane
        await plane.start()
        await plane.listen()
        nodes = [f"node-{number}" for number in range(1, self._nodes + 1)]
        groups = [each for each in GROUPS if each not in self._without]
        components = Components(plane, nodes, groups)
        await components.start()
        plane.at_stop(components.stop)
        for name in nodes if KUBELETS in groups else ():
            await components.nodes.registered(name)
        write_kubeconfig(self._kubeconfig, plane.admin_kubeconfig())
        gc.collect()
        gc.freeze()  # What is there now stays: the collector need never look at it again.
        gc.set_threshold(*_GC_THRESHOLDS)
        click.echo(
            f"kaput: {version_info(plane.options.version)['gitVersion']} serves {plane.server_url} "
            f"({plane.options.store} store, seed {plane.randomness.seed}); Ctrl-C ends it",
            err=True,
        )
        click.echo(f"export KUBECONFIG={shlex.quote(str(self._kubeconfig))}")
        sys.stdout.flush()


@contextmanager
def _explained(options: ControlPlaneOptions, kubeconfig: Path) -> Iterator[None]:
    """What can be wrong in the world, said in a sentence."""
    try:
        yield
    except (StoreError, DataDirectoryError, PkiUnusableError) as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(_os_error(error, options, kubeconfig)) from None
    except Exception as error:
        if type(error).__module__ != "clusters.emulated.store.etcd_process":  # Imported only with --store etcd.
            raise
        raise Failure(str(error)) from None


def _os_error(error: OSError, options: ControlPlaneOptions, kubeconfig: Path) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {options.port} on {options.host} is taken by another process; give another --port, "
            "or leave it out for a free one"
        )
    if error.errno == errno.EACCES and error.filename is None and options.port:
        return f"port {options.port} may not be opened by this user; give one of 1024 or above"
    where = error.filename or kubeconfig
    return f"{where}: {error.strerror or error}"
