"""The bills of a conversation under any settings, from counts made once.

Every message is counted once; a request that goes on where the last one ended adds
only what is new. The figures are those of `SimulatedChatModel`, to the token:
`overhead + scale * true count` for the input, and what of it an earlier request
began with as cached.

>>> from langchain_core.messages import HumanMessage
>>> desk = BillingDesk(Prices(window=20), Fixed())
>>> hello = HumanMessage("你好")
>>> desk.charge([hello]), desk.charge([hello, HumanMessage("again?")])
(Charge(input_tokens=5, cached_tokens=0), Charge(input_tokens=10, cached_tokens=5))
>>> desk.charge([HumanMessage("word " * 20)])
Traceback (most recent call last):
...
ctxlab.lab.vendor_errors.VendorContextOverflow: Error code: 400 - {'error': ...

Left out: true counts other than UTF-8 bytes / 3. Lesson: 12_tune_on_a_transcript.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from ctxlab.lab.billing import MEDIA_TOKENS
from ctxlab.lab.sent import media_count, sent_text
from ctxlab.lab.vendor_errors import overflow_error

FRAME_TOKENS = 3
BYTES_PER_TOKEN = 3


@dataclass(frozen=True)
class Prices:
    """How the provider bills: all in tokens, but for the scale.

    Attributes:
        window: Most input tokens of a request; None takes everything.
        overhead: Billed on every request for what is not in it.
        scale: Billed tokens for each token of the true count.
    """

    window: int | None = None
    overhead: float = 0
    scale: float = 1.0


@dataclass(frozen=True)
class Fixed:
    """What stands in every request: the system message, and the schemas' bytes."""

    system: BaseMessage | None = None
    tools_bytes: int = 0


@dataclass(frozen=True)
class Charge:
    """What one answered request costs besides its answer, in tokens."""

    input_tokens: int
    cached_tokens: int


Weight = tuple[int, int, int]
"""Bytes, media, and a hash: of a message, or summed over the first of a request."""


class Weights:
    """Bytes and media of messages, each weighed once; by object."""

    def __init__(self) -> None:
        # The message stands beside its weight: an id is its own only while it lives.
        self.known: dict[int, tuple[BaseMessage, Weight]] = {}
        self._originals: dict[int, BaseMessage] = {}

    def of(self, message: BaseMessage) -> Weight:
        """Return bytes, media and a hash of what is sent of a message."""
        found = self.known.get(id(message))
        if found is None:
            text = sent_text(message)
            content = hash((message.type, text))
            weight = len(text.encode()), media_count(message), content
            found = self.known[id(message)] = message, weight
        return found[1]

    def alike(self, original: BaseMessage, copy: BaseMessage) -> None:
        """Take down that a copy, with other metadata, weighs what the original does."""
        self.known[id(copy)] = copy, self.of(original)
        self._originals[id(copy)] = original

    def original(self, message: BaseMessage) -> BaseMessage:
        """Return what a message is a copy of; itself if it is none."""
        return self._originals.get(id(message), message)

    def copy(self) -> "Weights":
        """Return weights that can grow on their own."""
        new = Weights()
        new.known = dict(self.known)
        return new


class BillingDesk:
    """A provider's till: it charges one request after another.

    Args:
        prices: How it bills.
        fixed: What stands in every request.
        weights: Messages weighed already.
    """

    def __init__(
        self, prices: Prices, fixed: Fixed, weights: Weights | None = None
    ) -> None:
        self.prices, self.fixed = prices, fixed
        self.weights = weights or Weights()
        self._seen: set[int] = set()
        self._last: list[BaseMessage] = []
        # Sums over the first n messages of the last request: bytes, media, hash.
        self._sums: list[Weight] = [(0, 0, 0)]
        if fixed.system:
            self._sums = [self._added((0, 0, 0), fixed.system)]
        self._paid = 0  # so many of them belong to a request that was answered

    def charge(self, messages: list[BaseMessage]) -> Charge:
        """Charge a request and remember its beginning.

        Raises:
            Exception: It is over the window; the vendor's own error.
        """
        size = self.size(messages)
        if self.prices.window is not None and size > self.prices.window:
            raise overflow_error("openai", size, self.prices.window)
        return Charge(size, self.cached())

    def size(self, messages: list[BaseMessage]) -> int:
        """Return the input tokens that a request costs."""
        length = len(self._last)
        if messages[:length] != self._last:
            length = 0
            self.begin_anew()
        return self.size_with(messages[length:])

    def begin_anew(self) -> None:
        """Go on from no request: the next one is sized as a whole."""
        self._last, self._paid = [], 0
        del self._sums[1:]

    def size_with(self, more: Sequence[BaseMessage]) -> int:
        """Return the input tokens of the last request with these messages behind it."""
        sums, known, weigh = self._sums, self.weights.known, self.weights.of
        size, media, content = sums[-1]
        for message in more:
            found = known.get(id(message))
            bytes_, media_, content_ = found[1] if found else weigh(message)
            size, media = size + bytes_, media + media_
            content = hash((content, content_))
            sums.append((size, media, content))
        self._last += more
        return math.ceil(self._bill(len(self._last), sums[-1]))

    def _added(self, sums: Weight, message: BaseMessage) -> Weight:
        size, media, content = self.weights.of(message)
        return sums[0] + size, sums[1] + media, hash((sums[2], content))

    def cached(self) -> int:
        """Return what of the request sized last an earlier one had; remember it."""
        sums, seen, low = self._sums, self._seen, self._paid
        new = [each[2] for each in sums[low:]]
        if new and new[0] in seen:
            # Prefixes are seen from the front: the first unseen one ends what is
            # shared.
            low += bisect_left(new, True, key=lambda each: each not in seen)
        seen.update(new)
        self._paid = len(sums)
        if low == 0 or (low == 1 and not self.fixed.system):
            return 0
        return math.floor(self._bill(low - 1, sums[low - 1]))

    def _bill(self, messages: int, sums: Weight) -> float:
        framed = messages + (self.fixed.system is not None)
        count = (
            (sums[0] + self.fixed.tools_bytes) / BYTES_PER_TOKEN
            + FRAME_TOKENS * framed
            + MEDIA_TOKENS * sums[1]
        )
        return self.prices.overhead + self.prices.scale * count
