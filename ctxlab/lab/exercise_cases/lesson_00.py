"""The exercises of lesson 00: a first look at a request and at a run."""

from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.replays import replay
from ctxlab.lab.transcripts import load_transcript

SMALL = {"system": 150, "user": 850}
LARGE = {"system": 150, "tools": 950, "user": 12_000, "assistant": 21_000}


def first_refused_turn() -> int:
    """Return the first turn of the lesson's run that fails without middleware."""
    talk = load_transcript("chinese_support")
    return replay(talk, window=65_536, overhead=15_063).failed_turns[0].turn


def room(parts: dict[str, int], hidden: int, window: int) -> int:
    """Return the tokens of the window that a request leaves free."""
    return window - hidden - sum(parts.values())


def places(actions: list[str]) -> list[int]:
    """Return the calls, counted from 1, whose action is a compaction."""
    return [n for n, action in enumerate(actions, 1) if action == "compact"]


EXERCISES = (
    Prediction(
        "0.p",
        "in which turn is a request refused for the first time?",
        hint="150 turns; the hidden tokens leave 50,473 for all that was said.",
        answer=first_refused_turn,
        within=0.1,
    ),
    Exercise(
        "0.1",
        "tokens of the window that are left",
        hint="The parts are a dict of tokens by kind: sum(parts.values()).",
        cases=[
            Case((SMALL, 0, 4_096), room),
            Case((SMALL, 1_000, 4_096), room),
            Case((LARGE, 15_063, 32_768), room),
        ],
    ),
    Exercise(
        "0.2",
        "calls at which there was a compaction",
        hint="enumerate(actions, 1) counts from one.",
        cases=[
            Case((["compact"],), places),
            Case((["pass", "compact", "reuse"],), places),
            Case((["pass", "pass", "compact", "reuse", "compact"],), places),
            Case((["pass", "reuse"],), places),
        ],
    ),
)
