"""What a what-if remembers between runs: counts and digests, by content.

A knob that moves changes decisions, not messages. So a counter that remembers sizes
by content, and a meter that starts with the contents of earlier runs, count each
message once and never again.

>>> from langchain_core.messages import HumanMessage
>>> from ctxlab.tokens import CjkAwareCounter
>>> counter = RememberingCounter(CjkAwareCounter())
>>> counter.message(HumanMessage("once")) == counter.message(HumanMessage("once"))
True

Left out: forgetting; both live as long as the transcript's bench. Lesson:
12_tune_on_a_transcript.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from ctxlab.history import History, HistoryMeter
from ctxlab.history.faces import content_key, faces_of
from ctxlab.tokens import TokenCounter

LONGEST_KEY = 20_000  # characters; longer texts are prompts, each met once


class RememberingCounter:
    """A counter that counts the same content once.

    Args:
        counter: Does the counting.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.inner = counter
        self.name = counter.name
        self._messages: dict[Any, float] = {}
        self._calls: dict[Any, float] = {}
        self._texts: dict[str, float] = {}

    def __call__(
        self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] | None = None
    ) -> int:
        """Return the tokens of messages and tools."""
        return self.inner(messages, tools=tools)

    def text(self, text: str) -> float:
        """Return the tokens of a text."""
        if len(text) > LONGEST_KEY:
            return self.inner.text(text)
        if text not in self._texts:
            self._texts[text] = self.inner.text(text)
        return self._texts[text]

    def message(self, message: BaseMessage) -> float:
        """Return the tokens of one message."""
        return self._remembered(self._messages, self.inner.message, message)

    def calls(self, message: BaseMessage) -> float:
        """Return the tokens of a message's calls."""
        return self._remembered(self._calls, self.inner.calls, message)

    def tools(self, tools: Sequence[Any] | None) -> float:
        """Return the tokens of tool schemas."""
        return self.inner.tools(tools)

    def _remembered(
        self, known: dict[Any, float], count: Any, of: BaseMessage
    ) -> float:
        key = content_key(*faces_of([of]))
        if key is None or _is_prompt(of):
            return float(count(of))
        if key not in known:
            known[key] = float(count(of))
        return known[key]


def _is_prompt(message: BaseMessage) -> bool:
    content = message.content
    return isinstance(message, HumanMessage) and len(content) > LONGEST_KEY


class FreshMeter(HistoryMeter):
    """A meter that knows the contents another one measured, and no history.

    Args:
        counter: Prices a message.
        other: The meter whose contents are shared.
    """

    def __init__(self, counter: TokenCounter, other: HistoryMeter) -> None:
        super().__init__(counter)
        self._memo = other._memo

    def release(self, history: History) -> None:
        """Hold on: no checkpoint makes new objects here."""
