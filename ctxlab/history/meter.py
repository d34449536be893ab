"""Find again what was measured before, so that only what is new is counted.

The objects say it first: if the new list starts with the messages of a known history,
that history's sums are extended. If not, the longest common beginning is taken over,
and the rest is looked up by content, message by message.

>>> from langchain_core.messages import HumanMessage
>>> from ctxlab.tokens import ApproximateCounter
>>> meter = HistoryMeter(ApproximateCounter())
>>> before = meter.measure([HumanMessage("one"), HumanMessage("two")])
>>> edited = meter.measure([before.messages[0], HumanMessage("two or three")])
>>> edited.tokens(), before.tokens()
(12.0, 10.0)

Left out here: a message changed in place; LangGraph replaces messages, and so should
you. Lesson: 09_summarize_the_request_only.
"""

import operator
import threading
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from ctxlab.history.contents import Memo, MessageCounter, Size
from ctxlab.history.lines import History, Line, Roles

_EDITED_FROM = 4  # histories compared message by message to find an edited one


class HistoryMeter:
    """Measures conversations, and what it has measured before costs almost nothing.

    Safe to share between threads and between conversations.

    Args:
        counter: Prices a message; any of `ctxlab.tokens`.
        max_histories: Conversations kept for comparison; the oldest is let go.
        max_characters: Bound on the contents remembered, in characters.

    Raises:
        ValueError: A bound is not at least 1.
    """

    def __init__(
        self,
        counter: MessageCounter,
        max_histories: int = 64,
        max_characters: int = 20_000_000,
    ) -> None:
        for name, bound in (
            ("max_histories", max_histories),
            ("max_characters", max_characters),
        ):
            if bound < 1:
                raise ValueError(f"{name} must be at least 1, got {bound}.")
        self._memo = Memo(counter, max_characters)
        self._max_histories = max_histories
        self._histories: list[History] = []  # newest last, none of them empty
        self._lock = threading.Lock()

    def measure(self, messages: Sequence[BaseMessage]) -> History:
        """Return `messages` measured: the same objects, with sums and digests."""
        own = list(messages)  # not the caller's: it is cut and joined while compared
        with self._lock:
            known = [h for h in self._histories if own[:1] and h.messages[0] is own[0]]
        before, length = _longest_common(known, own)
        sizes = self._memo.sizes(own[length:])
        with self._lock:
            line, roles = self._line_of(before, length, sizes)
            history = History(own, line, roles)
            if own:
                self._keep(history)
        return history

    def _line_of(
        self, before: History | None, length: int, sizes: list[Size]
    ) -> tuple[Line, Roles]:
        """Return line and roles of a history that shares `length` messages."""
        if before is None:
            return self._reloaded(sizes), Roles()
        line = before.line
        if sizes and len(line.sizes) != length:  # another history goes on differently
            return Line(line.sizes[:length] + sizes), Roles()
        line.grow(sizes)
        return line, before.roles

    def _reloaded(self, sizes: list[Size]) -> Line:
        """Return the line of new objects; equal contents were measured before."""
        for known in reversed(self._histories):
            line = known.line
            if line.begins_like(sizes) and len(sizes) >= len(line.sizes):
                line.grow(sizes[len(line.sizes) :])
                return line
        return Line(sizes)

    def _keep(self, history: History) -> None:
        """Make `history` the newest; those that it continues give way to it."""
        others = [
            other
            for other in self._histories
            if other.line is not history.line or len(other) > len(history)
        ]
        self._histories = [*others, history][-self._max_histories :]


def _longest_common(
    histories: list[History], messages: list[BaseMessage]
) -> tuple[History | None, int]:
    """Return the history that shares most first messages with `messages`, how many."""
    for history in sorted(histories, key=len, reverse=True):
        length = min(len(history), len(messages))
        if _same_objects(history.messages, messages, length):
            return history, length
    best, longest = None, 0
    for history in histories[-_EDITED_FROM:]:
        same = list(map(operator.is_, history.messages, messages))
        length = same.index(False) if False in same else len(same)
        if length > longest:
            best, longest = history, length
    return best, longest


def _same_objects(old: list[BaseMessage], new: list[BaseMessage], length: int) -> bool:
    """Tell whether two lists begin alike: `length` is that of the shorter.

    Comparing lists passes over identical objects at 1 ns each, `is` in a loop at 20;
    but it asks pydantic about two that differ, so a sample is compared by `is` first.
    Equal messages count as the same; to Python an argument 1 equals True and 1.0.
    """
    step = max(1, length // 16)
    sample = old[length - 1 :: -step], new[length - 1 :: -step]
    if not all(map(operator.is_, *sample)):
        return False
    if len(old) > length:
        return old[:length] == new
    # A slice of the new list would touch every message in memory; its tail will not.
    tail = new[length:]
    del new[length:]
    same = old == new
    new += tail
    return same
