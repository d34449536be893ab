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
        "doctor",
        help="check this installation: a line each, ok or the fix; the last sums up",
    )
    doctor.set_defaults(run=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print the doctor's findings; 1 if one needs a fix."""
    from ctxlab.lab.doctor import examine

    return 0 if examine(summary=True) else 1


def add_replay(commands: Any) -> None:
    """Declare `replay`."""
    replay = commands.add_parser(
        "replay", help="live a conversation once more in a window of your choice"
    )
    replay.add_argument("file", metavar="FILE", help="a path, or a transcript's name")
    replay.add_argument("--config", metavar="F", help="settings of the middleware")
    replay.add_argument("--thread", metavar="ID", help="thread of a checkpoint file")
    replay.add_argument(
        "--window", metavar="N", type=int, default=65_536, help="tokens"
    )
    replay.add_argument(
        "--overhead", metavar="N", type=int, help="tokens; default: as recorded"
    )
    replay.add_argument("--without", action="store_true", help="without middleware")
    replay.add_argument("--json", action="store_true", help="print one JSON object")
    replay.set_defaults(run=run_replay)


def run_replay(arguments: argparse.Namespace) -> int:
    """Print what became of the conversation; 2 on bad input."""
    from ctxlab.lab.replay_command import run
    from ctxlab.panels.tables import table

    return run(
        arguments.file,
        config=arguments.config,
        thread=arguments.thread,
        window=arguments.window,
        overhead=arguments.overhead,
        without=arguments.without,
        as_json=arguments.json,
        table=table,
    )


def add_compare(commands: Any) -> None:
    """Declare `compare`."""
    compare = commands.add_parser(
        "compare", help="set configurations side by side on a conversation"
    )
    compare.add_argument("file", metavar="FILE", help="a path, or a transcript's name")
    compare.add_argument("--config", metavar="F", help="settings to compare as well")
    compare.add_argument("--thread", metavar="ID", help="thread of a checkpoint file")
    compare.add_argument(
        "--window", metavar="N", type=int, default=65_536, help="tokens"
    )
    compare.add_argument(
        "--overhead", metavar="N", type=int, help="tokens; default: as recorded"
    )
    compare.add_argument("--json", action="store_true", help="print one JSON list")
    compare.set_defaults(run=run_compare)


def run_compare(arguments: argparse.Namespace) -> int:
    """Print the figures of each configuration; 2 on bad input."""
    from ctxlab.lab.compare_command import run
    from ctxlab.panels.tables import table

    return run(
        arguments.file,
        config=arguments.config,
        thread=arguments.thread,
        window=arguments.window,
        overhead=arguments.overhead,
        as_json=arguments.json,
        table=table,
    )


def add_tune(commands: Any) -> None:
    """Declare `tune`."""
    tune = commands.add_parser("tune", help="open the tuner on a conversation")
    tune.add_argument("file", metavar="FILE", help="a path, or a transcript's name")
    tune.add_argument("--thread", metavar="ID", help="thread of a checkpoint file")
    tune.add_argument("--no-browser", action="store_true", help="start no browser")
    tune.set_defaults(run=run_tune)


def run_tune(arguments: argparse.Namespace) -> int:
    """Open lesson 12 in JupyterLab; 2 on bad input."""
    from ctxlab.lab.tune_command import run

    further = ["--no-browser"] if arguments.no_browser else []
    return run(arguments.file, thread=arguments.thread, further=further)


COMMANDS = (add_doctor, add_replay, add_compare, add_tune)


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
