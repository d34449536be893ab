"""Chats in OpenAI's words: a request, a list of messages, or a log of either.

    [{"role": "user", "content": "Hi"}, …]                    messages
    {"model": "…", "messages": […], "tools": […]}             a request
    {"request": {"messages": […]}, "response": {"choices": […], "usage": {…}}}

As JSON, or as JSONL: one message a line, or one request a line, each going on where
the one before ended. Recorded usage is kept with the answer it was for.

>>> source = Source("chat.json", b'[{"role": "user", "content": "Hi"}]')
>>> read_openai(source).messages[0].text
'Hi'

Left out: the Responses API's item list. Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import ValidationError

from ctxlab.lab.importers.conversation import (
    Conversation,
    arguments,
    check_count,
    conversation_of,
    expected,
    one_line,
    split_system,
    text_of,
    tool_of,
    usage_from,
)
from ctxlab.lab.importers.logs import has_roles, newest_log
from ctxlab.lab.importers.source import Source

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
NO_SYSTEM = "system prompt unknown: the chat begins without one"


def is_openai(source: Source) -> bool:
    """Tell whether the file holds messages with roles."""
    return not source.is_database and has_roles(source.json)


def read_openai(source: Source) -> Conversation:
    """Read a chat of the Chat Completions API.

    Raises:
        ValueError: A message has an unknown role or shape; its place is named.
    """
    log = newest_log(source)
    check_count(source, log.records)
    messages = [
        message_from(record, log.place(at)) for at, record in enumerate(log.records)
    ]
    tools = [tool_from(tool, at, source) for at, tool in enumerate(log.tools)]
    system, rest = split_system(messages)
    found = conversation_of(rest or messages, tools, system if rest else "", NO_SYSTEM)
    found.notes.extend(log.notes)
    return found


def message_from(record: Mapping[str, Any], place: str) -> BaseMessage:
    """Return one message.

    Raises:
        ValueError: Unknown role, or a field that is missing or of the wrong kind.
    """
    role, content = record.get("role"), record.get("content")
    if role not in ROLES:
        raise expected(f"{place}.role", f"one of {', '.join(ROLES)}", role)
    if not isinstance(content, str | list | None):
        raise expected(f"{place}.content", "text or a list of blocks", content)
    name = record.get("name")
    try:
        match role:
            case "user":
                return HumanMessage(content or "", name=name)
            case "assistant":
                return _answer(record, content, place)
            case "tool" | "function":
                return _result(record, content, place)
        return SystemMessage(text_of(content, place), name=name)
    except ValidationError as error:
        raise ValueError(f"{place}.{one_line(error)}") from None


def tool_from(tool: Any, at: int, source: Source) -> dict[str, Any]:
    """Return a tool schema as name, description and parameters.

    Raises:
        ValueError: It has no name.
    """
    schema = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(schema.get("name"), str):
        raise expected(f"{source.name}, tools[{at}]", "a function with a name", tool)
    return tool_of(schema, "parameters", f"{source.name}, tools[{at}]")


def _answer(record: Mapping[str, Any], content: Any, place: str) -> AIMessage:
    calls, invalid = [], []
    for at, call in enumerate(_calls_of(record, place)):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(
            function.get("name"), str
        ):
            what = "a call with a function and its name"
            raise expected(f"{place}.tool_calls[{at}]", what, call)
        name, given = function["name"], function.get("arguments")
        if (args := arguments(given)) is None:
            fault = "arguments are no JSON object"
            said = {"name": name, "args": str(given), "id": call.get("id")}
            invalid.append({**said, "error": fault, "type": "invalid_tool_call"})
        else:
            calls.append(
                {"name": name, "args": args, "id": str(call.get("id") or name)}
            )
    reasoning = record.get("reasoning_content")
    return AIMessage(
        content or "",
        tool_calls=calls,
        invalid_tool_calls=invalid,
        additional_kwargs={"reasoning_content": reasoning} if reasoning else {},
        usage_metadata=usage_from(record.get("usage")),
    )


def _calls_of(record: Mapping[str, Any], place: str) -> list[Any]:
    """Return the calls of an answer; the old single one goes by its name."""
    calls, old = record.get("tool_calls") or [], record.get("function_call")
    if not isinstance(calls, list):
        raise expected(f"{place}.tool_calls", "a list of calls", calls)
    if calls or not old:
        return calls
    if not isinstance(old, Mapping):
        raise expected(f"{place}.function_call", "a function and its name", old)
    return [{"id": old.get("name"), "function": old}]


def _result(record: Mapping[str, Any], content: Any, place: str) -> ToolMessage:
    # As in old logs: a call without an id goes by its name.
    call = record.get("tool_call_id") or record.get("name")
    if not isinstance(call, str):
        raise expected(f"{place}.tool_call_id", "the id of a call", call)
    return ToolMessage(content or "", tool_call_id=call, name=record.get("name"))
