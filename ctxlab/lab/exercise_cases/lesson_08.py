"""Exercises of lesson 08: turn a keep budget into a cut."""

from collections.abc import Sequence

from langchain_core.messages import HumanMessage

from ctxlab.boundaries import cut_for_tokens
from ctxlab.history import HistoryMeter
from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.transcripts import load_transcript
from ctxlab.tokens import ScriptCounter


def _local_budget(keep: float, fixed: float, scale: float, summary: float) -> float:
    """Counted tokens that the tail may have, never below 0 (row M12)."""
    return max(0.0, (keep - fixed) / scale - summary)


def _first_that_fits(sizes: Sequence[int], budget: int) -> int:
    """The smallest index from which the rest fits; the newest message always stays."""
    history = [HumanMessage("…")] * len(sizes)
    return cut_for_tokens(history, budget, tokens_from=lambda at: sum(sizes[at:]))


def _largest_twenty() -> int:
    """Tokens of the largest 20 neighbouring messages of the long tool loop."""
    past = HistoryMeter(ScriptCounter()).measure(load_transcript("tool_loop").messages)
    return round(max(past.tokens(at, at + 20) for at in range(len(past) - 19)))


EXERCISES = (
    Prediction(
        "8.p",
        "the newest 20 messages of an agent that reads files: how many tokens at most?",
        hint="A page of text is about 500 tokens; a log or a file is many pages.",
        answer=_largest_twenty,
        within=0.25,
    ),
    Exercise(
        "8.1",
        "counted tokens that the tail may have",
        hint="The fixed part is billed once and not scaled; the summary is counted.",
        cases=[
            Case((24_000, 0, 1.0, 2_000), _local_budget),
            Case((24_000, 4_000, 1.0, 2_000), _local_budget),
            Case((24_000, 16_000, 1.25, 2_000), _local_budget),
            Case((10_000, 16_000, 1.25, 2_000), _local_budget),
        ],
    ),
    Exercise(
        "8.2",
        "the index from which the newest messages fit the budget",
        hint="Add up from the newest message, which stays; stop before it is too much.",
        cases=[
            Case(([5], 5), _first_that_fits),
            Case(([5], 4), _first_that_fits),
            Case(([9, 1, 2, 3], 5), _first_that_fits),
            Case(([9, 1, 2, 3], 6), _first_that_fits),
            Case(([9, 1, 2, 3], 15), _first_that_fits),
            Case(([300, 20, 4_000, 20, 70], 100), _first_that_fits),
        ],
    ),
)
