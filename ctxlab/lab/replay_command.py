"""The command `replay`: one conversation, one window, and what became of it.

    python -m ctxlab replay chinese_support --window 32768 --overhead 6000

Bad input is one line on stderr and exit code 2; failed turns are figures.

>>> check_sizes(4_000, 6_000)
Traceback (most recent call last):
...
ValueError: the window of 4,000 tokens leaves no room beside the overhead of \
6,000: give a larger --window or a smaller --overhead

Left out: the figures themselves (`replay_report.py`). Lesson: 12_tune_on_a_transcript.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ctxlab.budgets import budget_for
from ctxlab.lab.replay_report import examine, middleware_for
from ctxlab.lab.replays import Progress
from ctxlab.lab.transcripts import Transcript, load_transcript
from ctxlab.lab.what_ifs.suggested import Suggestion, suggested
from ctxlab.settings import Settings

LISTED_FAILURES = 5
LONGEST_NOTE = 100  # characters

Rows = Sequence[Mapping[str, Any]]


def run(
    file: str,
    *,
    config: str | None,
    thread: str | None,
    window: int,
    overhead: int | None,
    without: bool,
    as_json: bool,
    table: Callable[[Rows], Any],
) -> int:
    """Replay a conversation and print the report; return the exit code.

    Args:
        file: Path of a conversation, or name of a transcript.
        config: Path of a YAML file with settings; None for the defaults.
        thread: Thread of a checkpoint file.
        window: Most input tokens of a request.
        overhead: Tokens billed on every request; None takes what the recorded usage
            suggests.
        without: Replay without the middleware.
        as_json: Print one JSON object.
        table: Aligns rows under headings.
    """
    try:
        settings = settings_from(config)
        transcript = load_transcript(file, thread_id=thread)
        bill = billing(transcript, overhead)
        check_sizes(window, bill.overhead)
        check_settings(transcript, settings)
    except (ValueError, OSError) as error:
        print(f"replay: {one_line(error)}", file=sys.stderr)
        return 2
    except RecursionError:
        print(f"replay: {file}: nested too deeply for a conversation", file=sys.stderr)
        return 2
    with progress_on(sys.stderr) as progress, quiet():
        report = examine(
            transcript,
            None if without else settings,
            window=window,
            overhead=bill.overhead,
            scale=bill.scale,
            progress=progress,
        )
    if (bill.overhead, bill.scale) != (overhead or 0, 1.0):
        report["notes"].append(bill.note)
    if as_json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        print("\n".join(printed(report, table)))
    return 0


def one_line(error: Exception | str, most: int | None = None) -> str:
    """Return a text on one line, cut to `most` characters."""
    text = " ".join(str(error).split())
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def billing(transcript: Transcript, overhead: int | None) -> Suggestion:
    """Return how to bill a transcript: as its usage suggests, or as given."""
    if overhead is None:
        return suggested(transcript)
    note = f"overhead {overhead:,} as given"
    return Suggestion(overhead, profile=suggested(transcript).profile, note=note)


def check_sizes(window: int, overhead: int) -> None:
    """Refuse sizes that leave no room for a message, with a `ValueError`."""
    if overhead < 0:
        raise ValueError(f"the overhead is {overhead:,} tokens: give 0 or more")
    if window <= overhead:
        raise ValueError(
            f"the window of {window:,} tokens leaves no room beside the overhead of "
            f"{overhead:,}: give a larger --window or a smaller --overhead"
        )


def settings_from(config: str | None) -> Settings:
    """Return the settings in a YAML file, or the defaults.

    Raises:
        ValueError: No such file, or no settings in it.
    """
    if config is None:
        return Settings()
    try:
        return Settings.from_yaml(Path(config))
    except (ValueError, TypeError) as error:  # a key that is no text: TypeError
        said = str(error)
        raise ValueError(said if config in said else f"{config}: {said}") from error


def check_settings(transcript: Transcript, settings: Settings) -> None:
    """Refuse settings that no call could be made with, with a `ValueError`."""
    middleware_for(transcript, settings)
    budget_for(settings, window=settings.max_input_tokens, learned=None)


def printed(report: Mapping[str, Any], table: Callable[[Rows], Any]) -> Iterator[str]:
    """Yield the lines of a report: figures, failed turns, notable calls, notes."""
    way = "with" if report["settings"] else "without"
    yield f"{report['transcript']}, {way} RequestOnlySummarizationMiddleware"
    yield ""
    for name, value in lines_of(report):
        yield f"{name:<36}{value:>20}"
    failed = report["failed_turns"]
    for each in failed[:LISTED_FAILURES]:
        reason = one_line(each["reason"], LONGEST_NOTE)
        yield f"failed turn {each['turn']}: {reason}"
    if len(failed) > LISTED_FAILURES:
        yield f"failed turns not listed: {len(failed) - LISTED_FAILURES} (--json)"
    if report["notable_calls"]:
        yield ""
        yield repr(table([shortened(row) for row in report["notable_calls"]]))
    yield from ["", *(f"note: {note}" for note in report["notes"])]


def shortened(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its notes cut to a length that a terminal shows."""
    return {**row, "notes": one_line(row["notes"], LONGEST_NOTE)}


def lines_of(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each figure, as people read them."""
    counts = {
        "window": "window_tokens",
        "overhead": "overhead_tokens",
        "turns": "turns",
        "failed turns": "failed",
        "calls": "calls",
        "calls refused by the provider": "calls_refused",
        "compactions": "compactions",
        "recoveries after a refusal": "recoveries",
        "summary calls": "summary_calls",
        "tokens, uncached": "uncached_tokens",
        "tokens, cached": "cached_tokens",
        "tokens, summaries": "summary_tokens",
    }
    for name, key in counts.items():
        yield name, f"{report[key]:,}"
    peak = f"{report['peak_tokens']:,} = {report['peak_of_window']:.1%}"
    yield "largest answered request, of window", peak
    facts = f"{report['facts_in_last_request']} of {report['facts']}"
    yield "facts in the last answered request", facts
    yield "checkpoint as without middleware", yes(report["checkpoint_as_without"])
    if report["prediction_error_mean"] is not None:
        mean, p95 = report["prediction_error_mean"], report["prediction_error_p95"]
        yield "prediction error, mean / p95", f"{mean:.2%} / {p95:.2%}"


def yes(value: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if value else "no"


@contextmanager
def progress_on(stream: TextIO) -> Iterator[Progress | None]:
    """Show the turn on a terminal, in one line that goes away; else show nothing."""
    if not stream.isatty():
        yield None
        return
    try:
        yield lambda turn, turns: print(
            f"\rturn {turn} of {turns}", end="", file=stream, flush=True
        )
    finally:
        print("\r\x1b[K", end="", file=stream, flush=True)


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back warnings meanwhile: the report says the same in its notes."""
    logger = logging.getLogger("ctxlab")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
