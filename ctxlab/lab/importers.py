"""Conversations that other programs saved, read into messages.

An importer looks at the content of a file, not at its name, and says whether it is
its own. `IMPORTERS` lists them in the order they are asked; a new format is one
more entry: a name, a test, a reader.

>>> thread = '{"values": {"messages": [{"type": "human", "content": "Hi"}]}}'
>>> conversation = import_conversation(Source("thread.json", thread.encode()))
>>> [message.text for message in conversation.messages]
['Hi']

Nothing is repaired: an unanswered call or a result without its call comes in as it
is. What had to be guessed stands in `notes`. Lesson: 12_tune_on_a_transcript.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True)
class Source:
    """The bytes of a file with the name that its errors are reported under."""

    name: str
    data: bytes

    @cached_property
    def text(self) -> str:
        """The file as UTF-8 text.

        Raises:
            ValueError: It is not UTF-8; the message names the byte.
        """
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.name}: byte {error.start} is not UTF-8 text; "
                "save the file as UTF-8"
            ) from error

    @cached_property
    def json(self) -> Any:
        """The file as one JSON value.

        Raises:
            ValueError: It is not JSON; the message names line and column.
        """
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{self.name}, line {error.lineno}, column {error.colno}: "
                f"expected JSON ({error.msg})"
            ) from error


@dataclass
class Conversation:
    """What an importer found: `Transcript` arguments, and notes on what it guessed."""

    messages: list[BaseMessage]
    tools: list[dict[str, Any]] = field(default_factory=list)
    system: str = ""
    title: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Importer:
    """A file format: `matches` looks at the content, `read` may trust that it did."""

    name: str
    matches: Callable[[Source], bool]
    read: Callable[[Source], Conversation]


def one_line(error: ValidationError) -> str:
    """Return the first fault of a validation as `place: what was expected, got what`.

    The place counts from 0, as in `messages[3].tool_call_id`.
    """
    fault = error.errors(include_url=False)[0]
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]
    )
    got = "" if fault["type"] == "missing" else f", got {shortened(fault['input'])}"
    return f"{place.lstrip('.')}: {fault['msg']}{got}"


def shortened(value: Any, most: int = 60) -> str:
    """Return `repr(value)`, cut to `most` characters."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"type": "object"}
    if isinstance(value, list):
        return {"type": "array", "items": {}}
    return {"type": _JSON_TYPES[type(value)]} if type(value) in _JSON_TYPES else {}


def tools_from_calls(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    """Return a schema for each tool called, as far as its calls show it.

    Names and argument names are what the calls say; an argument is required when
    every call gave it. Descriptions are unknown and stay empty.
    """
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            seen.setdefault(call["name"], []).append(call["args"])
    return [_tool(name, calls) for name, calls in seen.items()]


def _tool(name: str, calls: list[Mapping[str, Any]]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for args in calls:
        for key, value in args.items():
            properties.setdefault(key, _schema_of(value))
    required = [key for key in properties if all(key in args for args in calls)]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": "", "parameters": schema}


_MESSAGE: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)
_MESSAGE_TYPES = ("human", "ai", "system", "tool", "function")


def _thread_messages(source: Source) -> Any:
    data = source.json
    if not isinstance(data, dict) or "format" in data:  # a format of its own
        return None
    values = data.get("values", data)
    return values.get("messages") if isinstance(values, dict) else None


def _is_thread_state(source: Source) -> bool:
    messages = _thread_messages(source)
    return isinstance(messages, list) and all(
        isinstance(message, dict) and "type" in message for message in messages
    )


def _thread_message(record: Mapping[str, Any], place: str) -> BaseMessage:
    if record["type"] not in _MESSAGE_TYPES:
        known = ", ".join(_MESSAGE_TYPES)
        raise ValueError(
            f"{place}.type is {record['type']!r}, expected one of: {known}"
        )
    # A thread says null where a field has no value; the message classes want it away.
    given = {key: value for key, value in record.items() if value is not None}
    given.setdefault("content", "")
    try:
        return _MESSAGE.validate_python(given)
    except ValidationError as error:
        said = one_line(error).replace(f"{record['type']}.", "", 1)
        raise ValueError(f"{place}.{said}") from error
    except KeyError as error:  # ToolMessage reads its fields before it checks them
        raise ValueError(f"{place}.{error.args[0]} is missing") from error


def read_thread_state(source: Source) -> Conversation:
    """Read LangGraph thread-state JSON: `{"values": {"messages": [...]}}`.

    The system prompt is not part of a thread, and tool schemas are not either:
    the first stays empty, the second are taken from the calls.

    Raises:
        ValueError: A message is of no known type or shape; its place is named.
    """
    records = _thread_messages(source)
    if not records:
        raise ValueError(f"{source.name}: the thread holds no messages")
    messages = [
        _thread_message(record, f"{source.name}, messages[{index}]")
        for index, record in enumerate(records)
    ]
    data = source.json
    title = str(data.get("values", data).get("title") or "")
    notes = ["system prompt unknown: a thread does not hold it"]
    tools = tools_from_calls(messages)
    if tools:
        notes.append(f"schemas of {len(tools)} tools taken from their calls")
    return Conversation(messages, tools, title=title, notes=notes)


IMPORTERS: list[Importer] = [
    Importer("LangGraph thread state", _is_thread_state, read_thread_state),
]


def import_conversation(source: Source) -> Conversation:
    """Return the conversation in a file of any known format.

    Raises:
        ValueError: No importer knows the content, or a message in it is broken.
    """
    for importer in IMPORTERS:
        if importer.matches(source):
            return importer.read(source)
    known = ", ".join(["ctxlab transcript", *(each.name for each in IMPORTERS)])
    raise ValueError(
        f"{source.name}: no conversation found; expected one of: {known}. "
        f"Got {_looks_like(source.json)}"
    )


def _looks_like(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(key) for key in list(value)[:6])
        return f"an object with the keys {keys or '(none)'}"
    return f"a JSON {type(value).__name__}"
