"""Exercises of lesson 04: cut without breaking, write without losing."""

import re

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ctxlab.boundaries import partition_history, safe_cut
from ctxlab.lab.attempts import same
from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.transcripts import load_transcript
from ctxlab.summaries.prompts import missing_sections

SESSION = 64  # messages of `engineering_tools` that the lesson tells about


def _splitting_cuts() -> int:
    """How many places inside the session lie between a call and its result."""
    session = load_transcript("engineering_tools").messages[:SESSION]
    return sum(safe_cut(session, at) != at for at in range(1, SESSION))


def _call(*ids: str) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": "look", "args": {}, "id": i} for i in ids]
    )


def _result(call_id: str) -> ToolMessage:
    return ToolMessage("found", tool_call_id=call_id)


_CHAT: list[BaseMessage] = [
    HumanMessage("Hi."),
    AIMessage("Hello."),
    HumanMessage("A7?"),
]
_LOOP: list[BaseMessage] = [
    HumanMessage("Check A7 and A8."),
    _call("a"),
    _result("a"),
    _call("b"),
    _result("b"),
]
_RULED: list[BaseMessage] = [SystemMessage("Be brief."), *_CHAT, AIMessage("Shipped.")]

#: What a handoff of the refund session has to say, and one thing that is not so.
_ASKED = {
    "the limit the user set (80)": r"\b80\b",
    "the exact number INV-31": r"INV-31",
    "what failed, and why (409, locked)": r"409|locked",
    "that the payment is a guess": (
        r"guess|assum|un(?:verified|checked|confirmed)|not (yet )?(?:checked|verified)"
    ),
}
_UNTRUE = r"(?<!not )(?<!not yet )\brefunded\b|refund (?:is |was )?(?:done|complete)"


def faults(text: str) -> list[str]:
    r"""Say what a handoff of the refund session lacks or gets wrong.

    >>> faults("## SUMMARY\nA7 was refunded, 80 euro.")[:1]
    ['a section SESSION INTENT']
    """
    found = [f"a section {section}" for section in missing_sections(text)]
    found += [
        what for what, words in _ASKED.items() if not re.search(words, text, re.I)
    ]
    if re.search(_UNTRUE, text, re.I):
        found.append("the truth: nothing is refunded yet")
    return found


def _is_pair(value: object) -> bool:
    """A list of two parts is as good as a tuple of two."""
    return isinstance(value, list) and len(value) == 2


EXERCISES = (
    Prediction(
        "4.p",
        "at how many of 63 places does a cut split a call from its result?",
        hint="A cut just before a result splits a pair. How many results may there be?",
        answer=_splitting_cuts,
        within=0.15,
    ),
    Exercise(
        "4.1",
        "split a history in two, the newest user message always kept",
        hint="safe_cut gives the place; then ask of each message whether it stays.",
        cases=[
            Case((_CHAT, 1), partition_history),
            Case((_CHAT, 3), partition_history),
            Case((_LOOP, 1), partition_history),
            Case((_LOOP, 4), partition_history),
            Case((_RULED, 1), partition_history),
        ],
        equal=lambda wanted, got: same(wanted, tuple(got) if _is_pair(got) else got),
    ),
    Exercise(
        "4.2",
        "write the handoff of a short session",
        hint="Four headings; the limit, the number, what failed, what is a guess.",
        cases=[Case((), [])],
        run=lambda answer: faults(str(answer)),
    ),
)
