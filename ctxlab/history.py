"""A conversation measured once, so that the next call measures only what is new.

An agent asks for the size of its whole history before every model call, and almost all
of it was there the call before. A `HistoryMeter` keeps what it measured as prefix sums:
the tokens of any stretch are one subtraction, a cut for a budget is one bisection, and
a message added to 10,000 others costs the look at one message and a comparison of two
lists. Within a run LangGraph passes the same message objects, which the comparison sees
at once; after a reload from a checkpoint the objects are new, and each is found again
by its content.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> from ctxlab.tokens import CjkAwareCounter
>>> meter = HistoryMeter(CjkAwareCounter())
>>> asked = [HumanMessage("Which tests fail?"), AIMessage("Two of them.")]
>>> first = meter.measure(asked)
>>> first.tokens(), first.parts()["assistant"]
(18.0, 9.0)
>>> longer = meter.measure([*first.messages, HumanMessage("Fix both.")])
>>> longer.tokens(2), longer.newest_user, longer.digest(2) == first.digest(2)
(7.0, 2, True)

A digest names the content of a prefix: type, content, calls, call id, name and status
of each message. Ids, usage, metadata and artifacts do not count, so a reloaded, forked
or replayed conversation has the digest of the original, in any process.

Left out here: a message changed in place (LangGraph replaces messages, and so should
you), and what a cut may not split (`ctxlab.boundaries`). Lesson:
09_summarize_the_request_only.
"""

import json
import marshal
import operator
import threading
from bisect import bisect_left
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic_core import to_jsonable_python

PARTS = ("system", "user", "assistant", "calls", "results")
"""The kinds of content that `History.parts` tells apart."""

_CALLS = PARTS.index("calls")
_KINDS = {"system": 0, "human": 1, "ai": 2, "AIMessageChunk": 2, "tool": 4}
_KINDS |= {"function": 4, "developer": 0, "assistant": 2}
# Sums are kept in whole thousandths of a token: integers add up exactly, in any order.
_SCALE = 1_000


class MessageCounter(Protocol):
    """The part of a token counter that a meter needs."""

    def message(self, message: BaseMessage) -> float:
        """Return the tokens of one message."""

    def calls(self, message: BaseMessage) -> float:
        """Return the share of those tokens that its tool calls cost."""


class _Size(NamedTuple):
    """What is remembered of one message's content."""

    tokens: int  # thousandths of a token, calls included
    calls: int  # thousandths of a token
    kind: int  # index into PARTS
    digest: bytes


def message_digest(message: BaseMessage) -> bytes:
    """Return 16 bytes that name the content of `message`, the same in any process."""
    calls: list[list[Any]] = []
    if isinstance(message, AIMessage):
        made = (*message.tool_calls, *message.invalid_tool_calls)
        calls = [[call["name"], call["args"], call["id"]] for call in made]
    call_id = status = None
    if isinstance(message, ToolMessage):
        call_id, status = message.tool_call_id, message.status
    content = [message.type, message.content, calls, call_id, message.name, status]
    try:
        text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        plain = to_jsonable_python(content, fallback=lambda value: type(value).__name__)
        text = json.dumps(plain, ensure_ascii=False, sort_keys=True)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Memo:
    """Sizes by content, the least recently used half dropped when full."""

    def __init__(self, counter: MessageCounter, max_characters: int) -> None:
        self._counter = counter
        self._half = max_characters // 2
        self._young: dict[Any, _Size] = {}
        self._old: dict[Any, _Size] = {}
        self._characters = 0

    def sizes(self, messages: Sequence[BaseMessage]) -> list[_Size]:
        """Return the size of each message, counting only contents not seen lately."""
        sizes = []
        for message in messages:
            key = _content_key(message)
            size = self._young.get(key)
            if size is None:
                size = self._find_or_count(key, message)
            sizes.append(size)
        return sizes

    def _find_or_count(self, key: Any, message: BaseMessage) -> _Size:
        size = self._old.get(key) or self._count(message)
        if key is None:
            return size
        self._young[key] = size
        self._characters += 100 + sum(len(part) for part in key[1:] if part)
        if self._characters > self._half:
            self._old, self._young, self._characters = self._young, {}, 0
        return size

    def _count(self, message: BaseMessage) -> _Size:
        calls = 0
        if isinstance(message, AIMessage):
            calls = round(_SCALE * self._counter.calls(message))
        tokens = round(_SCALE * self._counter.message(message))
        kind = _KINDS.get(message.type)
        if kind is None:
            kind = _KINDS.get(getattr(message, "role", ""), 1)
        return _Size(tokens, min(calls, tokens), kind, message_digest(message))


def _content_key(message: BaseMessage) -> tuple[Any, ...] | None:
    """Return a key that two messages share only if they count and digest alike.

    Reading `__dict__` and comparing strings is what makes a reload cheap. Contents and
    calls that are no plain strings are compared by their marshalled bytes.
    """
    fields = message.__dict__
    content = fields["content"]
    calls = fields.get("tool_calls") or fields.get("invalid_tool_calls")
    extras = fields["additional_kwargs"]
    kind = type(message)
    try:
        if calls or (extras and kind is not HumanMessage):
            rest = (fields.get("tool_calls"), fields.get("invalid_tool_calls"), extras)
            calls = marshal.dumps(rest, 2)
        if type(content) is not str:
            content = marshal.dumps(content, 2)
    except ValueError:  # a value that has no plain form: count it anew each time
        return None
    call_id, status = fields.get("tool_call_id"), fields.get("status")
    return kind, content, calls or None, fields["name"], call_id, status


class _Line:
    """What is known of one line of a conversation: it only ever grows.

    Histories that extend each other share a line and each look at the first messages
    of it; a history that diverges gets a line of its own.
    """

    def __init__(self, sizes: list[_Size]) -> None:
        self.sizes = sizes
        self.sums = list(accumulate((size.tokens for size in sizes), initial=0))
        self.parts: list[list[int]] = [[0] for _ in PARTS]
        self.answers: list[int] = []
        self.users: list[int] = []
        self.seen = 0  # messages looked at for answers and users
        self.digests: dict[int, str] = {}
        self.lock = threading.Lock()

    def grow(self, sizes: list[_Size]) -> None:
        """Add the sizes of the messages that came after the last."""
        self.sizes += sizes
        total = self.sums[-1]
        for size in sizes:
            total += size.tokens
            self.sums.append(total)

    def fork(self, length: int) -> "_Line":
        """Return a new line with what is known of the first `length` messages."""
        line = _Line(self.sizes[:length])
        line.digests = {at: d for at, d in self.digests.items() if at <= length}
        return line

    def part_sums(self, length: int) -> list[list[int]]:
        """Return prefix sums of each part, at least `length` + 1 long."""
        with self.lock:
            for size in self.sizes[len(self.parts[0]) - 1 : length]:
                for sums in self.parts:
                    sums.append(sums[-1])
                self.parts[size.kind][-1] += size.tokens - size.calls
                self.parts[_CALLS][-1] += size.calls
        return self.parts

    def look_at(self, messages: list[BaseMessage]) -> None:
        """Find the answers and the user messages among messages not looked at yet."""
        with self.lock:
            for index in range(self.seen, len(messages)):
                message = messages[index]
                if isinstance(message, AIMessage):
                    if message.usage_metadata or "ctxlab" in message.response_metadata:
                        self.answers.append(index)
                elif isinstance(message, HumanMessage) and not _is_summary(message):
                    self.users.append(index)
            self.seen = max(self.seen, len(messages))


def _is_summary(message: HumanMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


class History:
    """A measured conversation, as it was when it was measured; it never changes.

    `messages` are the very objects that were measured, oldest first. Indices and
    lengths are in messages, sizes in tokens.
    """

    __slots__ = ("_line", "messages")

    def __init__(self, messages: list[BaseMessage], line: _Line) -> None:
        self.messages = messages
        self._line = line

    def __len__(self) -> int:
        return len(self.messages)

    def __repr__(self) -> str:
        return f"<History of {len(self)} messages, {self.tokens():g} tokens>"

    def tokens(self, start: int = 0, stop: int | None = None) -> float:
        """Return the tokens of `messages[start:stop]`."""
        start, stop, _ = slice(start, stop).indices(len(self))
        sums = self._line.sums
        return max(0, sums[stop] - sums[start]) / _SCALE

    def parts(self, start: int = 0, stop: int | None = None) -> dict[str, float]:
        """Return the tokens of `messages[start:stop]` by kind; they sum to `tokens`.

        The kinds are `PARTS`: system, user and assistant messages, the tool calls of
        assistant messages, and tool results.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        sums = self._line.part_sums(len(self))
        return {
            part: max(0, of[stop] - of[start]) / _SCALE
            for part, of in zip(PARTS, sums, strict=True)
        }

    def digest(self, stop: int) -> str:
        """Return the hex digest of the contents of `messages[:stop]`.

        Equal for equal contents whatever the ids, usage and metadata, in any process.
        """
        _, stop, _ = slice(0, stop).indices(len(self))
        known = self._line.digests.get(stop)
        if known is None:
            whole = b"".join([size.digest for size in self._line.sizes[:stop]])
            known = blake2b(whole, digest_size=16).hexdigest()
            self._line.digests[stop] = known
        return known

    @property
    def newest_user(self) -> int | None:
        """Index of the newest user message that is not a summary, or None."""
        users = self._within(self._line.users)
        return users[-1] if users else None

    @property
    def answers(self) -> Sequence[int]:
        """Indices of AI messages with usage or a ctxlab entry, oldest first."""
        return self._within(self._line.answers)

    def _within(self, indices: list[int]) -> list[int]:
        if self._line.seen < len(self):
            self._line.look_at(self.messages)
        return indices[: bisect_left(indices, len(self))]

    def first_index_within(self, tokens: float, start: int = 0) -> int:
        """Return the smallest index from `start` on whose tail is within `tokens`."""
        start, stop, _ = slice(start, None).indices(len(self))
        wanted = self._line.sums[stop] - tokens * _SCALE
        return bisect_left(self._line.sums, wanted, start, stop)


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
        max_characters: int = 50_000_000,
    ) -> None:
        for name, bound in (
            ("max_histories", max_histories),
            ("max_characters", max_characters),
        ):
            if bound < 1:
                raise ValueError(f"{name} must be at least 1, got {bound}.")
        self._memo = _Memo(counter, max_characters)
        self._max_histories = max_histories
        self._histories: list[History] = []  # newest last
        self._lock = threading.Lock()

    def measure(self, messages: Sequence[BaseMessage]) -> History:
        """Return `messages` measured: the same objects, with sums and digests."""
        own = list(messages)
        with self._lock:
            known = list(self._histories)
        before, length = _longest_common(known, own)
        if before and length == len(before) == len(own):
            history = before
        else:
            sizes = self._memo.sizes(own[length:])
            with self._lock:
                history = History(own, _line_of(before, length, sizes))
        self._keep(history, before)
        return history

    def _keep(self, history: History, before: History | None) -> None:
        """Make `history` the newest kept; the one it continues gives way to it."""
        with self._lock:
            gone = (history, before) if _continues(history, before) else (history,)
            kept = [h for h in self._histories if not any(h is g for g in gone)]
            self._histories = [*kept, history][-self._max_histories :]


def _continues(history: History, before: History | None) -> bool:
    return before is not None and history._line is before._line


def _line_of(before: History | None, length: int, sizes: list[_Size]) -> _Line:
    """Return the line of a history: `before`'s own, grown, or a new one."""
    if before is None:
        return _Line(sizes)
    line = before._line
    if len(line.sizes) != length:  # another history has gone on from here
        line = line.fork(length)
    line.grow(sizes)
    return line


def _longest_common(
    histories: list[History], messages: list[BaseMessage]
) -> tuple[History | None, int]:
    """Return the history that shares most first messages with `messages`, how many."""
    best, longest = None, 0
    for history in reversed(histories):
        mine = history.messages
        if not mine or not messages or mine[0] is not messages[0]:
            continue
        length = _common_length(mine, messages)
        if length > longest:
            best, longest = history, length
        if length in (len(messages), len(mine)):
            break
    return best, longest


def _common_length(old: list[BaseMessage], new: list[BaseMessage]) -> int:
    """Return how many first elements of two lists are the same objects."""
    length = min(len(old), len(new))
    if _same_objects(old, new, length):
        return length
    same = list(map(operator.is_, old, new))
    return same.index(False) if False in same else length


def _same_objects(old: list[BaseMessage], new: list[BaseMessage], length: int) -> bool:
    """Tell whether the first `length` elements are the same, mostly by `==` of lists.

    Comparing lists skips identical elements at 1 ns each, but asks pydantic about any
    that differ; so a sample is compared by identity first.
    """
    step = max(1, length // 16)
    if not all(map(operator.is_, old[:length:step], new[:length:step])):
        return False
    if length and old[length - 1] is not new[length - 1]:
        return False
    return old[:length] == new[:length]
