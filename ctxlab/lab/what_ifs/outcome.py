"""What a what-if gives: what a replay gives, and where each call of it stands.

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.lab.what_ifs.lived import what_if
>>> tried = what_if(load_transcript("order_desk"), window=8_000)
>>> tried.turns, len(tried.exchanges), tried.failed_turns
(2, 3, [])

Lesson: 12_tune_on_a_transcript.
"""

from dataclasses import dataclass, field

from ctxlab.lab.billing import Exchange
from ctxlab.lab.replay_results import Replay
from ctxlab.settings import Settings


@dataclass(frozen=True)
class CallDetail:
    """Where one call stands: its turn (from 1), its requests, its summary prompts.

    The last two are half-open ranges of indices into `WhatIf.exchanges` and
    `WhatIf.summaries`.
    """

    turn: int
    requests: tuple[int, int]
    summaries: tuple[int, int]


@dataclass
class WhatIf(Replay):
    """What a conversation would have cost: a `Replay`, with a detail for each call.

    Its `calls`, `details` and `exchanges` are `Later`: made when they are looked at.

    Attributes:
        settings: Settings of the middleware; None without it.
        turns: Turns of the conversation.
        details: As many as `calls`.
        summaries: Prompts to the summary model with their bills, oldest first.
    """

    settings: Settings | None = None
    turns: int = 0
    details: list[CallDetail] = field(default_factory=list)
    summaries: list[Exchange] = field(default_factory=list)
