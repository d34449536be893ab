"""The command line: `python -m ctxlab COMMAND`.

Exit codes: 0 done, 1 the doctor found something to fix, 2 bad input.

A command is two small functions: `add_NAME` declares its arguments, `run_NAME` does
it and returns the exit code. Both load what they need themselves, so that the doctor
runs while packages are missing.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any


def add_doctor(commands: Any) -> None:
    """Declare `doctor`."""
    doctor = commands.add_parser(
        "doctor", help="check this installation: a line each, ok or the fix"
    )
    doctor.set_defaults(run=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print the doctor's findings; 1 if one needs a fix."""
    from ctxlab.lab.doctor import examine

    return 0 if examine() else 1


COMMANDS = (add_doctor,)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m ctxlab",
        description="Learn, tune and ship context compaction for LLM agents.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add_command in COMMANDS:
        add_command(commands)
    parsed = parser.parse_args(arguments)
    exit_code: int = parsed.run(parsed)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
