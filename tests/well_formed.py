"""What is wrong with a list of messages, as a strict provider sees it."""

from collections import Counter
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage


def problems(messages: Sequence[BaseMessage]) -> Counter[str]:
    """Return what a strict provider would refuse (invariant I1), with counts.

    A result without its call before it, a call answered twice, and a call without
    answer unless the last AI message makes it.
    """
    found: Counter[str] = Counter()
    waiting: list[tuple[str, int]] = []
    made: set[str] = set()
    last_ai = -1
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            last_ai = index
            waiting += [(str(call["id"]), index) for call in message.tool_calls]
            made |= {str(call["id"]) for call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            open_calls = [w for w in waiting if w[0] == message.tool_call_id]
            if open_calls:
                waiting.remove(open_calls[-1])
            elif message.tool_call_id in made:
                found["answered twice"] += 1
            else:
                found["result without call"] += 1
    found["call without result"] = sum(at != last_ai for _, at in waiting)
    return +found
