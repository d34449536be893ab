"""What a token counter is: four prices, and a list that is the sum of its messages.

Every counter prices a text, a message, the calls in it, and tool schemas. A message is
priced alone, never by its neighbours, so that a long conversation can be measured once
and added up (`ctxlab.history`); the sum is rounded up once, at the end.

>>> MediaPrices(image=800).of(["image", "image", "file"])
3600.0

Left out here: the three rules (`approximate`, `cjk`, `script`). Lesson:
05_count_every_script.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, convert_to_messages

from ctxlab.tokens.schemas import schema_text


class TokenCounter(Protocol):
    """What the library asks of a counter; a LangChain `TokenCounter` as well."""

    @property
    def name(self) -> str:
        """Stable identity of the rule, for example `"script:generic"`."""

    def __call__(
        self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] | None = None
    ) -> int:
        """Return the tokens of a list of messages and tools, rounded up once."""

    def text(self, text: str) -> float:
        """Return the tokens of a bare text."""

    def message(self, message: BaseMessage) -> float:
        """Return the tokens of one message, framing, names and calls included."""

    def calls(self, message: BaseMessage) -> float:
        """Return the share of `message(message)` that its tool calls cost."""

    def tools(self, tools: Sequence[Any] | None) -> float:
        """Return the tokens of tool schemas; 0.0 for none."""


@dataclass(frozen=True, slots=True)
class MediaPrices:
    """Tokens of one image, audio clip, file or video, whatever its size.

    The defaults are on the safe side of what providers state for a large image
    (OpenAI up to 1,536 patches, Anthropic about 1,600) and for a few pages or half a
    minute; set your own where your attachments are larger.
    """

    image: float = 1_600
    audio: float = 1_500
    file: float = 2_000
    video: float = 5_000

    def of(self, media: Iterable[str]) -> float:
        """Return the tokens of several media, named by kind."""
        return sum((getattr(self, kind) for kind in media), 0.0)


DEFAULT_MEDIA = MediaPrices()
_MAX_SCHEMAS = 1_000  # prices of tool schemas that a counter remembers


class Counter(ABC):
    """What the counters share: a list is the sum of its messages."""

    def __init__(self) -> None:
        self._schema_prices: dict[str, float] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """Stable identity of the rule and its settings."""

    @abstractmethod
    def text(self, text: str) -> float:
        """Return the tokens of a bare text."""

    @abstractmethod
    def message(self, message: BaseMessage) -> float:
        """Return the tokens of one message."""

    @abstractmethod
    def calls(self, message: BaseMessage) -> float:
        """Return the share of a message's tokens that its tool calls cost."""

    @abstractmethod
    def tools(self, tools: Sequence[Any] | None) -> float:
        """Return the tokens of tool schemas."""

    def __call__(self, messages: Any, *, tools: Sequence[Any] | None = None) -> int:
        """Return the tokens of `messages` and `tools`, rounded up once.

        Args:
            messages: Messages, or whatever LangChain turns into messages (strings,
                tuples, dicts, a prompt value), or one message.
            tools: Tool schemas sent with them, in any form an agent holds.
        """
        if isinstance(messages, BaseMessage):
            messages = [messages]
        total = sum(map(self.message, convert_to_messages(messages)))
        # Sums of decimal weights carry dust in the last bits; it must not round up.
        return math.ceil(round(total + self.tools(tools), 6))

    def _schemas(self, tools: Sequence[Any]) -> float:
        """Return the tokens of the tools' schemas, each text priced once."""
        total = 0.0
        for schema in map(schema_text, tools):
            price = self._schema_prices.get(schema)
            if price is None:
                price = self.text(schema)
                if len(self._schema_prices) >= _MAX_SCHEMAS:
                    self._schema_prices.clear()
                self._schema_prices[schema] = price
            total += price
        return total

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def name_with_prices(name: str, media: MediaPrices) -> str:
    """Return a counter's name, with its media prices where they are not the default."""
    if media == DEFAULT_MEDIA:
        return name
    prices = (media.image, media.audio, media.file, media.video)
    return f"{name}:media={'/'.join(f'{price:g}' for price in prices)}"
