"""The command `compare`: configurations side by side on one conversation.

    python -m ctxlab compare chinese_support --window 32768 --config mine.yaml

The figures are those of the tuner panel, and of a full replay with the same settings.
Bad input is one line on stderr and exit code 2.

>>> rows = compared(load_transcript("order_desk"), window=8_000)
>>> [(row["configuration"], row["failed"]) for row in rows]
[("ctxlab's defaults", 0), ("LangChain's rule", 0), ('nothing', 0)]

Lesson: 12_tune_on_a_transcript.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxlab.lab.replay_command import (
    billing,
    check_sizes,
    one_line,
    progress_on,
    quiet,
    settings_from,
)
from ctxlab.lab.transcripts import Transcript, load_transcript
from ctxlab.lab.what_ifs import what_if
from ctxlab.lab.what_ifs.presets import PRESETS, Configuration, preset
from ctxlab.lab.what_ifs.suggested import Suggestion, suggested
from ctxlab.lab.what_ifs.totals import totals

Rows = Sequence[Mapping[str, Any]]

#: Heading -> name of the figure; the table is turned on its side for a terminal.
FIGURES = {
    "failed turns": "failed",
    "calls": "calls",
    "compactions": "compactions",
    "summary calls": "summary_calls",
    "uncached tokens": "uncached_tokens",
    "cached tokens": "cached_tokens",
    "summary tokens": "summary_tokens",
    "peak": "peak_tokens",
    "headroom": "headroom_tokens",
    "dropped messages": "dropped_messages",
    "facts kept": "facts_kept",
    "cost, example rates": "cost",
}


def run(
    file: str,
    *,
    config: str | None,
    thread: str | None,
    window: int,
    overhead: int | None,
    as_json: bool,
    table: Callable[[Rows], Any],
) -> int:
    """Compare configurations and print a table; return the exit code.

    Args:
        file: Path of a conversation, or name of a transcript.
        config: Path of a YAML file with settings, compared as well.
        thread: Thread of a checkpoint file.
        window: Most input tokens of a request.
        overhead: Tokens billed on every request; None takes what the recorded usage
            suggests.
        as_json: Print one JSON list.
        table: Aligns rows under headings.
    """
    try:
        transcript = load_transcript(file, thread_id=thread)
        bill = billing(transcript, overhead)
        check_sizes(window, bill.overhead)
        given = Configuration(config, settings_from(config)) if config else None
        with progress_on(sys.stderr) as progress, quiet():
            rows = compared(
                transcript, window=window, bill=bill, given=given, progress=progress
            )
    except (ValueError, OSError) as error:
        print(f"compare: {one_line(error)}", file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return 0
    print(f"{transcript.name}, window {window:,} tokens, {bill.note}\n")
    print(repr(table(side_by_side(rows))))
    for note in transcript.notes:
        print(f"note: {note}")
    return 0


def compared(
    transcript: Transcript,
    *,
    window: int,
    bill: Suggestion | None = None,
    given: Configuration | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[dict[str, Any]]:
    """Return a row for the given configuration, if any, and for each preset.

    Args:
        transcript: The conversation.
        window: Most input tokens of a request.
        bill: How it is billed; as its recorded usage suggests by default.
        given: A configuration to compare with the presets.
        progress: Called with (configurations done, in all).
    """
    bill = bill or suggested(transcript)
    chosen = [preset(name, window=window, profile=bill.profile) for name in PRESETS]
    chosen = [given, *chosen] if given else chosen
    rows = []
    for place, each in enumerate(chosen, start=1):
        tried = what_if(
            transcript,
            each.settings,
            window=window,
            overhead=bill.overhead,
            scale=bill.scale,
            **each.rules,
        )
        found = totals(tried)
        rows.append(
            {
                "configuration": each.name,
                **found.as_row(),
                "cost": round(found.cost(), 4),
            }
        )
        if progress:
            progress(place, len(chosen))
    return rows


def side_by_side(rows: Rows) -> list[dict[str, Any]]:
    """Return a row for each figure, with a column for each configuration."""
    return [
        {"": title, **{row["configuration"]: row[name] for row in rows}}
        for title, name in FIGURES.items()
    ]
