"""Where the first steps of the ladder show their damage: requests and the stream.

>>> from ctxlab.lab.replays import replay
>>> short = opening("engineering_tools", 6)
>>> len(short.messages), len(short.turns()), len(short.facts)
(6, 1, 2)
>>> lived = replay(short)
>>> len(lived.requests), requests_holding(lived, "TB-1203")
(2, 2)
>>> lone_results(short.messages[2:])[:1] == [short.messages[2].tool_call_id]
True

Left out: the checkpoint (`replay_results.state_fingerprint`). Lessons:
02_summarize_naively, 03_use_the_builtin.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.lab.order_desk import OrderDesk
from ctxlab.lab.replay_results import Replay
from ctxlab.lab.transcripts import Transcript, load_transcript


def opening(transcript: Transcript | str, messages: int) -> Transcript:
    """Return the first messages of a transcript, with the facts planted in them."""
    whole = load_transcript(transcript) if isinstance(transcript, str) else transcript
    facts = [fact for fact in whole.facts if fact.message < messages]
    return replace(whole, messages=whole.messages[:messages], facts=facts)


def lone_results(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the call ids of results that have no call before them, oldest first."""
    called: set[str | None] = set()
    alone = []
    for message in messages:
        if isinstance(message, AIMessage):
            called.update(call["id"] for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and message.tool_call_id not in called:
            alone.append(message.tool_call_id)
    return alone


def requests_holding(lived: Replay, text: str) -> int:
    """Return how many requests of a replay hold a text word for word."""
    return sum(any(text in m.text for m in request) for request in lived.requests)


def streamed(desk: OrderDesk, question: str) -> list[Any]:
    """Return the messages and pieces of messages that an interface is streamed."""
    given = {"messages": [HumanMessage(question)]}
    stream = desk.agent.stream(given, desk.thread, stream_mode="messages")
    return [part for part, _ in stream]
