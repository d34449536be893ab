"""Exercises of lesson 12: tune on a transcript."""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.transcripts import load_transcript
from ctxlab.lab.what_ifs import what_if
from ctxlab.lab.what_ifs.totals import MILLION, totals
from ctxlab.settings import Settings

WINDOW = 16_384  # of the lesson's model, in tokens

_TOKENS = {"uncached": 100_000, "cached": 600_000, "written": 10_000, "summary": 90_000}
_RATES = {"uncached": 3.0, "cached": 0.3, "written": 15.0, "summary": 3.0}
_NAMES = ("failed", "dropped", "headroom", "cost")


def _rows(*figures: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [
        {"name": name, **dict(zip(_NAMES, values, strict=True))}
        for name, *values in figures
    ]


_TABLE = _rows(
    ("nothing", 1, 0, 3_900, 0.17),
    ("characters", 0, 18, 3_400, 0.84),
    ("defaults", 0, 0, 8_000, 0.87),
    ("small keep", 0, 0, 6_000, 0.80),
)


def _cost(tokens: Mapping[str, int], rates: Mapping[str, float]) -> float:
    """Money for tokens, by rates for a million of each kind."""
    return sum(count * rates[kind] for kind, count in tokens.items()) / MILLION


def _defended(rows: Sequence[Mapping[str, Any]], headroom: int) -> str | None:
    """The cheapest row that fails no turn, drops nothing, leaves enough room."""
    good = [
        row
        for row in rows
        if not row["failed"] and not row["dropped"] and row["headroom"] >= headroom
    ]
    best = min(good, key=lambda row: float(row["cost"]), default=None)
    return str(best["name"]) if best else None


def peak_with_a_lower_trigger() -> int:
    """The largest bill of the lesson's transcript, trigger 8,000 and keep 4,000."""
    settings = Settings(
        trigger=("tokens", 8_000),
        keep=("tokens", 4_000),
        overhead_tokens=first_knobs_overhead(),
        max_input_tokens=WINDOW,
    )
    tried = what_if(load_transcript("mixed_scripts"), settings, window=WINDOW)
    return totals(tried).peak_tokens


def first_knobs_overhead() -> int:
    """The overhead that the panel starts with."""
    return Settings(trigger=("tokens", int(0.85 * WINDOW))).overhead_tokens


EXERCISES = (
    Prediction(
        "12.p",
        "how many tokens does the largest request bill, with a trigger of 8,000?",
        hint="The trigger acts on an estimate, before the answer is billed.",
        answer=peak_with_a_lower_trigger,
        within=0.05,
    ),
    Exercise(
        "12.1",
        "price a conversation",
        hint="Multiply each kind by its own rate, then divide by a million.",
        cases=[
            Case(({"uncached": 1_000_000}, _RATES), _cost),
            Case(({"uncached": 200_000, "cached": 800_000}, _RATES), _cost),
            Case((_TOKENS, _RATES), _cost),
        ],
    ),
    Exercise(
        "12.2",
        "choose the configuration that can be defended",
        hint="First throw out what fails, drops or leaves too little; then the price.",
        cases=[
            Case((_TABLE[:1], 0), _defended),
            Case((_TABLE[2:], 0), _defended),
            Case((_TABLE, 3_000), _defended),
            Case((_TABLE, 7_000), _defended),
            Case((_TABLE, 9_000), _defended),
        ],
    ),
)
