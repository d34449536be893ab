"""Exercises of lesson 09: summarise the request, leave the checkpoint alone."""

import hashlib
from collections.abc import Callable, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.transcripts import load_transcript
from ctxlab.summaries import summary_message
from ctxlab.tokens import ScriptCounter

_HISTORY = [
    HumanMessage("Reserve a table for four."),
    AIMessage("For which day?"),
    HumanMessage("Friday, seven o'clock."),
    AIMessage("Done, table twelve."),
    HumanMessage("And a high chair, please."),
]


def _view(text: str, messages: list[BaseMessage], cut: int) -> list[BaseMessage]:
    """The summary instead of what stands before the cut, and the rest as it is."""
    return [summary_message(text), *messages[cut:]]


def digest(messages: Sequence[BaseMessage]) -> str:
    """Name the contents of messages in eight hex digits.

    >>> digest([HumanMessage("a")]) == digest([HumanMessage("a", id="7")])
    True
    """
    content = "\0".join(f"{message.type}\0{message.text}" for message in messages)
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def _still_fits(
    cut: int,
    remembered: str,
    messages: list[BaseMessage],
    digest_of: Callable[[Sequence[BaseMessage]], str],
) -> bool:
    """Does a summary remembered for the first `cut` messages fit this history?"""
    return len(messages) >= cut and digest_of(messages[:cut]) == remembered


def calls_over_the_trigger() -> int:
    """The calls of the lesson's hundred turns that send 10,000 tokens or more."""
    messages, count = load_transcript("chinese_chat").messages[:200], ScriptCounter()
    answers = [at for at, each in enumerate(messages) if isinstance(each, AIMessage)]
    return sum(count(messages[:at]) >= 10_000 for at in answers)


_KEY = digest(_HISTORY[:2])
_EDITED = [_HISTORY[0], AIMessage("For which week?"), *_HISTORY[2:]]

EXERCISES = (
    Prediction(
        "9.p",
        "a hundred calls, each looked at by itself: how many summaries?",
        hint="Once over the trigger, every later request is over it as well.",
        answer=calls_over_the_trigger,
        within=0.25,
    ),
    Exercise(
        "9.1",
        "build the view: a summary for the old part, the rest untouched",
        hint="summary_message(text) makes the message; a slice makes a new list.",
        cases=[
            Case(("A table for four.", _HISTORY, 2), _view),
            Case(("A table for four, Friday.", _HISTORY, 4), _view),
            Case(("Everything so far.", _HISTORY[:1], 1), _view),
        ],
    ),
    Exercise(
        "9.2",
        "say whether a remembered summary still fits the history",
        hint="It stands for the first `cut` messages: what may change, and what not?",
        cases=[
            Case((2, _KEY, _HISTORY[:2], digest), _still_fits),
            Case((2, _KEY, _HISTORY, digest), _still_fits),
            Case((2, _KEY, _EDITED, digest), _still_fits),
            Case((2, _KEY, _HISTORY[:1], digest), _still_fits),
            Case((2, _KEY, _HISTORY[1:], digest), _still_fits),
            Case((2, _KEY, [*_HISTORY[:3], HumanMessage("No.")], digest), _still_fits),
        ],
    ),
)
