"""What of a message is sent to a provider, each piece once.

A message object carries more than what a provider is billed for: artifacts,
signatures, encrypted reasoning, usage; and it carries some things twice (a `tool_use`
block beside `tool_calls`). This module takes out what is sent, as texts, calls and
media; the counters price it.

>>> from langchain_core.messages import AIMessage
>>> block = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "家"}}
>>> call = {"name": "ls", "args": {"path": "家"}, "id": "c1"}
>>> sent = sent_parts(AIMessage(["Look.", block], tool_calls=[call]))
>>> sent.texts, sent.calls
(['Look.'], [Call(name='ls', arguments='{"path": "家"}', id='c1')])

Choices, the same for every counter but LangChain's own rule:

- Reasoning counts as its text; signatures and encrypted or redacted reasoning do not.
- `additional_kwargs["reasoning_content"]` does not count: `ChatOpenAI` never sends it
  back to an OpenAI-compatible server.
- Images, audio, files and video count at a price (`MediaPrices`), never by the length
  of their base64.
- A block of an unknown type counts as its JSON, so nothing is free by accident; bytes,
  data URLs and long base64 in it are media.

Left out here: prices (`script`) and tool schemas (`schemas`). Lesson:
05_count_every_script.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage
from pydantic_core import to_jsonable_python


class Call(NamedTuple):
    """A tool call as it is sent: its name, its arguments as JSON text, its id."""

    name: str
    arguments: str
    id: str = ""


@dataclass(slots=True)
class Sent:
    """The pieces of one message that a provider receives."""

    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    media: list[str] = field(default_factory=list)  # "image", "audio", "file", "video"


_MEDIA = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "image_generation_call": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "input_video": "video",
    "file": "file",
    "input_file": "file",
    "text-plain": "file",
    "document": "file",
    "media": "file",
}
_CALLS = {"tool_use", "tool_call", "function_call", "server_tool_call"} | {
    "custom_tool_call",
    "tool_call_chunk",
    "invalid_tool_call",
    "server_tool_use",
    "mcp_tool_use",
}
_REASONING = {"reasoning", "thinking", "redacted_thinking", "reasoning_content"}
# Book-keeping of a block that is not shown to the model.
_UNSENT = {
    "type",
    "id",
    "index",
    "signature",
    "encrypted_content",
    "encrypted_index",
} | {
    "cache_control",
    "extras",
    "annotations",
    "citations",
    "status",
    "tool_use_id",
    "tool_call_id",
}

# Binary data in a block of an unknown type, as text.
_DATA_URL = re.compile(r"data:(\w+)/[^,]{0,200};base64,")
_BASE64, _LONG_TEXT = re.compile(r"[\w+/-]+=*\s*", re.ASCII), 4_000

_encode = json.JSONEncoder(ensure_ascii=False).encode


def to_json(value: Any) -> str:
    """Return `value` as JSON text without ASCII escapes; never raises on a type."""
    try:
        return _encode(value)
    except (TypeError, ValueError):
        return _encode(
            to_jsonable_python(value, bytes_mode="base64", serialize_unknown=True)
        )


def is_bare(message: BaseMessage) -> bool:
    """Return whether all that is sent of a message is its content, a text."""
    if not isinstance(message.content, str):
        return False
    return not isinstance(message, AIMessage) or not (
        message.tool_calls or message.invalid_tool_calls or message.additional_kwargs
    )


def sent_parts(message: BaseMessage) -> Sent:
    """Return what of `message` is sent: texts, calls and media, each once."""
    sent = Sent()
    if isinstance(message, AIMessage):
        sent.calls = [
            Call(call["name"], to_json(call["args"]), call["id"] or "")
            for call in message.tool_calls
        ]
        if message.invalid_tool_calls:
            sent.calls += [
                Call(bad["name"] or "", bad["args"] or "", bad["id"] or "")
                for bad in message.invalid_tool_calls
            ]
        if message.additional_kwargs:
            _add_extras(sent, message.additional_kwargs)
    if isinstance(message.content, str):
        sent.texts.append(message.content)
    else:
        _add_content(sent, message.content, _call_ids(message))
    return sent


def _call_ids(message: BaseMessage) -> set[Any]:
    """Return the ids of the calls that a message holds beside its content."""
    if not isinstance(message, AIMessage):
        return set()
    made = *message.tool_calls, *message.invalid_tool_calls
    return {call["id"] for call in made} - {None}


def _add_extras(sent: Sent, extras: Mapping[str, Any]) -> None:
    """Add what OpenAI keeps beside the content: a legacy call, a refusal."""
    legacy = extras.get("function_call")
    if isinstance(legacy, Mapping) and not sent.calls:
        arguments = str(legacy.get("arguments") or "")
        sent.calls.append(Call(str(legacy.get("name") or ""), arguments))
    if isinstance(refusal := extras.get("refusal"), str):
        sent.texts.append(refusal)


def _add_content(sent: Sent, content: Any, known_ids: set[Any]) -> None:
    """Add a content: a text, a block, or a list of either."""
    if isinstance(content, str):
        sent.texts.append(content)
    elif isinstance(content, Mapping):
        _add_block(sent, content, known_ids)
    elif isinstance(content, Iterable):
        for block in content:
            _add_content(sent, block, known_ids)
    elif content is not None:
        sent.texts.append(str(content))


def _add_block(sent: Sent, block: Mapping[str, Any], known_ids: set[Any]) -> None:
    kind = block.get("type")
    if kind in _CALLS:
        if not {block.get("id"), block.get("call_id")} & known_ids:
            sent.calls.append(_call_of(block))
    elif kind in _REASONING:
        _add_reasoning(sent, block)
    elif kind in _MEDIA and not _is_plain_text(block):
        sent.media.append(_media_kind(block))
    elif kind in ("text", "input_text", "output_text", "refusal", "text-plain"):
        _add_content(sent, block.get("text") or block.get("refusal") or "", known_ids)
    elif kind == "json" and "json" in block:
        sent.texts.append(to_json(block["json"]))
    elif kind == "non_standard":
        _add_content(sent, block.get("value"), known_ids)
    else:
        _add_other(sent, block, known_ids)


def _call_of(block: Mapping[str, Any]) -> Call:
    arguments: Any = next(
        (block[key] for key in ("input", "args", "arguments") if block.get(key)), {}
    )
    text = arguments if isinstance(arguments, str) else to_json(arguments)
    call_id = block.get("call_id") or block.get("id") or ""
    return Call(str(block.get("name") or ""), text, str(call_id))


def _add_reasoning(sent: Sent, block: Mapping[str, Any]) -> None:
    """Add the readable text of a reasoning block (Anthropic, OpenAI, LangChain)."""
    for key in ("thinking", "reasoning", "reasoning_content", "summary", "content"):
        value = block.get(key)
        if isinstance(value, str):
            sent.texts.append(value)
        elif isinstance(value, Mapping):
            sent.texts.append(str(value.get("text") or ""))
        elif isinstance(value, list):
            sent.texts += [
                str(v.get("text") or "") for v in value if isinstance(v, dict)
            ]


def _source(block: Mapping[str, Any]) -> Mapping[str, Any]:
    source = block.get("source")
    return source if isinstance(source, Mapping) else block


def _is_plain_text(block: Mapping[str, Any]) -> bool:
    """Tell whether a file block carries its text itself and is billed as text."""
    if block.get("type") == "text-plain":
        return block.get("text") is not None
    source = _source(block)
    return "text" in (source.get("source_type"), source.get("type"))


def _media_kind(block: Mapping[str, Any]) -> str:
    kind = _MEDIA.get(str(block.get("type")), "file")
    major = str(block.get("mime_type") or "").split("/")[0]
    return major if kind == "file" and major in ("image", "audio", "video") else kind


def _add_other(sent: Sent, block: Mapping[str, Any], known_ids: set[Any]) -> None:
    """Add a block without a rule of its own: its content, or all of it as JSON."""
    if _is_plain_text(block):
        source = _source(block)
        sent.texts.append(str(source.get("text") or source.get("data") or ""))
    elif block.get("type") in ("tool_result", "search_result", "server_tool_result"):
        payload = block.get("content", block.get("output"))
        _add_content(sent, payload, known_ids)
    elif "mime_type" in block or "base64" in block:
        sent.media.append(_media_kind(block))
    else:
        kept = {key: value for key, value in block.items() if key not in _UNSENT}
        sent.texts.append(to_json(_without_data(kept, sent.media)))


def _without_data(value: Any, media: list[str]) -> Any:
    """Return a value without the binary data in it, which becomes media."""
    if isinstance(value, Mapping):
        return {key: _without_data(item, media) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_data(item, media) for item in value]
    if isinstance(value, str):
        url = _DATA_URL.match(value)
        if not url and not (len(value) > _LONG_TEXT and _BASE64.fullmatch(value)):
            return value
        media.append(_MEDIA.get(url[1], "file") if url else "file")
        return ""
    if isinstance(value, bytes | bytearray):
        media.append("file")
        return ""
    return value
