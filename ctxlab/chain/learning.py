"""After an answer: write down what was sent and what was billed for it.

The sample goes into the AI message's metadata, so it is checkpointed with the
conversation and forgotten with it. Its local figure is that of the request as sent
(row M11): paired with the whole history, every fit would be ruined.

Lesson: 07_fit_the_overhead.
"""

import math
from copy import copy
from typing import Any

from langchain.agents.middleware import ModelResponse
from langchain_core.messages import AIMessage

from ctxlab.chain.call import Call
from ctxlab.chain.samples import METADATA_KEY

CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")
FULL_WINDOW = 0.98


def learn(call: Call, response: ModelResponse[Any]) -> ModelResponse[Any]:
    """Return the response with a sample in its AI message; ids stay as they are."""
    for place, message in enumerate(response.result):
        if isinstance(message, AIMessage):
            entry = sample_entry(call, message)
            if not entry:
                return response
            noted = copy(message)  # it may be another's, too: of a cache, of a list
            noted.response_metadata = {**message.response_metadata, METADATA_KEY: entry}
            result = [*response.result]
            result[place] = noted
            return ModelResponse(result, response.structured_response)
    return response


def sample_entry(call: Call, message: AIMessage) -> dict[str, Any]:
    """Return what an AI message will carry; empty when there is nothing to say."""
    entry: dict[str, Any] = {}
    billed = call.bill_of(message)
    if billed:
        entry = {
            "local_input_tokens": math.ceil(call.local),
            "provider_input_tokens": billed,
            "fixed_tokens": call.fixed.tokens,
            "fingerprint": call.fixed.fingerprint,
        }
    if not call.live.empty:
        view = call.live.view
        entry |= {"view": call.live.key, "cut": view.cut, "tail": view.tail}
    if billed and under_pressure(call, message, billed):
        entry["window_full"] = True
    return entry


def under_pressure(call: Call, message: AIMessage, billed: int) -> bool:
    """Return whether an answer was cut off because the window was full."""
    if not call.budget.limit:
        return False
    metadata = message.response_metadata
    reason = metadata.get("finish_reason") or metadata.get("stop_reason")
    if reason not in CUT_OFF:
        return False
    usage = message.usage_metadata
    total = billed + (usage["output_tokens"] if usage else 0)
    return total >= FULL_WINDOW * call.budget.limit
