"""What an importer finds, and how a fault in it is said.

An importer looks at the content of a file, not at its name, and says whether it is
its own. A new format is one more entry: a name, a test, a reader.

>>> tools_from_calls([AIMessage("", tool_calls=[
...     {"name": "find", "args": {"text": "a"}, "id": "1"}
... ])])[0]["parameters"]["required"]
['text']

Left out: the formats, one module each. Lesson: 12_tune_on_a_transcript.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from pydantic import ValidationError

from ctxlab.lab.importers.source import MAX_MESSAGES, Source, check_values, walk

_HELD = (-(2**63), 2**64 - 1)  # integers that msgpack, so a checkpoint, can hold


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


def expected(place: str, what: str, got: Any) -> ValueError:
    """Return the error that says where, what was expected, and what stood there."""
    return ValueError(f"{place}: expected {what}, got {shortened(got)}")


def check_count(source: Source, records: Sequence[Any]) -> None:
    """Refuse an empty conversation, and one of more messages than the limit.

    Raises:
        ValueError: With the file's name and the number.
    """
    if not records:
        raise ValueError(f"{source.name}: the conversation holds no messages")
    if len(records) > MAX_MESSAGES:
        raise ValueError(
            f"{source.name}: {len(records):,} messages, expected at most "
            f"{MAX_MESSAGES:,}; give a part of them"
        )


def text_of(content: Any, place: str) -> str:
    """Return the text of a string or of a list of text blocks.

    Raises:
        ValueError: It is neither.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(b, dict | str) for b in content):
        texts = [b if isinstance(b, str) else str(b.get("text") or "") for b in content]
        return "\n\n".join(filter(None, texts))
    raise expected(f"{place}.content", "text or a list of blocks", content)


def split_system(messages: list[BaseMessage]) -> tuple[str, list[BaseMessage]]:
    """Return the leading system messages as one prompt, and the rest."""
    count = 0
    while count < len(messages) and isinstance(messages[count], SystemMessage):
        count += 1
    prompt = "\n\n".join(text_of(m.content, "system") for m in messages[:count])
    return prompt, messages[count:]


def usage_from(usage: Any) -> dict[str, Any] | None:
    """Return recorded usage, in OpenAI's or Anthropic's words, as usage metadata.

    Anthropic's `input_tokens` leave out what the prompt cache read or wrote; the sum
    of all three is what the request carried.

    >>> usage_from({"input_tokens": 5, "cache_read_input_tokens": 90})["input_tokens"]
    95
    """
    if not isinstance(usage, Mapping):
        return None
    read, written = (
        _number(usage, f"cache_{kind}_input_tokens") for kind in ("read", "creation")
    )
    sent = _number(usage, "prompt_tokens") or (
        _number(usage, "input_tokens") + read + written
    )
    answered = _number(usage, "completion_tokens") or _number(usage, "output_tokens")
    details = usage.get("prompt_tokens_details") or {}
    if isinstance(details, Mapping):
        read = read or _number(details, "cached_tokens")
    if not sent:
        return None
    return {
        "input_tokens": sent,
        "output_tokens": answered,
        "total_tokens": sent + answered,
        "input_token_details": {"cache_read": read},
    }


def _number(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    usable = isinstance(value, int) and not isinstance(value, bool)
    return max(0, int(value)) if usable and value is not None else 0


def tool_of(tool: Mapping[str, Any], schema: str, place: str) -> dict[str, Any]:
    """Return a named tool as name, description and parameters.

    Raises:
        ValueError: Its schema, under this key, is no object.
    """
    parameters = tool.get(schema) or {"type": "object", "properties": {}}
    if not isinstance(parameters, dict):
        raise expected(f"{place}.{schema}", "a JSON schema", parameters)
    return {
        "name": tool["name"],
        "description": str(tool.get("description") or ""),
        "parameters": parameters,
    }


def arguments(text: Any) -> dict[str, Any] | None:
    """Return the arguments of a call, given as an object or as its JSON; else None."""
    if isinstance(text, str):
        try:
            text = json.loads(text or "{}")
            check_values(text, "arguments")
        except (ValueError, RecursionError):
            return None
    return text if isinstance(text, dict) else None


def _check_calls(message: BaseMessage, place: str) -> None:
    for call in getattr(message, "tool_calls", ()):
        for _, found in walk(call["args"]):
            if isinstance(found, int) and not _HELD[0] <= found <= _HELD[1]:
                raise ValueError(
                    f"{place}, call of {call['name']}: {shortened(found)} has more "
                    "than 64 bits, which no checkpoint can hold; write it as text"
                )


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


def conversation_of(
    messages: list[BaseMessage],
    tools: list[dict[str, Any]],
    system: str,
    unknown_system: str,
    title: str = "",
) -> Conversation:
    """Return a conversation with notes on what the file did not hold.

    Raises:
        ValueError: A call that no checkpoint could hold.
    """
    for number, message in enumerate(messages, 1):
        _check_calls(message, f"message {number}")
    notes = [] if system else [unknown_system]
    if not tools and (tools := tools_from_calls(messages)):
        notes.append(f"schemas of {len(tools)} tools taken from their calls")
    broken = sum(
        len(m.invalid_tool_calls) for m in messages if isinstance(m, AIMessage)
    )
    if broken:
        notes.append(f"calls whose arguments are no JSON object: {broken}")
    return Conversation(messages, tools, system, title, notes)
