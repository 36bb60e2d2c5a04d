"""The command `kaput`: one file per subcommand, each loaded only when it is asked for.

Exit codes, everywhere: 0 it worked, 1 it failed (the message says why and what to do), 2 it was called wrongly,
130 it was forced to end.
"""

from harness.cli.main import main

__all__ = ["main"]
