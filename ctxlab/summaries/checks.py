r"""Is this reply a summary? Failure text never is (row H8, faults B50 to B53).

>>> reply_text("<think>hm</think>## SUMMARY\nWe chose B.")
'## SUMMARY\nWe chose B.'
>>> from langchain_core.messages import AIMessage
>>> reply_text(AIMessage("", response_metadata={"finish_reason": "length"}))
Traceback (most recent call last):
ctxlab.summaries.checks.RejectedReply: the reply was cut off (length)
"""

import re
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

_CUT_OFF = {
    *("length", "max_tokens", "max_output_tokens", "model_length"),
    "model_context_window_exceeded",
}
_REFUSED = {"refusal", "content_filter", "safety", "prohibited_content", "blocklist"}
_REASON_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_TAG = r"(?:think|thinking|thought|reasoning)>"
_THOUGHTS = re.compile(rf"<{_TAG}.*?</{_TAG}", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(rf"\A\s*<{_TAG}.*", re.DOTALL | re.IGNORECASE)
# Some chat templates swallow the opening tag; a summary may speak of tags, too.
_ENDED_THOUGHT = re.compile(rf"\A(?:(?!^#).)*</{_TAG}", re.DOTALL | re.I | re.MULTILINE)
_APOLOGY = re.compile(
    r"(?:(?:i['’]?m sorry|i am sorry|sorry)\W+(?:but )?)?"
    r"i (?:can['’]?t|cannot|can not|am unable to|won['’]t) "
    r"(?:help|assist|comply|do that|fulfil|provide|summari[sz]e|continue)"
    r"|(?:抱歉|对不起)\W*我?(?:无法|不能)"
    r"|我(?:无法|不能)(?:协助|帮助|提供|满足|总结)",
    re.IGNORECASE,
)


class RejectedReply(ValueError):
    """A reply that is no summary; the text says why, `cause` is the error behind it."""

    def __init__(self, why: str, cause: Exception | None = None) -> None:
        super().__init__(why)
        self.cause = cause or self


def reply_text(reply: object) -> str:
    """Return the text of a reply, thinking removed.

    Raises:
        RejectedReply: If the reply is blank, a refusal, only tool calls or
            reasoning, cut off, or no text at all.
    """
    if isinstance(reply, BaseMessage):
        _check_ending(reply)
        text = _without_thoughts(reply.text)
        if not text:
            raise RejectedReply(_why_empty(reply))
    elif isinstance(reply, str):
        text = _without_thoughts(reply)
        if not text:
            raise RejectedReply("the reply was blank")
    else:
        raise RejectedReply(
            f"the reply was a {type(reply).__name__}, expected text or a message"
        )
    if _APOLOGY.match(text) and "\n#" not in text:
        raise RejectedReply("the model refused")
    return text


def _check_ending(reply: BaseMessage) -> None:
    for reason in _endings(reply.response_metadata):
        if reason.lower() in _CUT_OFF:
            raise RejectedReply(f"the reply was cut off ({reason})")
        if reason.lower() in _REFUSED:
            raise RejectedReply(f"the model refused ({reason})")
    blocks = reply.content if isinstance(reply.content, list) else []
    if reply.additional_kwargs.get("refusal") or any(
        isinstance(block, dict) and block.get("type") == "refusal" for block in blocks
    ):
        raise RejectedReply("the model refused")


def _endings(metadata: dict[str, Any]) -> list[str]:
    """Every reason a provider gives for the end of a reply; either key may hold it."""
    found = [metadata.get(key) for key in _REASON_KEYS]
    if metadata.get("status") == "incomplete":  # OpenAI's Responses API
        found.append((metadata.get("incomplete_details") or {}).get("reason"))
    return [str(reason).rpartition(".")[2] for reason in found if reason]


def _why_empty(reply: BaseMessage) -> str:
    if isinstance(reply, AIMessage) and (reply.tool_calls or reply.invalid_tool_calls):
        return "the reply was only tool calls"
    blocks = reply.content if isinstance(reply.content, list) else []
    thoughts = reply.additional_kwargs.get("reasoning_content") or blocks
    if thoughts or reply.text.strip():
        return "the reply was only reasoning"
    return "the reply was blank"


def _without_thoughts(text: str) -> str:
    """Drop thinking with its tags; a tag the summary itself speaks of stays."""
    for pattern in (_THOUGHTS, _OPEN_THOUGHT, _ENDED_THOUGHT):
        text = pattern.sub("", text)
    return text.strip()
