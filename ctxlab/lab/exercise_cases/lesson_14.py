"""Exercises of lesson 14: which calls to look at, and what a summary must save."""

from math import ceil

from ctxlab.estimates import Estimate
from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.records import CallRecord


def _record(action: str, predicted: int, billed: int | None, lost: int) -> CallRecord:
    return CallRecord(
        action=action,  # type: ignore[arg-type]
        parts={"user": predicted},
        estimate=Estimate(local=predicted, fixed=0, configured=predicted),
        provider_input_tokens=billed,
        dropped_messages=lost,
    )


def _alarming(record: CallRecord) -> bool:
    """Whether a person should look: refused, lossy, or badly predicted."""
    missed = record.prediction_error
    badly = missed is not None and abs(missed) > 0.1
    return record.action == "refuse" or record.dropped_messages > 0 or badly


def _break_even(written: int, saved: int) -> int | None:
    """Calls after which a summary has saved what writing it took."""
    return ceil(written / saved) if saved > 0 else None


EXERCISES = (
    Exercise(
        "14.1",
        "should somebody look at this call?",
        hint="Three reasons; prediction_error is None where there is no bill.",
        cases=[
            Case((_record("pass", 100, 100, 0),), _alarming),
            Case((_record("pass", 100, None, 0),), _alarming),
            Case((_record("compact", 100, 100, 3),), _alarming),
            Case((_record("refuse", 100, None, 0),), _alarming),
            Case((_record("reuse", 80, 100, 0),), _alarming),
            Case((_record("reuse", 120, 100, 0),), _alarming),
        ],
    ),
    Exercise(
        "14.2",
        "after how many calls has a summary paid for itself?",
        hint="The first whole call at which the savings reach the price; may be never.",
        cases=[
            Case((100, 50), _break_even),
            Case((100, 30), _break_even),
            Case((100, 200), _break_even),
            Case((12_000, 25_000), _break_even),
            Case((100, 0), None),
        ],
    ),
    Prediction(
        "14.p",
        "the process restarts, the store is kept: summaries the next call writes?",
        hint="What was written before is under the digest of the same messages.",
        answer=0,
    ),
)
