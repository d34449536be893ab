"""Exercises of lesson 01: what a request is made of, and why it overflows."""

from itertools import accumulate

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.replays import replay
from ctxlab.lab.transcripts import load_transcript
from ctxlab.tokens import ScriptCounter, TokenCounter

_SEARCH = {
    "name": "search_orders",
    "description": "Find orders by customer, number or date, newest first.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}
_CHAT = [HumanMessage("Where is order 7?"), AIMessage("It left the depot today.")]


def _whole(
    count: TokenCounter,
    system: str,
    messages: list[HumanMessage | AIMessage],
    tools: list[dict[str, object]],
) -> int:
    """Tokens of everything that one call sends."""
    return count([SystemMessage(system), *messages], tools=tools)


def _first_over(fixed: int, turns: list[int], window: int) -> int | None:
    """The first turn (from 1) whose request is larger than the window."""
    totals = accumulate(turns, initial=fixed)
    next(totals)
    return next((at for at, total in enumerate(totals, 1) if total > window), None)


def first_bill() -> int:
    """Tokens billed for the first request of the short tool session."""
    return replay(load_transcript("short_tools")).exchanges[0].input_tokens


EXERCISES = (
    Exercise(
        "1.1",
        "count the whole request: system prompt, tool schemas, messages",
        hint="A counter takes messages and tools=…; the system prompt is a message.",
        cases=[
            Case((ScriptCounter(), "Be brief.", _CHAT[:1], []), _whole),
            Case((ScriptCounter(), "Be brief.", _CHAT, [_SEARCH]), _whole),
            Case((ScriptCounter(), "用中文回答。" * 9, _CHAT, [_SEARCH] * 3), _whole),
        ],
        equal=lambda wanted, got: (  # parts counted one by one round up one by one
            isinstance(got, int | float) and abs(wanted - got) <= 3
        ),
    ),
    Exercise(
        "1.2",
        "find the first turn whose request no longer fits the window",
        hint="A request carries all turns before it, and may fill the window.",
        cases=[
            Case((10, [5], 15), _first_over),
            Case((10, [5, 1], 15), _first_over),
            Case((0, [4, 4, 4, 4], 11), _first_over),
            Case((20, [5, 5], 15), _first_over),
            Case((900, [50, 60, 70, 80, 90], 1_100), _first_over),
            Case((900, [10] * 9, 1_100), _first_over),
        ],
    ),
    Prediction(
        "1.p",
        "one question of a few words: how many tokens is its request billed?",
        hint="The tool schemas and the system prompt travel with every question.",
        answer=first_bill,
        within=0.25,
    ),
)
