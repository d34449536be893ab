"""Exercises of lesson 13: bills, predictions and cache reads of a real model."""

from typing import Any

from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.real_runs import real_run

Rows = list[dict[str, Any]]


def _within(rows: Rows, share: float) -> int:
    """The number of billed calls whose prediction missed by at most this share."""
    errors = [abs(r["predicted"] / r["billed"] - 1) for r in rows if r["billed"]]
    return sum(error <= share for error in errors)


def _cached(rows: Rows) -> float:
    """The share of all billed tokens that came from the prompt cache."""
    billed = [row for row in rows if row["billed"]]
    total = sum(row["billed"] for row in billed)
    return sum(row["cached"] for row in billed) / total if total else 0.0


def _first_overflow() -> int:
    """The turn whose request the real window refused first, counted from 1."""
    actions = [call["action"] for call in real_run("chinese_chat").calls]
    return actions.index("recover") + 1


def _row(predicted: float, billed: int | None, cached: int = 0) -> dict[str, Any]:
    return {"predicted": predicted, "billed": billed, "cached": cached}


EXERCISES = (
    Exercise(
        "13.1",
        "count the calls whose prediction is good enough",
        hint="A miss may go either way; a refused call has no bill (None).",
        cases=[
            Case(([_row(100, 100)], 0.02), _within),
            Case(([_row(110, 100)], 0.02), _within),
            Case(([_row(90, 100), _row(99, 100)], 0.02), _within),
            Case(([_row(500, None), _row(101, 100), _row(102, 100)], 0.03), _within),
        ],
    ),
    Exercise(
        "13.2",
        "what share of all billed tokens did the prompt cache give?",
        hint="Sum both over all calls, then divide; no bill, no share.",
        cases=[
            Case(([_row(9, 10, 5)],), _cached),
            Case(([_row(9, 10, 0), _row(30, 30, 20)],), _cached),
            Case(([_row(9, None, 0), _row(9, 10, 5)],), _cached),
            Case(([],), 0.0),
        ],
    ),
    Prediction(
        "13.p",
        "twelve turns, 2,048 tokens: which turn does the window refuse first?",
        hint="A Chinese turn here is about 300 tokens to this model's tokenizer.",
        answer=_first_overflow,
        within=0.15,
    ),
)
