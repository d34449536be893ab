"""Requests and responses that a client logged: the newest holds the whole chat.

A provider keeps nothing between calls, so every request repeats the conversation so
far. Of a log with many lines the longest request is taken, with the answer logged
beside it; usage of earlier lines goes to the answers they were for.

>>> line = b'{"messages": [{"role": "user", "content": "Hi"}], "model": "m"}'
>>> newest_log(Source("log.json", line)).records
[{'role': 'user', 'content': 'Hi'}]

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxlab.lab.importers.conversation import expected
from ctxlab.lab.importers.source import Source


@dataclass
class Log:
    """The records of one conversation, and where they stand.

    Attributes:
        records: Messages, oldest first; an answer carries its `usage`.
        head: What errors put before the index of a record.
        lines: True when each record is a line of its own.
        request: The rest of the request: `system`, `tools`, `model`.
        notes: What had to be chosen.
    """

    source: Source
    records: list[dict[str, Any]]
    head: str
    lines: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def tools(self) -> Sequence[Any]:
        """The tool schemas of the request.

        Raises:
            ValueError: They are no list.
        """
        tools = self.request.get("tools") or []
        if not isinstance(tools, list):
            raise expected(f"{self.source.name}, tools", "a list of tools", tools)
        return tools

    def place(self, index: int) -> str:
        """Return how an error names a record."""
        if self.lines:
            return self.source.place(index)
        return f"{self.head}[{index}]"


def has_roles(data: Any) -> bool:
    """Tell whether a value is a chat, a request, a response beside one, or lines."""
    if isinstance(data, list):
        return bool(data) and all(
            isinstance(item, dict) and ("role" in item or has_roles(item))
            for item in data
        )
    if not isinstance(data, dict) or "format" in data:
        return False
    messages = _request(data).get("messages")
    return isinstance(messages, list) and all(
        isinstance(message, dict) and "role" in message for message in messages
    )


def newest_log(source: Source) -> Log:
    """Return the conversation in a chat, a request, or a log of requests.

    Raises:
        ValueError: Lines of a log hold messages and requests in turn.
    """
    data = source.json
    if isinstance(data, dict):
        return Log(
            source, _whole(data), _head(source.name, data), request=_request(data)
        )
    if all("role" in record for record in data):
        return Log(source, data, f"{source.name}, messages", lines=source.is_lines)
    for at, record in enumerate(data):
        if "role" in record:
            place = source.place(at, "")
            raise expected(place, "a request like those before it", record)
    return _longest(source, data)


def _longest(source: Source, data: list[dict[str, Any]]) -> Log:
    wholes = [_whole(entry) for entry in data]
    at = max(range(len(data)), key=lambda index: (len(wholes[index]), index))
    records = [dict(record) for record in wholes[at]]
    for whole in wholes:
        last = len(whole) - 1
        billed = whole[last].get("usage") if whole else None
        if billed and [_said(r) for r in whole] == [
            _said(r) for r in records[: len(whole)]
        ]:
            records[last]["usage"] = billed
    place = source.place(at, "")
    notes = [f"the longest of {len(data)} requests is taken: {place.split(', ', 1)[1]}"]
    others = sum(_said(whole[0]) != _said(records[0]) for whole in wholes if whole)
    if others:
        notes.append(f"requests that begin otherwise are left out: {others}")
    head = _head(place, data[at])
    return Log(source, records, head, request=_request(data[at]), notes=notes)


def _said(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return record.get("role"), record.get("content"), record.get("tool_calls")


def _head(place: str, data: Mapping[str, Any]) -> str:
    inner = "messages" if "messages" in data else "request.messages"
    return f"{place}, {inner}" if "," not in place else f"{place}.{inner}"


def _request(data: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = data.get("request") or data.get("body")
    return inner if isinstance(inner, Mapping) and "messages" not in data else data


def _whole(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a request and, if it is logged, the answer to it."""
    records = list(_request(data).get("messages") or [])
    response = data.get("response")
    if not isinstance(response, Mapping):
        return records
    choices = response.get("choices")
    answer: Any = response  # Anthropic's response is the message itself
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        answer = choices[0].get("message")
    if isinstance(answer, Mapping) and answer.get("role") == "assistant":
        records.append({**answer, "usage": response.get("usage")})
    return records
