r"""From messages to entries: what the summary model gets to read of each message.

An entry is a plain dict: type, content, and where they apply name, tool_calls,
tool_call_id and status "error". Text and unknown blocks are kept as text; pictures and
files leave a marker; reasoning blocks are left out, being the model's own draft.

>>> from langchain_core.messages import HumanMessage
>>> picture = {"type": "image", "mime_type": "image/png", "base64": "A" * 40_000}
>>> entry(HumanMessage([{"type": "text", "text": "look"}, picture]))["content"]
'look\n[image image/png, 30 kB]'
"""

import json
import re
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ctxlab.summaries.labelled import is_summary, summary_text

Redact = Callable[[str], str]
Entry = dict[str, Any]

_REASONING = {"reasoning", "thinking", "redacted_thinking", "reasoning_content"}
_CALLS = {"tool_call", "invalid_tool_call", "tool_use", "function_call"}
_MEDIA = {kind: kind for kind in ("image", "audio", "video", "file")}
_MEDIA["text-plain"] = "file"
_DATA_URI = re.compile(r"data:([\w./+-]+);base64,([A-Za-z0-9+/=_-]{256,})")


def entry(message: BaseMessage, redact: Redact | None = None) -> Entry:
    """Return a message as an entry, each text in it redacted."""
    hide = redact or _same
    summary = is_summary(message)
    text = summary_text(message) if summary else plain_text(message)
    found: Entry = {"type": "summary" if summary else message.type}
    found["content"] = hide(text)
    if message.name:
        found["name"] = hide(message.name)
    if isinstance(message, ToolMessage):
        found["tool_call_id"] = hide(message.tool_call_id)
        if message.status == "error":
            found["status"] = "error"
    if isinstance(message, AIMessage):
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        if calls:
            found["tool_calls"] = [
                {key: _redacted(call[key], hide) for key in ("name", "args", "id")}
                for call in calls
            ]
    return found


def plain_text(message: BaseMessage) -> str:
    """Return the content of a message as text, a line per block."""
    if isinstance(message.content, str):
        return _DATA_URI.sub(_uri_marker, message.content)
    texts = [_block_text(block) for block in message.content_blocks]
    return "\n".join(text for text in texts if text)


def _block_text(block: Any) -> str:
    if block.get("type") == "non_standard":
        block = block.get("value") or {}
    kind = block.get("type", "")
    if kind in ("text", "text-plain") and "text" in block:
        return _DATA_URI.sub(_uri_marker, str(block["text"]))
    if kind in _REASONING or kind in _CALLS:
        return ""
    if kind in _MEDIA:
        return _marker(_MEDIA[kind], block)
    return json.dumps(_without_bytes(block), ensure_ascii=False, default=str)


def _marker(kind: str, block: dict[str, Any]) -> str:
    """Return e.g. `[file report.pdf application/pdf, 300 kB]`, sizes in 1,000 bytes."""
    facts = {**block.get("extras", {}), **block}
    data = str(facts.get("base64") or facts.get("data") or "")
    if str(facts.get("url", "")).startswith("data:"):
        data = facts.pop("url")
    names = [facts.get(key) for key in ("filename", "mime_type", "url", "file_id")]
    label = " ".join([kind, *(str(name) for name in names if name)])
    return f"[{label}, {_kilobytes(data)} kB]" if data else f"[{label}]"


def _uri_marker(uri: re.Match[str]) -> str:
    return f"[{uri[1]}, {_kilobytes(uri[2])} kB]"


def _kilobytes(base64: str) -> int:
    return max(1, round(len(base64) * 3 / 4 / 1000))


def _without_bytes(value: Any) -> Any:
    """Replace binary data inside an unknown block; all else stays."""
    if isinstance(value, dict):
        return {
            key: f"[{_kilobytes(item)} kB]"
            if key in ("data", "base64") and isinstance(item, str) and len(item) > 256
            else _without_bytes(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_without_bytes(item) for item in value]
    return _DATA_URI.sub(_uri_marker, value) if isinstance(value, str) else value


def _redacted(value: Any, hide: Redact) -> Any:
    """Redact keys, strings and numbers of call arguments (a number may be a phone)."""
    if isinstance(value, dict):
        return {hide(str(key)): _redacted(item, hide) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(item, hide) for item in value]
    if value is None or isinstance(value, bool):
        return value
    hidden = hide(str(value))
    return value if hidden == str(value) else hidden


def _same(text: str) -> str:
    return text
