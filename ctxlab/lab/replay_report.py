"""A replay in figures: failures, compactions, bills, facts, the checkpoint.

The figures come from a real agent on a simulated model. The summaries are written
by a simulated model, too: `FactKeeper` on the planted facts, or, where none are
planted, on how each message opens. All values are plain JSON.

>>> from ctxlab.lab.transcripts import load_transcript
>>> report = examine(load_transcript("order_desk"), Settings(), window=8_000)
>>> report["turns"], report["failed"], report["checkpoint_as_without"]
(2, 0, True)

Left out: how it is printed (`replay_command.py`), and settings side by side.
Lesson: 12_tune_on_a_transcript.
"""

import statistics
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from ctxlab.lab.replays import Progress, Replay, replay, state_fingerprint
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.writers import FactKeeper
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import CallRecord
from ctxlab.settings import Settings

OPENING = 160  # characters of a message that stand for it in a summary
USUAL = ("pass", "reuse")  # actions that need no row of their own
SIMULATED = "the summaries are simulated: they keep the planted facts, word for word"
STAND_INS = "the summaries are simulated: they keep how each message opens"


def middleware_for(
    transcript: Transcript, settings: Settings | None
) -> tuple[list[RequestOnlySummarizationMiddleware], FactKeeper]:
    """Return the middleware, if there are settings for it, and its summary model."""
    language = "zh" if transcript.language == "zh" else "en"
    keeper = FactKeeper(transcript.facts or openings(transcript), language=language)
    if settings is None:
        return [], keeper
    return [RequestOnlySummarizationMiddleware.from_settings(keeper, settings)], keeper


def openings(transcript: Transcript) -> list[str]:
    """Return how each message of user and agent opens, oldest first, each once."""
    spoken = [m for m in transcript.messages if isinstance(m, HumanMessage | AIMessage)]
    lines = [message.text.strip().partition("\n")[0] for message in spoken]
    return list(dict.fromkeys(line[:OPENING].strip() for line in lines if line))


def examine(
    transcript: Transcript,
    settings: Settings | None = None,
    *,
    window: int,
    overhead: int = 0,
    scale: float = 1.0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Replay a conversation and return its figures as plain JSON values.

    Args:
        transcript: The conversation.
        settings: Settings of the middleware; None replays without it.
        window: Most input tokens of a request.
        overhead: Tokens billed on every request for what is not in it.
        scale: Billed tokens for each token of the true count.
        progress: Called with (turn, number of turns) after each turn.
    """
    middleware, keeper = middleware_for(transcript, settings)
    ledger = Ledger(progress)
    for each in middleware:
        each.add_listener(ledger.take)
    lived = replay(
        transcript,
        middleware,
        SimulatedChatModel(context_window=window, fixed_overhead=overhead, scale=scale),
        summary_model=keeper,
        progress=ledger.turn_ends,
    )
    whole = replay(transcript)
    same = fingerprint(lived) == fingerprint(whole)
    notes = [*transcript.notes, *lived.notes]
    if middleware:
        notes.append(SIMULATED if transcript.facts else STAND_INS)
    return {
        "transcript": transcript.name,
        "window_tokens": window,
        "overhead_tokens": overhead,
        "scale": scale,
        "settings": settings.model_dump(mode="json") if settings else None,
        **figures(lived, keeper),
        **prediction(lived.calls),
        "checkpoint_as_without": same,
        "failed_turns": [failed._asdict() for failed in lived.failed_turns],
        "notable_calls": ledger.rows(),
        "notes": notes,
    }


def fingerprint(lived: Replay) -> list[tuple[Any, ...]]:
    """Return what must be equal in the checkpoints of two replays."""
    return state_fingerprint(lived.state_messages)


def figures(lived: Replay, keeper: FactKeeper) -> dict[str, Any]:
    """Return the counts of a replay; tokens are what the provider bills."""
    paid = [each for each in lived.exchanges if each.error is None]
    last = paid[-1].messages if paid else []  # what was refused told the model nothing
    cached = sum(each.cached_tokens for each in paid)
    peak = max((each.input_tokens for each in paid), default=0)
    summaries = [each for each in keeper.log if each.error is None]
    actions = [record.action for record in lived.calls]
    return {
        "turns": len(lived.transcript.turns()),
        "failed": len(lived.failed_turns),
        "calls": len(lived.exchanges),
        "calls_refused": len(lived.exchanges) - len(paid),
        "compactions": actions.count("compact") + actions.count("recover"),
        "recoveries": actions.count("recover"),
        "summary_calls": len(summaries),
        "uncached_tokens": sum(each.input_tokens for each in paid) - cached,
        "cached_tokens": cached,
        "summary_tokens": sum(e.input_tokens + e.output_tokens for e in summaries),
        "peak_tokens": peak,
        "peak_of_window": round(peak / lived.model.context_window, 4),
        "facts": len(lived.transcript.facts),
        "facts_in_last_request": len(lived.facts_in(last)),
    }


def prediction(calls: Iterable[CallRecord]) -> dict[str, float | None]:
    """Return by which share the predictions missed the bills, sign left out."""
    missed = [
        abs(each.prediction_error)
        for each in calls
        if each.prediction_error is not None
    ]
    if len(missed) < 2:
        return {"prediction_error_mean": None, "prediction_error_p95": None}
    p95 = statistics.quantiles(missed, n=20, method="inclusive")[-1]
    return {
        "prediction_error_mean": round(statistics.fmean(missed), 6),
        "prediction_error_p95": round(p95, 6),
    }


class Ledger:
    """The records of all calls, each with the turn it was made in."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._records: list[CallRecord] = []
        self._ends: list[int] = []

    def take(self, record: CallRecord) -> None:
        """Take down a call."""
        self._records.append(record)

    def turn_ends(self, turn: int, turns: int) -> None:
        """Take down that a turn ended; hand the news on."""
        self._ends.append(len(self._records))
        if self._progress:
            self._progress(turn, turns)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each call that did more than pass or reuse a view."""
        rows, start = [], 0
        for turn, end in enumerate(self._ends, start=1):
            for at in range(start, end):
                record = self._records[at]
                if record.action not in USUAL or record.notes:
                    rows.append(row_of(turn, at + 1, record))
            start = end
        return rows


def row_of(turn: int, call: int, record: CallRecord) -> dict[str, Any]:
    """Return what one notable call did.

    `history` is the estimate of the request with the whole history, `request` that of
    the one that was sent, `billed` what the provider counted: all in tokens.
    """
    return {
        "turn": turn,
        "call": call,
        "action": record.action,
        "history": record.before_tokens,
        "request": record.after_tokens,
        "billed": record.provider_input_tokens,
        "summaries": record.summary_calls,
        "dropped": record.dropped_messages,
        "notes": "; ".join(record.notes),
    }
