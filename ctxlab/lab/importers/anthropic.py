"""Chats in the words of Anthropic's Messages API.

Results are blocks of a user message there and messages of their own here; a call is
a block of an answer there. What else an answer holds (text, thinking) stays a block.

>>> chat = b'''{"system": "Be brief.", "messages": [
...     {"role": "assistant", "content": [
...         {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "x"}}]},
...     {"role": "user", "content": [
...         {"type": "tool_result", "tool_use_id": "t1", "content": "found"}]}]}'''
>>> found = read_anthropic(Source("chat.json", chat))
>>> [message.type for message in found.messages], found.system
(['ai', 'tool'], 'Be brief.')

Left out: the provider's own tools (their blocks stay as they are). Lesson:
12_tune_on_a_transcript.
"""

from collections.abc import Iterator, Mapping
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

ROLES = ("user", "assistant")
CALLS = ("tool_use", "tool_result")
BLOCKS = (*CALLS, "thinking", "redacted_thinking", "server_tool_use")
NO_SYSTEM = "system prompt unknown: the request holds none"


def is_anthropic(source: Source) -> bool:
    """Tell whether the file holds what only this API has: its blocks, its schemas."""
    if source.is_database or not has_roles(source.json):
        return False
    log = newest_log(source)
    roles = [record.get("role") for record in log.records]
    if any(role not in (*ROLES, "system") for role in roles):
        return False
    if "system" in roles:  # as some proxies write it; nobody else has these blocks
        return any(_has_blocks(record, CALLS) for record in log.records)
    tools = log.request.get("tools") or []
    has_schemas = isinstance(tools, list) and any(
        isinstance(tool, Mapping) and "input_schema" in tool for tool in tools
    )
    return "system" in log.request or has_schemas or any(map(_has_blocks, log.records))


def read_anthropic(source: Source) -> Conversation:
    """Read a chat of the Messages API.

    Raises:
        ValueError: A message or block has an unknown shape; its place is named.
    """
    log = newest_log(source)
    check_count(source, log.records)
    messages = [
        message
        for at, record in enumerate(log.records)
        for message in messages_from(record, log.place(at))
    ]
    tools = [tool_from(tool, at, source) for at, tool in enumerate(log.tools)]
    leading, messages = split_system(messages)
    system = text_of(log.request.get("system"), f"{source.name}, system") or leading
    found = conversation_of(messages, tools, system, NO_SYSTEM)
    found.notes.extend(log.notes)
    return found


def messages_from(record: Mapping[str, Any], place: str) -> Iterator[BaseMessage]:
    """Yield the results that a record holds, and then the message it is.

    Raises:
        ValueError: A block has no type, or a field is missing.
    """
    content = record.get("content")
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else content
    )
    if not isinstance(blocks, list):
        raise expected(f"{place}.content", "text or a list of blocks", content)
    for at, block in enumerate(blocks):
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise expected(f"{place}.content[{at}]", "a block with a type", block)
    try:
        if record["role"] == "assistant":
            yield _answer(record, blocks, place)
            return
        if record["role"] == "system":
            yield SystemMessage(text_of(content, place))
            return
        for at, block in enumerate(blocks):
            if block["type"] == "tool_result":
                yield _result(block, f"{place}.content[{at}]")
        rest = [block for block in blocks if block["type"] != "tool_result"]
        if rest or not blocks:
            yield HumanMessage(plain(rest))
    except ValidationError as error:
        raise ValueError(f"{place}.{one_line(error)}") from None


def tool_from(tool: Any, at: int, source: Source) -> dict[str, Any]:
    """Return a tool schema as name, description and parameters.

    Raises:
        ValueError: It has no name.
    """
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
        raise expected(f"{source.name}, tools[{at}]", "a tool with a name", tool)
    return tool_of(tool, "input_schema", f"{source.name}, tools[{at}]")


def plain(blocks: list[Any]) -> Any:
    """Return blocks, or their text when a single text block is all there is.

    >>> plain([{"type": "text", "text": "Hi"}])
    'Hi'
    """
    only = blocks[0] if len(blocks) == 1 else {}
    if set(only) == {"type", "text"} and isinstance(only["text"], str):
        return only["text"]
    return [dict(block) for block in blocks] or ""


def _answer(record: Mapping[str, Any], blocks: list[Any], place: str) -> AIMessage:
    calls = []
    for at, block in enumerate(blocks):
        if block["type"] != "tool_use":
            continue
        name, given, args = block.get("name"), block.get("id"), block.get("input", {})
        if not (
            isinstance(name, str) and isinstance(given, str) and isinstance(args, dict)
        ):
            what = "a call with name, id and input"
            raise expected(f"{place}.content[{at}]", what, block)
        calls.append({"name": name, "args": args, "id": given})
    return AIMessage(
        plain([block for block in blocks if block["type"] != "tool_use"]),
        tool_calls=calls,
        usage_metadata=usage_from(record.get("usage")),
    )


def _result(block: Mapping[str, Any], place: str) -> ToolMessage:
    call = block.get("tool_use_id")
    if not isinstance(call, str):
        raise expected(f"{place}.tool_use_id", "the id of a call", call)
    return ToolMessage(
        block.get("content") or "",
        tool_call_id=call,
        status="error" if block.get("is_error") else "success",
    )


def _has_blocks(record: Mapping[str, Any], kinds: tuple[str, ...] = BLOCKS) -> bool:
    content = record.get("content")
    return isinstance(content, list) and any(
        isinstance(block, Mapping) and block.get("type") in kinds for block in content
    )
