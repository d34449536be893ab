"""The visible answer: what a user reads when the model cannot be called.

It names the numbers and a way out, in the user's language, and ends the turn. A
bare AI message would loop under a tool strategy for structured output, so it comes
with a jump to the end.

>>> print(wording("user_message_too_large", "en", size=90_000, limit=65_536))
Your message is about 90,000 tokens, and this model takes at most 65,536. Please \
shorten it, send it in parts, or attach only the passages that matter.

Lesson: 10_protect_the_call.
"""

from typing import Literal

from langchain.agents.middleware import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage
from langgraph.types import Command

from ctxlab.chain.call import Call
from ctxlab.chain.samples import METADATA_KEY

Reason = Literal[
    "user_message_too_large", "still_too_large", "provider_overflow", "summary_failed"
]

WORDINGS: dict[str, dict[Reason, str]] = {
    "en": {
        "user_message_too_large": "Your message is about {size:,} tokens, and this "
        "model takes at most {limit:,}. Please shorten it, send it in parts, or attach "
        "only the passages that matter.",
        "still_too_large": "This request is about {size:,} tokens even after "
        "compaction, and this model takes at most {limit:,}. About {fixed:,} of them "
        "are instructions and tools. Please start a new conversation, or ask for fewer "
        "tools or a larger model.",
        "provider_overflow": "The model refused this conversation as too long, twice, "
        "the second time at about {size:,} tokens. Please start a new conversation, or "
        "ask for a larger model.",
        "summary_failed": "This conversation is about {size:,} tokens, the model takes "
        "at most {limit:,}, and no summary could be written. Please try again in a "
        "moment, or start a new conversation.",
    },
    "zh": {
        "user_message_too_large": "您的消息约有 {size:,} 个 token，而当前模型最多接受 "
        "{limit:,} 个。请精简内容、分几次发送，或只附上最相关的段落。",
        "still_too_large": "压缩之后，这次请求仍约有 {size:,} 个 token，而当前模型最多"
        "接受 {limit:,} 个，其中约 {fixed:,} 个是系统指令和工具。请新开一个对话，或减少"
        "工具、换用窗口更大的模型。",
        "provider_overflow": "模型两次以内容过长为由拒绝了本次对话，第二次约 {size:,} "
        "个 token。请新开一个对话，或换用窗口更大的模型。",
        "summary_failed": "本次对话约有 {size:,} 个 token，而当前模型最多接受 "
        "{limit:,} 个，并且未能生成摘要。请稍后再试，或新开一个对话。",
    },
}


def wording(reason: Reason, language: str, **numbers: int) -> str:
    """Return the sentence for a reason; the numbers are tokens."""
    return WORDINGS[language][reason].format(**numbers)


def refuse(
    call: Call, reason: Reason, size: int | None = None
) -> ExtendedModelResponse:
    """Return a visible answer that ends the turn, and mark the call as refused.

    Args:
        call: The call.
        reason: Why the model is not called (again).
        size: The size to name; the estimate of the request by default.
    """
    call.action = "refuse"
    limit = call.budget.ceiling or 0
    numbers = {
        "size": size or call.estimate.effective,
        "limit": limit,
        "fixed": round(call.fixed_overhead),
    }
    entry: dict[str, int | str] = {"refused": reason, **numbers}
    if call.notes:
        entry["cause"] = call.notes[-1]
    answer = AIMessage(
        wording(reason, call.language, **numbers),
        id=f"ctxlab-{call.history.digest(len(call.messages))[:16]}",
        response_metadata={METADATA_KEY: entry},
    )
    return ExtendedModelResponse(
        ModelResponse(result=[answer]), command=Command(update={"jump_to": "end"})
    )
