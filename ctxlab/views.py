"""The request-only view: a remembered summary in front of an untouched tail.

A view says what one request carries instead of the whole history. It is a few
numbers and one text; the messages themselves stay where they are, in the
checkpoint, and are never copied or changed.

>>> from langchain_core.messages import HumanMessage
>>> history = [HumanMessage(text) for text in ("old", "older", "new")]
>>> note = HumanMessage("summary of two messages")
>>> view = View(cut=2, tail=2, summary="two messages")
>>> [message.text for message in carried(view, history, note)]
['summary of two messages', 'new']

Views are remembered by the *content* of the messages they speak about. Editing,
forking or deleting a message gives another prefix, hence another key, hence no
view: none of these needs a special case.

Left out here: when a view is made (`ctxlab.chain`), how its summary is written
(`ctxlab.summaries`). Lesson: 09_summarize_the_request_only.
"""

import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import TypeAdapter, ValidationError

VIEW_VERSION = 1


@dataclass(frozen=True)
class View:
    """What one request carries instead of the history.

    Attributes:
        cut: Messages before this index are told by the summary.
        tail: Messages from this index on are carried verbatim; `tail - cut`
            messages in between were dropped because nothing else fitted.
        summary: Text of the summary; empty when there is none.
        kept: Indices before `tail` that are carried verbatim all the same.
        shortened: Pairs (message index, tokens it may keep).
        unreasoned: Answers of the tail before this index are carried without the
            reasoning that stood in them; 0 leaves all as they are.
        language: Language of the summary, `"en"` or `"zh"`.
        settled_tokens: Estimated tokens of the request right after this view was
            made, if that was still over the trigger; 0 when all went well.
    """

    cut: int = 0
    tail: int = 0
    summary: str = ""
    kept: tuple[int, ...] = ()
    shortened: tuple[tuple[int, int], ...] = ()
    unreasoned: int = 0
    language: str = "en"
    settled_tokens: int = 0

    def __post_init__(self) -> None:
        before_tail = all(0 <= index < self.tail for index in self.kept)
        if not (0 <= self.cut <= self.tail and before_tail):
            raise ValueError(f"cut, kept and tail are out of order in {self}")

    @cached_property
    def extent(self) -> int:
        """Number of leading messages the view speaks about."""
        last_shortened = max((index + 1 for index, _ in self.shortened), default=0)
        return max(self.tail, last_shortened, self.unreasoned)

    @property
    def dropped(self) -> int:
        """Number of messages neither summarised nor carried."""
        return self.tail - self.cut - sum(index >= self.cut for index in self.kept)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, with a version.

        >>> View.from_json(View(cut=3, tail=3, summary="s").to_json()).cut
        3
        """
        plain: dict[str, Any] = _VIEWS.dump_python(self, mode="json")
        return {"version": VIEW_VERSION, **plain}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "View | None":
        """Return the view a stored value describes; None if it is of another make."""
        if value.get("version") != VIEW_VERSION or "cut" not in value:
            return None
        try:
            return _VIEWS.validate_python(dict(value))
        except ValidationError:
            return None


NO_VIEW = View()
_VIEWS = TypeAdapter(View)


def carried(
    view: View,
    messages: Sequence[BaseMessage],
    note: BaseMessage | None = None,
    replacements: Mapping[int, BaseMessage] | None = None,
) -> list[BaseMessage]:
    """Return the messages of a request: system, note, kept, tail.

    Args:
        view: The view.
        messages: The whole history, oldest first.
        note: The message that carries the summary.
        replacements: Shortened messages by their index in the history.
    """
    replaced = replacements or {}
    before = [replaced.get(index, messages[index]) for index in view.kept]
    lead = leading_system_messages(before)
    tail = list(messages[view.tail :])
    for index, message in replaced.items():
        if index >= view.tail:
            tail[index - view.tail] = message
    return [*before[:lead], *([note] if note else []), *before[lead:], *tail]


def leading_system_messages(messages: Sequence[BaseMessage]) -> int:
    """Return how many system messages stand at the front of a history."""
    count = 0
    while count < len(messages) and isinstance(messages[count], SystemMessage):
        count += 1
    return count


@dataclass
class LiveView:
    """A view with what it takes to use it at once.

    Attributes:
        view: The view.
        key: Where it is remembered.
        digest: Digest of the contents of the messages it speaks about.
        note: The message that carries the summary, always the same object.
        replacements: Shortened messages by index, always the same objects.
        head: Tokens by kind that the view adds to those of its tail.
    """

    view: View = NO_VIEW
    key: str = ""
    digest: str = ""
    note: BaseMessage | None = None
    replacements: dict[int, BaseMessage] = field(default_factory=dict)
    head: dict[str, float] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """True if the request carries the history as it is."""
        return not self.key

    def carried(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages of a request through this view."""
        return carried(self.view, messages, self.note, self.replacements)


WHOLE_HISTORY = LiveView()
"""The history as it is: nothing summarised, nothing shortened."""


def view_key(digest: str, identity: str) -> str:
    """Return where a view is remembered: content of its prefix, way of writing.

    Args:
        digest: Digest of the contents of the messages the view speaks about.
        identity: Prompt, model names, language and redaction of the writer.
    """
    return f"{digest}-{_way(identity)}"


@lru_cache
def _way(identity: str) -> str:
    return hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()


class ViewMemory:
    """The newest views of this process, and one lock per conversation.

    Safe to share between threads and event loops. A conversation is named by
    the digest of its first message; views of forks live side by side.

    Args:
        max_views: Number of views that are remembered; the longest unused goes.
    """

    def __init__(self, max_views: int = 256) -> None:
        if max_views < 1:
            raise ValueError(f"max_views is {max_views}; give at least 1")
        self.max_views = max_views
        self._views: OrderedDict[str, tuple[str, LiveView]] = OrderedDict()
        self._guard = threading.Lock()
        self._locks: weakref.WeakValueDictionary[str, WriterLock] = (
            weakref.WeakValueDictionary()
        )

    def __len__(self) -> int:
        return len(self._views)

    def get(self, key: str) -> LiveView | None:
        """Return the view remembered under a key, or None."""
        with self._guard:
            if key not in self._views:
                return None
            self._views.move_to_end(key)
            return self._views[key][1]

    def put(self, conversation: str, live: LiveView) -> None:
        """Remember a view of a conversation."""
        with self._guard:
            self._views[live.key] = (conversation, live)
            self._views.move_to_end(live.key)
            while len(self._views) > self.max_views:
                self._views.popitem(last=False)

    def of(self, conversation: str) -> list[LiveView]:
        """Return the views of a conversation, newest first."""
        with self._guard:
            entries = reversed(self._views.values())
            return [live for name, live in entries if name == conversation]

    def forget(self) -> None:
        """Forget all views."""
        with self._guard:
            self._views.clear()

    def lock(self, conversation: str) -> "WriterLock":
        """Return the lock that lets one writer at a time summarise a conversation."""
        with self._guard:
            lock = self._locks.get(conversation)
            if lock is None:
                lock = self._locks[conversation] = WriterLock()
            return lock


class WriterLock:
    """A lock that threads wait for and event loops poll; anyone may release it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def acquire(self, *, wait: bool = True) -> bool:
        """Take the lock; without `wait`, return False when it is taken."""
        return self._lock.acquire(blocking=wait)

    def release(self) -> None:
        """Let the next writer in."""
        self._lock.release()
