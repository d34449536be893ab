"""What is remembered of one message: its tokens and its digest, found by content.

After a checkpoint reload every message is a new object with an old content. Comparing
contents is cheaper than counting them, so the size of each is remembered by content.

>>> from langchain_core.messages import AIMessage
>>> same = [AIMessage("Done.", id="a"), AIMessage("Done.", id="b")]
>>> len({message_digest(message) for message in same})
1
>>> message_digest(same[0]) == message_digest(AIMessage("Done!"))
False

Left out here: whole conversations (`lines`). Lesson: 09_summarize_the_request_only.
"""

import json
import marshal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic_core import to_jsonable_python

PARTS = ("system", "user", "assistant", "calls", "results")
"""The kinds of content that `History.parts` tells apart."""

SCALE = 1_000
"""Sums are kept in thousandths of a token: integers add up exactly in any order."""

_SYSTEM, _USER, _ASSISTANT, CALLS, _RESULTS = range(len(PARTS))
_KINDS = {
    "system": _SYSTEM,
    "developer": _SYSTEM,
    "ai": _ASSISTANT,
    "AIMessageChunk": _ASSISTANT,
    "assistant": _ASSISTANT,
    "tool": _RESULTS,
    "function": _RESULTS,
}
ANSWER, QUESTION, OTHER = "answer", "question", "other"
_to_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


class MessageCounter(Protocol):
    """The part of a token counter that a meter needs."""

    def message(self, message: BaseMessage) -> float:
        """Return the tokens of one message."""

    def calls(self, message: BaseMessage) -> float:
        """Return the share of those tokens that its tool calls cost."""


@dataclass(slots=True, eq=False)
class Size:
    """What is remembered of one message's content; equal contents share one object.

    Attributes:
        tokens: Thousandths of a token, calls included.
        calls: Thousandths of a token; None until the parts are asked for.
        kind: Index into `PARTS`.
        role: An AI message is an `ANSWER`, a user message that is no summary a
            `QUESTION`.
        digest: Name of the content; made when first asked for.
    """

    tokens: int
    calls: int | None
    kind: int
    role: str = OTHER
    digest: bytes | None = None

    def digest_of(self, message: BaseMessage) -> bytes:
        """Return the digest of the message whose size this is."""
        if self.digest is None:
            self.digest = message_digest(message)
        return self.digest


def message_digest(message: BaseMessage) -> bytes:
    """Return 16 bytes that name the content of `message`, the same in any process.

    Covered are type, content, tool calls (name, arguments, id), tool call id, name and
    status; not the message's id, usage, metadata or artifact.
    """
    fields = message.__dict__
    content = [
        message.type,
        message.content,
        _calls_of(message) if isinstance(message, AIMessage) else [],
        fields.get("tool_call_id"),
        message.name,
        fields.get("status"),
        fields.get("role"),
    ]
    try:
        text = _to_json(content)
    except (TypeError, ValueError):
        text = _to_json(_plain(content))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _calls_of(message: AIMessage) -> list[list[Any]]:
    made = (*message.tool_calls, *message.invalid_tool_calls)
    calls: list[list[Any]] = [[call["name"], call["args"], call["id"]] for call in made]
    if not calls and "function_call" in message.additional_kwargs:
        calls.append([message.additional_kwargs["function_call"]])
    return calls


def _plain(value: Any) -> Any:
    """Return `value` with nothing but JSON in it, keys as text and sets in order."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(item) for item in value), key=_to_json)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return to_jsonable_python(
        value, bytes_mode="base64", fallback=lambda other: type(other).__qualname__
    )


class Memo:
    """Sizes by content; the half not used lately is dropped when it is full.

    Args:
        counter: Prices a message.
        max_characters: Bound on the contents held as keys, in characters.
    """

    def __init__(self, counter: MessageCounter, max_characters: int) -> None:
        self._counter = counter
        self._half = max_characters // 2
        self._young: dict[Any, Size] = {}
        self._old: dict[Any, Size] = {}
        self._characters = 0  # of the young half

    def sizes(self, messages: Iterable[BaseMessage]) -> list[Size]:
        """Return the size of each message, counting only contents not seen lately."""
        # Two threads may count one content twice or lose an entry; none goes wrong.
        sizes = []
        for message in messages:
            key = content_key(message)
            size = self._young.get(key)
            sizes.append(self._find_or_count(key, message) if size is None else size)
        return sizes

    def _find_or_count(self, key: tuple[Any, ...] | None, message: BaseMessage) -> Size:
        size = self._old.get(key) or self._count(message)
        if key is None:
            return size
        self._young[key] = size
        self._characters += 100 + sum(map(len, filter(None, key[1:])))
        if self._characters > self._half:
            self._old, self._young, self._characters = self._young, {}, 0
        return size

    def _count(self, message: BaseMessage) -> Size:
        tokens = max(0, round(SCALE * self._counter.message(message)))
        has_calls = isinstance(message, AIMessage) and not _is_bare(message)
        kind = _KINDS.get(message.type)
        if kind is None:
            kind = _KINDS.get(getattr(message, "role", ""), _USER)
        return Size(tokens, None if has_calls else 0, kind, _role_of(message))

    def calls(self, message: BaseMessage, size: Size) -> int:
        """Return what the calls of a message of this size take, counting them once."""
        if size.calls is None:
            share = round(SCALE * self._counter.calls(message))
            size.calls = min(size.tokens, max(0, share))
        return size.calls


def _role_of(message: BaseMessage) -> str:
    if isinstance(message, AIMessage):
        return ANSWER
    user = isinstance(message, HumanMessage)
    return QUESTION if user and _source(message.__dict__) != "summarization" else OTHER


def _source(fields: dict[str, Any]) -> Any:
    """Return who wrote a message that no user wrote, if it says so."""
    return fields["additional_kwargs"].get("lc_source")


def _is_bare(message: AIMessage) -> bool:
    """Tell whether an AI message is text alone, so that it cannot hold a call."""
    calls = message.tool_calls or message.invalid_tool_calls
    return isinstance(message.content, str) and not (calls or message.additional_kwargs)


def content_key(message: BaseMessage) -> tuple[Any, ...] | None:
    """Return a key that two messages share only if they count and digest alike.

    Reading `__dict__` and comparing strings is what makes a reload cheap. What is no
    plain string is compared by its marshalled bytes; None stands for a content that
    has none and is counted anew each time.
    """
    fields = message.__dict__
    kind, content, name = type(message), fields["content"], fields["name"]
    try:
        if type(content) is not str:
            content = marshal.dumps(content, 2)
        if "tool_calls" in fields:
            return kind, content, name, _calls_key(fields)
    except ValueError:
        return None
    if "tool_call_id" in fields:
        return kind, content, name, fields["tool_call_id"], fields.get("status")
    return kind, content, name, fields.get("role"), _source(fields)


def _calls_key(fields: dict[str, Any]) -> bytes | None:
    calls, invalid = fields["tool_calls"], fields["invalid_tool_calls"]
    extras = fields["additional_kwargs"]
    if calls or invalid or extras:
        return marshal.dumps((calls, invalid, extras), 2)
    return None


Face = tuple[Any, ...]
"""The fields of a message that make its content, to be compared with another's."""

_COVERED = (
    "type",
    "content",
    "name",
    "tool_calls",
    "invalid_tool_calls",
    "tool_call_id",
    "status",
    "role",
    "additional_kwargs",
)


class _Faces(dict[type, Callable[[dict[str, Any]], Face]]):
    """What takes the covered fields out of a message, by its class."""

    def __missing__(self, kind: type[BaseMessage]) -> Callable[[dict[str, Any]], Face]:
        fields = [name for name in _COVERED if name in kind.model_fields]
        self[kind] = getter = itemgetter(*fields)
        return getter


_faces = _Faces()


def faces_of(messages: Iterable[BaseMessage]) -> list[Face]:
    """Return what tells the contents of messages apart; equal faces, equal contents.

    Nothing is copied or hashed: that makes a reload cheap.
    """
    return [_faces[type(message)](message.__dict__) for message in messages]
