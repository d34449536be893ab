"""Signed reasoning of an open turn: carried whole, or dropped together.

Some providers sign what a model thought and refuse a tool loop whose first thought is
missing. A cut inside the open turn takes that thought away; then all of them go, and
the model answers without thinking until the user speaks again.

>>> thought = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
>>> answer = AIMessage([thought, {"type": "text", "text": "Yes."}])
>>> without_reasoning(answer).content
[{'type': 'text', 'text': 'Yes.'}]

Left out here: unsigned reasoning, which providers ignore in a history, and items of
OpenAI's Responses API, which belong to the call behind them. Lesson:
10_protect_the_call.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, BaseMessage

SIGNED = ("thinking", "redacted_thinking", "reasoning_content")
NOTHING_ELSE = "(no text)"  # providers refuse an empty content


def reasoning_to_drop(
    messages: Sequence[BaseMessage], newest_user: int | None, tail: int
) -> int:
    """Return the index before which answers are carried without their reasoning.

    Args:
        messages: The history, oldest first.
        newest_user: Index of the message that opened the turn.
        tail: Index from which on messages are carried.

    Returns:
        A message index; 0 when the turn is carried whole, or does not reason.
    """
    opened = newest_user or 0
    broken = tail > opened + 1 and any(map(reasons, messages[opened:]))
    return len(messages) if broken else 0


def reasons(message: BaseMessage) -> bool:
    """Return whether a message holds signed reasoning."""
    blocks = message.content
    if isinstance(blocks, str):  # of characters none is a block
        return False
    return isinstance(message, AIMessage) and any(map(is_signed, blocks))


def is_signed(block: Any) -> bool:
    """Return whether a content block is reasoning that a provider has signed."""
    if not isinstance(block, Mapping):
        return False
    kind, extras = block.get("type"), block.get("extras") or {}
    return kind in SIGNED or (kind == "reasoning" and "signature" in extras)


def without_reasoning(message: BaseMessage) -> BaseMessage:
    """Return a copy of a message without its signed reasoning."""
    rest: Any = [block for block in message.content if not is_signed(block)]
    if not rest and not getattr(message, "tool_calls", None):
        rest = NOTHING_ELSE
    return message.model_copy(update={"content": rest})


def not_thinking(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Return the request with thinking switched off, if the model thinks."""
    changes: dict[str, Any] = {}
    if _thinks(request.model_settings.get("thinking")):
        settings = {**request.model_settings, "thinking": {"type": "disabled"}}
        changes["model_settings"] = settings
    if _thinks(getattr(request.model, "thinking", None)):
        changes["model"] = request.model.model_copy(
            update={"thinking": {"type": "disabled"}}
        )
    return request.override(**changes) if changes else request


def _thinks(setting: Any) -> bool:
    return isinstance(setting, Mapping) and setting.get("type") != "disabled"
