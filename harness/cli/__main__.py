"""`python -m harness.cli` is `kaput`, for where the console script is not on PATH."""

from harness.cli.main import main

main()
