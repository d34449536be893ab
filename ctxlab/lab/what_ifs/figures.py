"""The figures of a calm call, as long as nobody asks for its record.

They bear the names that they have there, so that totals are made of either.

>>> Common("reuse", 0).action
'reuse'

Lesson: 12_tune_on_a_transcript.
"""

from typing import NamedTuple

from ctxlab.history import History
from ctxlab.lab.turns import Step
from ctxlab.records import Action


class Size(NamedTuple):
    """An `Estimate` of a request, and of the whole history it stands for."""

    local: int
    configured: int
    calibrated: int | None
    reported: int | None
    effective: int
    before: int


class Figures(NamedTuple):
    """One calm call: what was known of it, and its bill in tokens.

    Attributes:
        history: The history, measured.
        size: How large the request is; None for the first, whose call says it.
        local: Counted tokens of its messages.
        step: What was recorded.
        turn: Number of the turn, from 1.
        input_tokens, cached_tokens, output_tokens, error: As in its `Exchange`.
    """

    history: History
    size: Size | None
    local: int
    step: Step
    turn: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    error: None = None


class Common(NamedTuple):
    """What the records of a stretch have in common."""

    action: Action
    dropped_messages: int
