"""What is remembered of one message: its tokens and its digest, found by content.

Where a conversation was edited, most of its messages are old contents in a new place:
the size of each is remembered by content.

>>> from langchain_core.messages import AIMessage
>>> same = [AIMessage("Done.", id="a"), AIMessage("Done.", id="b")]
>>> len({message_digest(message) for message in same})
1
>>> message_digest(same[0]) == message_digest(AIMessage("Done!"))
False

Left out here: what makes a content (`faces`), whole conversations (`lines`). Lesson:
09_summarize_the_request_only.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic_core import to_jsonable_python

from ctxlab.history.faces import Face, content_key

PARTS = ("system", "user", "assistant", "calls", "results")
"""The kinds of content that `History.parts` tells apart."""

_MOST_UNNAMED = 1_000  # contents whose keys are put off
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
        self._unnamed: list[tuple[Face, Size]] = []

    # Two threads may count one content twice or lose an entry; none goes wrong.

    def count(self, messages: Iterable[BaseMessage], faces: list[Face]) -> list[Size]:
        """Return the sizes of messages that are new.

        A key is made for each when somebody first looks for one: within a run nobody
        does, for nothing comes twice.
        """
        sizes = [self._count(message) for message in messages]
        self._unnamed += zip(faces, sizes, strict=True)
        if len(self._unnamed) > _MOST_UNNAMED:
            self._name()
        return sizes

    def sizes(self, messages: Iterable[BaseMessage], faces: list[Face]) -> list[Size]:
        """Return the size of each message, counting only contents not seen lately."""
        self._name()
        return [
            self._find_or_count(content_key(face), message)
            for message, face in zip(messages, faces, strict=True)
        ]

    def _find_or_count(self, key: Any, message: BaseMessage) -> Size:
        size = self._young.get(key)
        if size is None:
            size = self._old.get(key) or self._count(message)
            self._put(key, size)
        return size

    def _name(self) -> None:
        unnamed, self._unnamed = self._unnamed, []
        for face, size in unnamed:
            self._put(content_key(face), size)

    def _put(self, key: tuple[Any, ...] | None, size: Size) -> None:
        if key is None:
            return
        self._young[key] = size
        self._characters += 100 + sum(map(len, filter(None, key)))
        if self._characters > self._half:
            self._old, self._young, self._characters = self._young, {}, 0

    def _count(self, message: BaseMessage) -> Size:
        tokens = max(0, round(SCALE * self._counter.message(message)))
        if isinstance(message, AIMessage):
            return Size(tokens, None, _ASSISTANT, ANSWER)
        if isinstance(message, HumanMessage):
            source = message.additional_kwargs.get("lc_source")
            is_summary = source == "summarization"
            return Size(tokens, 0, _USER, OTHER if is_summary else QUESTION)
        kind = _KINDS.get(message.type)
        if kind is None:
            kind = _KINDS.get(getattr(message, "role", ""), _USER)
        return Size(tokens, 0, kind)

    def calls(self, message: BaseMessage, size: Size) -> int:
        """Return what the calls of a message of this size take, counting them once."""
        if size.calls is None:
            share = round(SCALE * self._counter.calls(message))
            size.calls = min(size.tokens, max(0, share))
        return size.calls
