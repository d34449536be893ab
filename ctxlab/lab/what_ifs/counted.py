"""A conversation as one counter sees it: all that depends on the counter alone.

>>> from langchain_core.messages import HumanMessage
>>> from ctxlab.tokens import CjkAwareCounter
>>> counted = Counted(CjkAwareCounter(), [HumanMessage("one"), HumanMessage("two")])
>>> counted.course.tokens(), counted.boundaries(counted.course.messages, 0)
(10.0, [0, 1])

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from ctxlab.boundaries import boundaries_of
from ctxlab.chain.fixed import FixedParts
from ctxlab.chain.recent import Recent
from ctxlab.history import History, HistoryMeter
from ctxlab.lab.what_ifs.memory import CourseMeter, RememberingCounter
from ctxlab.lab.what_ifs.spans import SpanBook
from ctxlab.tokens import TokenCounter
from ctxlab.tool_results import clip


class Counted:
    """A conversation as one counter sees it.

    Attributes:
        counter: The counter, with a memory.
        meter: Knows the contents of the conversation.
        course: The conversation, measured.
        fixed_parts: Fixed parts of requests, counted once.
        spans: Messages and spans as they are told to the summary model.
    """

    def __init__(self, counter: TokenCounter, course: list[BaseMessage]) -> None:
        self.counter = RememberingCounter(counter)
        self.meter = HistoryMeter(self.counter)
        self.course: History = self.meter.measure(course)
        self.course.parts()  # makes all sums
        self.fixed_parts = FixedParts(self.counter)
        self.spans = SpanBook(course)
        self._clipped, self._boundaries = Recent(), Recent()

    def clipped(self, message: BaseMessage, tokens: int) -> BaseMessage:
        """Return a message clipped, always the same object for one of the recording."""
        key = self.spans.own(message), tokens
        known: BaseMessage | None = self._clipped.get(key)
        if known is None:
            known = clip(message, tokens, self.counter.text)
            if key[0]:
                self._clipped.put(key, known)
        return known

    def boundaries(self, messages: Sequence[BaseMessage], first: int) -> list[int]:
        """Return where units start in the first messages of the conversation."""
        key = first, len(messages)
        known: list[int] | None = self._boundaries.get(key)
        if known is None:
            known = boundaries_of(messages, first)
            self._boundaries.put(key, known)
        return known

    def run_meter(self) -> CourseMeter:
        """Return a meter for one run of the conversation."""
        return CourseMeter(self.counter, self.course, self.meter)
