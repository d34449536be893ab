"""LangChain's own messages: four spellings of the same record.

    model_dump          {"type": "human", "content": "Hi"}
    messages_to_dict    {"type": "human", "data": {"content": "Hi"}}
    dumpd               {"lc": 1, "type": "constructor", "id": […, "HumanMessage"],
                         "kwargs": {"content": "Hi"}}
    thread state        {"values": {"messages": […]}}, of the first spelling

`dumpd` names a class to build. Nothing is built here but the message classes listed
in `CLASSES`; any other object, anywhere in a message, is an error.

>>> record = {"lc": 1, "type": "constructor", "id": ["subprocess", "Popen"]}
>>> as_record(record, "m.json, messages[0]")
Traceback (most recent call last):
...
ValueError: m.json, messages[0].id: expected a message class of langchain, got \
['subprocess', 'Popen']

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage
from pydantic import TypeAdapter, ValidationError

from ctxlab.lab.importers.conversation import (
    Conversation,
    check_count,
    conversation_of,
    expected,
    one_line,
    shortened,
    split_system,
)
from ctxlab.lab.importers.source import Source

MESSAGE: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)
TYPES = ("human", "ai", "system", "tool", "function", "chat")
CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
HOMES = (["langchain"], ["langchain_core"])
NO_SYSTEM = "system prompt unknown: a thread does not hold it"
# Never sent to a model, or said once more elsewhere in the message.
DROPPED = ("artifact", "example", "tool_call_chunks", "chunk_position")


def listed(data: Any) -> Any:
    """Return the list of messages in a file's value, or None."""
    if isinstance(data, dict) and "format" not in data:  # a format of its own
        values = data.get("values", data)
        return values.get("messages") if isinstance(values, dict) else None
    states = isinstance(data, list) and data and isinstance(data[0], dict)
    if states and isinstance(data[0].get("values"), dict):  # a history, newest first
        return data[0]["values"].get("messages")
    return data if isinstance(data, list) else None


def is_langchain(source: Source) -> bool:
    """Tell whether every record has a LangChain type, in any spelling."""
    records = None if source.is_database else listed(source.json)
    return isinstance(records, list) and all(
        isinstance(record, dict) and "type" in record and "role" not in record
        for record in records
    )


def read_langchain(source: Source) -> Conversation:
    """Read messages of LangChain, or the newest state of a LangGraph thread.

    Raises:
        ValueError: A message is of no known type or shape; its place is named.
    """
    records = listed(source.json)
    check_count(source, records)
    messages = [
        message_from(as_record(record, source.place(at)), source.place(at))
        for at, record in enumerate(records)
    ]
    data = source.json
    values = data.get("values", data) if isinstance(data, dict) else {}
    return conversation(messages, str(values.get("title") or ""))


def conversation(messages: list[BaseMessage], title: str = "") -> Conversation:
    """Return a conversation; a system prompt stands in front of it, or nowhere."""
    system, rest = split_system(messages)
    if not rest:  # nothing but system messages: there is no prompt of anything
        system, rest = "", messages
    return conversation_of(rest, [], system, NO_SYSTEM, title)


def as_record(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a record of any spelling as fields of a message, type included.

    Raises:
        ValueError: It names a class that is no message.
    """
    if "lc" in record:
        name: Any = record.get("id")
        known = isinstance(name, list) and name[:1] in HOMES
        known = known and isinstance(name[-1], str) and name[-1] in CLASSES
        if not known or record["type"] != "constructor":
            raise expected(f"{place}.id", "a message class of langchain", name)
        return {**_mapping(record, "kwargs", place), "type": CLASSES[name[-1]]}
    if "data" in record and "content" not in record:
        return {**_mapping(record, "data", place), "type": record["type"]}
    return dict(record)


def message_from(record: Mapping[str, Any], place: str) -> BaseMessage:
    """Return the message that plain fields describe.

    Raises:
        ValueError: The fields are not those of a message; the place is named.
    """
    kind: str = record["type"]
    kind = "ai" if kind == "AIMessageChunk" else kind
    if kind not in TYPES:
        known = ", ".join(TYPES)
        raise ValueError(f"{place}.type is {kind!r}, expected one of: {known}")
    # A thread says null where a field has no value; the message classes want it away.
    given = {
        key: value
        for key, value in record.items()
        if value is not None and key not in DROPPED
    }
    if not all(isinstance(key, str) for key in given):  # msgpack takes any key
        raise expected(place, "the fields of a message", dict(given))
    given["type"] = kind
    given.setdefault("content", "")
    refuse_objects(given.values(), place)
    try:
        return MESSAGE.validate_python(given)
    except ValidationError as error:
        said = one_line(error).replace(f"{kind}.", "", 1)
        raise ValueError(f"{place}.{said}") from None
    except KeyError as error:  # ToolMessage reads its fields before it checks them
        raise ValueError(f"{place}.{error.args[0]} is missing") from None


def refuse_objects(values: Iterable[Any], place: str) -> None:
    """Refuse a serialised object among the values, however deep.

    Raises:
        ValueError: A value says how to build an object of some class.
    """
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if "lc" in value and "type" in value:
                said = shortened(value.get("id"))
                raise ValueError(
                    f"{place}: expected plain data, got a serialised object {said}; "
                    "a transcript is never executed"
                )
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def _mapping(record: Mapping[str, Any], key: str, place: str) -> dict[str, Any]:
    value = record.get(key)
    if not isinstance(value, dict):
        raise expected(f"{place}.{key}", "the fields of a message", value)
    return value
