"""`kaput` itself: finds the subcommand, and turns failures into one sentence instead of a traceback."""

from __future__ import annotations

import importlib
import sys

import click

_COMMANDS = {"up": "harness.cli.up"}

_HELP = """Break a Kubernetes cluster on purpose, see the documented symptom, prove that it healed.

\b
  kaput up                            a control plane in the foreground; paste the line it prints
  kaput up --data-dir ./state         the same, and it survives a restart
  kaput up --help                     everything else it can be told

In tests the same control plane is the pytest fixture `cluster`.

\b
Exit codes: 0 ended as asked, 1 failed, 2 wrong usage, 130 forced to end.
"""


class Failure(click.ClickException):
    """Something in the world is not as it must be; the message says what, and what to do. Exit code 1."""

    def show(self, file: object = None) -> None:
        click.echo(f"kaput: {self.format_message()}", err=True)


class _Kaput(click.Group):
    """Subcommands are imported when they are needed: `kaput --help` need not load a control plane."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        module = _COMMANDS.get(name)
        if module is None:
            return None
        command = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Kaput, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kaput", prog_name="kaput")
def kaput() -> None:
    pass


def main() -> None:
    sys.exit(kaput(prog_name="kaput"))
