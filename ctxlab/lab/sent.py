"""What of a message travels to a provider, as one plain text.

A provider never sees ids, usage or `artifact`. It sees the content, and of an AI
message the calls with their arguments. The bench bills this text, compares it to
find the cached prefix, and looks for planted facts in it.

>>> from langchain_core.messages import AIMessage
>>> call = {"name": "lookup_order", "args": {"order_id": "A7"}, "id": "c1"}
>>> sent_text(AIMessage("One moment.", tool_calls=[call]))
'One moment.lookup_order{"order_id": "A7"}'

Reasoning and signatures are left out (most providers do not take them back), and
an image or a file is a marker here, never its base64. Lesson: 01_fill_the_window.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

MEDIA = frozenset({"image", "image_url", "audio", "input_audio", "video", "file"})
REASONING = frozenset({"reasoning", "thinking", "redacted_thinking"})
# Blocks that repeat what `tool_calls` of the same message says.
CALLS = frozenset({"tool_use", "tool_call", "function_call", "server_tool_call"})


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def as_json(value: Any) -> str:
    """Return readable JSON on one line; what JSON cannot hold is shown by `str`."""
    return _ENCODER.encode(value)


def _block_text(block: str | Mapping[str, Any]) -> str:
    if isinstance(block, str):
        return block
    kind = str(block.get("type", ""))
    if kind in REASONING or kind in CALLS:
        return ""
    if kind in MEDIA:
        return f"[{kind}]"
    text = block.get("text")
    return text if isinstance(text, str) else as_json(block)


def content_text(content: str | Sequence[Any]) -> str:
    """Return the text of a message content, string or list of blocks."""
    if isinstance(content, str):
        return content
    return "".join(_block_text(block) for block in content)


def sent_text(message: BaseMessage) -> str:
    """Return content and calls of one message as the text that is sent."""
    text = content_text(message.content)
    if isinstance(message, AIMessage) and message.tool_calls:
        text += "".join(c["name"] + as_json(c["args"]) for c in message.tool_calls)
    return text


def media_count(message: BaseMessage) -> int:
    """Return how many images, audio clips, videos and files a message carries."""
    if isinstance(message.content, str):
        return 0
    return sum(isinstance(b, dict) and b.get("type") in MEDIA for b in message.content)


def reasoning_text(message: BaseMessage) -> str:
    """Return the reasoning a model wrote beside its answer; "" when there is none."""
    text = str(message.additional_kwargs.get("reasoning_content") or "")
    if isinstance(message.content, str):
        return text
    blocks = (b for b in message.content if isinstance(b, dict))
    parts = [b for b in blocks if b.get("type") in REASONING]
    return text + "".join(str(b.get(str(b["type"])) or "") for b in parts)
