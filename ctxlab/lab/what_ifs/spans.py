"""Spans that were told before: what was asked about them, and the summary.

A knob that moves a little leaves most cuts where they were, and a summary hangs on its
span and on what it is asked with. So it is written once; asked for again, the same
prompts are put and the same replies come.

>>> from langchain_core.messages import HumanMessage
>>> mine = HumanMessage("Mind the order number A-1177.")
>>> book = SpanBook([mine])
>>> book.own(mine) == id(mine), book.own(HumanMessage("no part of it"))
(True, None)

Lesson: 12_tune_on_a_transcript.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from ctxlab.chain.recent import Recent
from ctxlab.lab.billing import Exchange
from ctxlab.summaries import Summary, WriteSummaries
from ctxlab.summaries.plan import Shown

REMEMBERED = 32  # summaries


class Asked(NamedTuple):
    """Prompts that were put together, their replies, and their bills."""

    effect: WriteSummaries
    replies: list[Any]
    bills: list[Exchange]


class Written(NamedTuple):
    """A summary, and all that was asked for it, in order."""

    summary: Summary
    asked: list[Asked]


class SpanBook:
    """What is known of a conversation's messages and spans, as one counter sees them.

    Args:
        course: The messages of the conversation; they stay what and where they are.

    Attributes:
        shown: Messages as entries with their sizes, by the `id()` of the message.
        written: The newest summaries, by their span and what they were asked with.
        identities: How summaries are written, by prompt and language.
    """

    def __init__(self, course: Iterable[BaseMessage]) -> None:
        self._course = {id(message): message for message in course}
        self.shown: dict[int, Shown] = {}
        self.written = Recent(REMEMBERED)
        self.identities: dict[str, dict[str | None, str]] = defaultdict(dict)

    def own(self, message: BaseMessage) -> int | None:
        """Return what a message of the conversation is known by; None for others."""
        return id(message) if id(message) in self._course else None

    def key(self, messages: Sequence[BaseMessage], *rules: Hashable) -> Hashable:
        """Return what a summary is known by; None if a message is from elsewhere."""
        span = tuple(map(id, messages))
        return (span, *rules) if self._course.keys() >= set(span) else None
