"""A measured conversation: tokens of any stretch, parts, digests, and a cut by budget.

Sums over prefixes answer every question by a subtraction or a bisection. Histories that
extend each other share one line of sums, which only ever grows, and each looks at the
first messages of it; so a history that somebody holds never changes under them.

>>> from langchain_core.messages import HumanMessage
>>> from ctxlab.history.meter import HistoryMeter
>>> from ctxlab.tokens import CjkAwareCounter
>>> texts = ["first", "second", "third"]
>>> history = HistoryMeter(CjkAwareCounter()).measure([*map(HumanMessage, texts)])
>>> history.tokens(), history.tokens(1), history.first_index_within(12)
(18.0, 12.0, 1)

Left out here: how a line is found again (`meter`) and what a cut may not split
(`ctxlab.boundaries`). Lesson: 08_keep_tokens.
"""

import threading
from bisect import bisect_left
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ctxlab.history.contents import CALLS, PARTS, SCALE, Size


class Line:
    """What the contents of a conversation tell; it only ever grows."""

    def __init__(self, sizes: list[Size]) -> None:
        self.sizes = sizes
        self.sums = list(accumulate((size.tokens for size in sizes), initial=0))
        self._parts: list[list[int]] = [[0] for _ in PARTS]
        self._digests: dict[int, str] = {}
        self._hasher, self._hashed = blake2b(digest_size=16), 0
        self._lock = threading.Lock()

    def begins_like(self, sizes: list[Size]) -> bool:
        """Tell whether this line and these sizes agree as far as both go."""
        length = min(len(self.sizes), len(sizes))
        # Equal contents share one Size object, so this compares by identity.
        return length > 0 and self.sizes[:length] == sizes[:length]

    def grow(self, sizes: list[Size]) -> None:
        """Add the sizes of the messages that came after the last."""
        total = self.sums[-1]
        for size in sizes:
            total += size.tokens
            self.sums.append(total)
        self.sizes += sizes

    def part_sums(self, length: int) -> list[list[int]]:
        """Return the prefix sums of each part, at least `length` + 1 long."""
        with self._lock:
            for size in self.sizes[len(self._parts[0]) - 1 : length]:
                for sums in self._parts:
                    sums.append(sums[-1])
                self._parts[size.kind][-1] += size.tokens - size.calls
                self._parts[CALLS][-1] += size.calls
        return self._parts

    def digest(self, messages: Sequence[BaseMessage], stop: int) -> str:
        """Return the digest of the first `stop` messages, hashing none twice."""
        with self._lock:
            if stop not in self._digests:
                if stop < self._hashed:
                    self._hasher, self._hashed = blake2b(digest_size=16), 0
                new = range(self._hashed, stop)
                digests = [self.sizes[at].digest_of(messages[at]) for at in new]
                self._hasher.update(b"".join(digests))
                self._hashed = stop
                self._digests[stop] = self._hasher.hexdigest()
            return self._digests[stop]


class Roles:
    """Where users speak and answers with a bill stand; it only ever grows.

    Not part of the line: a bill is no content, so two reloads may differ in it.
    """

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.users: list[int] = []
        self._looked_at = 0
        self._lock = threading.Lock()

    def look_at(self, messages: list[BaseMessage]) -> None:
        """Search the messages that were not searched before."""
        if self._looked_at >= len(messages):
            return
        with self._lock:
            for index in range(self._looked_at, len(messages)):
                message = messages[index]
                if isinstance(message, AIMessage):
                    if message.usage_metadata or "ctxlab" in message.response_metadata:
                        self.answers.append(index)
                elif isinstance(message, HumanMessage) and not _is_summary(message):
                    self.users.append(index)
            self._looked_at = max(self._looked_at, len(messages))


def _is_summary(message: HumanMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


class History:
    """A measured conversation, as it was when it was measured; it never changes.

    `messages` are the very objects that were measured, oldest first. Indices and
    lengths are in messages, sizes in tokens.
    """

    __slots__ = ("line", "messages", "roles")

    def __init__(self, messages: list[BaseMessage], line: Line, roles: Roles) -> None:
        self.messages = messages
        self.line = line
        self.roles = roles

    def __len__(self) -> int:
        return len(self.messages)

    def __repr__(self) -> str:
        return f"<History of {len(self)} messages, {self.tokens():g} tokens>"

    def tokens(self, start: int = 0, stop: int | None = None) -> float:
        """Return the tokens of `messages[start:stop]`."""
        start, stop, _ = slice(start, stop).indices(len(self))
        sums = self.line.sums
        return (sums[max(start, stop)] - sums[start]) / SCALE

    def parts(self, start: int = 0, stop: int | None = None) -> dict[str, float]:
        """Return the tokens of `messages[start:stop]` by kind; they sum to `tokens`.

        The kinds are `PARTS`: system, user and assistant messages, the tool calls of
        assistant messages, and tool results.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        sums = self.line.part_sums(len(self))
        return {
            part: (of[max(start, stop)] - of[start]) / SCALE
            for part, of in zip(PARTS, sums, strict=True)
        }

    def digest(self, stop: int) -> str:
        """Return the hex digest of the contents of `messages[:stop]`.

        Equal for equal contents whatever the ids, usage and metadata, in any process.
        """
        length = slice(0, stop).indices(len(self))[1]
        return self.line.digest(self.messages, length)

    @property
    def newest_user(self) -> int | None:
        """Index of the newest user message that is not a summary, or None."""
        self.roles.look_at(self.messages)
        users = self.roles.users
        place = bisect_left(users, len(self))
        return users[place - 1] if place else None

    @property
    def answers(self) -> Sequence[int]:
        """Indices of AI messages with usage or a ctxlab entry, oldest first."""
        self.roles.look_at(self.messages)
        answers = self.roles.answers
        return answers[: bisect_left(answers, len(self))]

    def first_index_within(self, tokens: float, start: int = 0) -> int:
        """Return the smallest index from `start` on whose tail is within `tokens`."""
        start, stop, _ = slice(start, None).indices(len(self))
        wanted = self.line.sums[stop] - tokens * SCALE
        return bisect_left(self.line.sums, wanted, start, stop)
