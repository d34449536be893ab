"""A compaction that somebody asked for: code, or the model itself.

The model asks with a tool: its result stands behind the newest answer, so the next
call sees it, in any process. Code asks between two runs: the view waits in this
process until the next call of the conversation takes it up.

Lesson: 10_protect_the_call.
"""

from collections.abc import Generator, Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ctxlab.chain.call import Call
from ctxlab.chain.compaction import compact
from ctxlab.chain.effects import Effect
from ctxlab.chain.policy import Policy
from ctxlab.chain.remembering import leave_waiting, recall
from ctxlab.records import CallRecord

COMPACT_TOOL = "compact_conversation"


def asked_by_model(messages: Sequence[BaseMessage]) -> bool:
    """Return whether the newest answer asked for a compaction.

    >>> result = ToolMessage("ok", tool_call_id="c1", name=COMPACT_TOOL)
    >>> asked_by_model([AIMessage(""), result]), asked_by_model([result, AIMessage("")])
    (True, False)
    """
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return False
        if isinstance(message, ToolMessage) and message.name == COMPACT_TOOL:
            return message.status == "success"
    return False


def compact_on_demand(
    policy: Policy, request: ModelRequest[Any], keep_tokens: int | None = None
) -> Generator[Effect, Any, CallRecord]:
    """Compact a conversation now, for its next call; return the ledger of it.

    Raises:
        SummaryError: No summary could be written, and failures are to be raised.
    """
    call = Call(policy, request)
    yield from recall(call)
    before = call.live
    yield from compact(call, keep_tokens or call.budget.keep_tokens, urge="forced")
    if call.live is not before:
        leave_waiting(call)
    return call.record()
