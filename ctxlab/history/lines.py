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
from itertools import pairwise

from langchain_core.messages import BaseMessage

from ctxlab.history.contents import (
    ANSWER,
    CALLS,
    PARTS,
    QUESTION,
    SCALE,
    Memo,
    Size,
)
from ctxlab.history.faces import Face


class Line:
    """What the contents of a conversation tell; it only ever grows.

    Attributes:
        faces: The contents, to be compared.
        sizes: What is remembered of each.
        sums: Thousandths of a token of the first n messages, by n.
        answers: Indices of AI messages, oldest first.
        users: Indices of user messages that are no summaries, oldest first.
        objects: The messages of the newest run through this line, as far as it came;
            empty once they were let go of.
    """

    def __init__(self, memo: Memo, faces: list[Face], sizes: list[Size]) -> None:
        self._memo = memo
        self.faces: list[Face] = []
        self.sizes: list[Size] = []
        self.sums = [0]
        self.answers: list[int] = []
        self.users: list[int] = []
        self.objects: list[BaseMessage] = []
        self._parts: list[list[int]] = [[0] for _ in PARTS]
        self._digests: dict[int, str] = {}
        self._hasher, self._hashed = blake2b(digest_size=16), 0
        self._lock = threading.Lock()
        self.grow(faces, sizes)

    def fork(self, length: int, faces: list[Face], sizes: list[Size]) -> "Line":
        """Return a line that shares so many messages and then goes on differently."""
        faces, sizes = self.faces[:length] + faces, self.sizes[:length] + sizes
        return Line(self._memo, faces, sizes)

    def grow(self, faces: list[Face], sizes: list[Size]) -> None:
        """Add the contents that came after the last."""
        total = self.sums[-1]
        for index, size in enumerate(sizes, len(self.sizes)):
            total += size.tokens
            self.sums.append(total)
            if size.role == ANSWER:
                self.answers.append(index)
            elif size.role == QUESTION:
                self.users.append(index)
        self.sizes += sizes
        self.faces += faces

    def part_sums(
        self, messages: Sequence[BaseMessage], length: int
    ) -> list[list[int]]:
        """Return the prefix sums of each part, at least `length` + 1 long."""
        if len(self._parts[0]) <= length:
            with self._lock:
                for at in range(len(self._parts[0]) - 1, length):
                    size = self.sizes[at]
                    calls = self._memo.calls(messages[at], size)
                    more = [0] * len(PARTS)
                    more[size.kind] += size.tokens - calls
                    more[CALLS] += calls
                    # The first part last: who sees it long enough asks for no lock.
                    for sums, tokens in zip(self._parts[::-1], more[::-1], strict=True):
                        sums.append(sums[-1] + tokens)
        return self._parts

    def digest(self, messages: Sequence[BaseMessage], stop: int) -> str:
        """Return the digest of the first `stop` messages, hashing none twice."""
        known = self._digests.get(stop)
        if known is not None:
            return known
        with self._lock:
            if stop < self._hashed:
                self._hasher, self._hashed = blake2b(digest_size=16), 0
            new = range(self._hashed, stop)
            digests = [self.sizes[at].digest_of(messages[at]) for at in new]
            self._hasher.update(b"".join(digests))
            self._hashed = stop
            self._digests[stop] = self._hasher.hexdigest()
            return self._digests[stop]


class History:
    """A measured conversation, as it was when it was measured; it never changes.

    Indices and lengths are in messages, sizes in tokens; `answer_count` is the number
    of AI messages.
    """

    __slots__ = ("_length", "_objects", "answer_count", "line")

    def __init__(self, line: Line, objects: list[BaseMessage], length: int) -> None:
        self.line = line
        self._objects = objects  # may grow behind `length`, by a later measurement
        self._length = length
        self.answer_count = bisect_left(line.answers, length)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<History of {len(self)} messages, {self.tokens():g} tokens>"

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages that were measured, oldest first."""
        return self._objects[: self._length]

    def release(self) -> None:
        """Let the line hold these messages no longer."""
        if self.line.objects is self._objects:
            self.line.objects = []

    def tokens(self, start: int = 0, stop: int | None = None) -> float:
        """Return the tokens of `messages[start:stop]`."""
        sums, length = self.line.sums, self._length
        if stop is None:
            stop = length
        if not 0 <= start <= stop <= length:  # asked rarely: a slice costs more
            start, stop, _ = slice(start, stop).indices(length)
            stop = max(start, stop)
        return (sums[stop] - sums[start]) / SCALE

    def sizes(self, start: int = 0) -> list[float]:
        """Return the tokens of each message from `start` on."""
        sums = self.line.sums[start : self._length + 1]
        return [(after - before) / SCALE for before, after in pairwise(sums)]

    def parts(self, start: int = 0, stop: int | None = None) -> dict[str, float]:
        """Return the tokens of `messages[start:stop]` by kind; they sum to `tokens`.

        The kinds are `PARTS`: system, user and assistant messages, the tool calls of
        assistant messages, and tool results.
        """
        length = self._length
        if stop is None:
            stop = length
        if not 0 <= start <= stop <= length:
            start, stop, _ = slice(start, stop).indices(length)
            stop = max(start, stop)
        sums = self.line.part_sums(self._objects, length)
        return {
            part: (of[stop] - of[start]) / SCALE
            for part, of in zip(PARTS, sums, strict=True)
        }

    def digest(self, stop: int) -> str:
        """Return the hex digest of the contents of `messages[:stop]`.

        Equal for equal contents whatever the ids, usage and metadata, in any process.
        """
        if not 0 <= stop <= self._length:
            stop = slice(0, stop).indices(self._length)[1]
        return self.line.digest(self._objects, stop)

    @property
    def newest_user(self) -> int | None:
        """Index of the newest user message that is not a summary, or None."""
        users = self.line.users
        place = bisect_left(users, self._length)
        return users[place - 1] if place else None

    def answers(self, newest: int | None = None) -> list[int]:
        """Return the indices of the newest so many AI messages, oldest first."""
        count = self.answer_count
        first = 0 if newest is None else max(0, count - newest)
        return self.line.answers[first:count]

    def questions(self) -> list[int]:
        """Return the indices of user messages that are no summaries, oldest first."""
        users = self.line.users
        return users[: bisect_left(users, self._length)]

    def first_index_within(self, tokens: float, start: int = 0) -> int:
        """Return the smallest index from `start` on whose tail is within `tokens`."""
        start, stop, _ = slice(start, None).indices(self._length)
        wanted = self.line.sums[stop] - tokens * SCALE
        return bisect_left(self.line.sums, wanted, start, stop)
