"""Exercises of lesson 02: what the naive rewrite breaks."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.ladder import lone_results, opening
from ctxlab.lab.replays import replay
from ctxlab.lab.writers import FactKeeper
from ctxlab.middleware import NaiveSummarizationMiddleware


def _still_stored() -> int:
    """The messages of the lesson's talk that its rewrite leaves in the checkpoint."""
    talk = opening("engineering_tools", 100)
    naive = NaiveSummarizationMiddleware(
        FactKeeper(talk.facts), trigger=("tokens", 6_000), keep=("messages", 8)
    )
    ids = {message.id for message in talk.messages}
    return sum(m.id in ids for m in replay(talk, [naive]).state_messages)


def _gone(recorded: Sequence[BaseMessage], stored: Sequence[BaseMessage]) -> list[str]:
    """The ids of recorded messages that are not stored, oldest first."""
    left = {message.id for message in stored}
    return [str(message.id) for message in recorded if message.id not in left]


def _call(*ids: str) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": "look", "args": {}, "id": i} for i in ids]
    )


def _result(call_id: str) -> ToolMessage:
    return ToolMessage("found", tool_call_id=call_id)


_WHOLE = [HumanMessage("Where?"), _call("a", "b"), _result("a"), _result("b")]
_LATE = [HumanMessage("Where?"), _result("a"), _call("a")]
_TWICE = [_result("z"), _call("a"), _result("a"), HumanMessage("And?"), _result("b")]

_SPOKEN = [
    HumanMessage("Go on.", id="1"),
    AIMessage("Done.", id="2"),
    HumanMessage("Go on.", id="3"),
    AIMessage("Done.", id="4"),
]
_SUMMARY = HumanMessage("Summary of the conversation so far:\nDone.", id="s")

EXERCISES = (
    Prediction(
        "2.p",
        "100 messages, rewritten over 6,000 tokens, keep 8: how many are left?",
        hint="After a rewrite 8 are left, and it takes a while until the next one.",
        answer=_still_stored,
        within=0.25,
    ),
    Exercise(
        "2.1",
        "name the results that stand without their call before them",
        hint="Remember the ids of the calls you have met on the way.",
        cases=[
            Case(([],), lone_results),
            Case((_WHOLE[2:],), lone_results),
            Case((_LATE,), lone_results),
            Case((_WHOLE,), lone_results),
            Case((_TWICE,), lone_results),
        ],
    ),
    Exercise(
        "2.2",
        "name the recorded messages that are no longer stored",
        hint="Two messages may have the same text; their ids differ.",
        cases=[
            Case((_SPOKEN[:2], _SPOKEN[:2]), _gone),
            Case((_SPOKEN[:2], [_SUMMARY]), _gone),
            Case((_SPOKEN, [_SUMMARY, *_SPOKEN[2:]]), _gone),
            Case((_SPOKEN, [_SUMMARY, _SPOKEN[3]]), _gone),
        ],
    ),
)
