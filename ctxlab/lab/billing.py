"""What a provider charges for: input, what of it was cached, output.

The bench needs a truth that none of ctxlab's counters knows. By default it is UTF-8
bytes / 3 of what is sent, plus 3 a message; a real tokenizer can take its place.

>>> from langchain_core.messages import HumanMessage
>>> bytes_over_three([HumanMessage("订单到哪了")])
8.0

A provider caches prefixes: what a request shares with an earlier one from the first
byte on is read from the cache. `PrefixCache` finds how many messages that is.
Left out: the smallest prefix that is cached (OpenAI: 1,024 tokens, steps of 128) and
the minutes a cache lives. Lesson: 01_fill_the_window.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.sent import as_json, media_count, reasoning_text, sent_text

MEDIA_TOKENS = 1_000  # a flat price for an image, a clip or a file
CACHED_PREFIXES = 200_000  # remembered by one model; the oldest are forgotten first


class TrueCount(Protocol):
    """The provider's own count: messages and tool schemas -> tokens."""

    def __call__(
        self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] | None = None
    ) -> float:
        """Return the tokens of a request, framing included."""
        ...


@dataclass(frozen=True)
class Exchange:
    """One request as the provider saw it, with the tokens it charges.

    A refused request has its error and costs nothing; its `input_tokens` say how
    large it was. From a real provider that reports no usage all figures are 0.
    """

    messages: Sequence[BaseMessage]
    tools: list[Any]
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    error: Exception | None = None


def bytes_over_three(
    messages: Sequence[BaseMessage], *, tools: Sequence[Any] | None = None
) -> float:
    """Return UTF-8 bytes / 3 of what is sent, plus 3 a message, in tokens."""
    size = sum(len(sent_text(message).encode()) for message in messages)
    media = sum(media_count(message) for message in messages)
    if tools:
        size += len(as_json(list(tools)).encode())
    return size / 3 + 3 * len(messages) + MEDIA_TOKENS * media


def reply_tokens(reply: AIMessage, true_count: TrueCount) -> tuple[float, float]:
    """Return the tokens of a reply, reasoning included, and of its reasoning alone."""
    thought = reasoning_text(reply)
    reasoning = true_count([AIMessage(thought)]) if thought else 0.0
    return true_count([reply]) + reasoning, reasoning


class PrefixCache:
    """The prefixes that requests began with, each known by a running hash.

    Requests of many conversations may come in any order, as at a provider.
    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[int, None] = {}

    def shared(self, messages: Sequence[BaseMessage], tools: Sequence[Any]) -> int:
        """Return how many first messages an earlier request had too; remember all."""
        known, prefix = 0, hash(as_json(list(tools)))
        prefixes = []
        for message in messages:
            prefix = hash((prefix, message.type, sent_text(message)))
            prefixes.append(prefix)
        with self._lock:
            while known < len(prefixes) and prefixes[known] in self._seen:
                known += 1
            self._seen.update(dict.fromkeys(prefixes))
            while len(self._seen) > CACHED_PREFIXES:
                del self._seen[next(iter(self._seen))]
        return known

    def clear(self) -> None:
        """Forget every prefix."""
        with self._lock:
            self._seen.clear()
