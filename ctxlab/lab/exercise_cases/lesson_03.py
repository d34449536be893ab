"""Exercises of lesson 03: LangChain's class, its names and its trim."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages

from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.transcripts import load_transcript
from ctxlab.middleware.builtin import NEW_NAMES
from ctxlab.tokens import ApproximateCounter


def _counted() -> int:
    """What LangChain's rule counts of the last request of the lesson's Chinese chat."""
    chat = load_transcript("chinese_chat").messages[:149]
    return ApproximateCounter()(chat)


def _today(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under the names of today, each old one as a size with its unit."""
    new: dict[str, Any] = {}
    for name, value in settings.items():
        if name in NEW_NAMES:
            name, unit = NEW_NAMES[name]
            value = (unit, value)
        new[name] = value
    return new


def size(message: BaseMessage) -> int:
    """Count words: enough to see what fits.

    >>> size(HumanMessage("Where is it?"))
    3
    """
    return len(message.text.split())


def _shown(
    messages: list[BaseMessage], trim: int, size_of: Callable[[BaseMessage], int]
) -> list[BaseMessage]:
    """The newest messages that fit, from the first user's message among them on."""

    def count(several: Sequence[BaseMessage]) -> int:
        return sum(map(size_of, several))

    return trim_messages(
        messages,
        max_tokens=trim,
        token_counter=count,
        strategy="last",
        start_on="human",
    )


_CHAT: list[BaseMessage] = [
    HumanMessage("one two three"),
    AIMessage("four five"),
    HumanMessage("six"),
    AIMessage("seven eight nine ten"),
]
_GAP: list[BaseMessage] = [
    HumanMessage("one"),
    AIMessage("two three four five six seven"),
    HumanMessage("eight"),
]
_LOOP: list[BaseMessage] = [
    HumanMessage("audit it"),
    AIMessage("first step"),
    AIMessage("second step"),
    AIMessage("third step"),
]

EXERCISES = (
    Prediction(
        "3.p",
        "a Chinese chat of 75 calls: what does LangChain's rule count at the end?",
        hint="Four characters a token; a Chinese character costs about a token or two.",
        answer=_counted,
        within=0.25,
    ),
    Exercise(
        "3.1",
        "write settings of before langchain 1.0 under the names of today",
        hint="Two names have changed, and each value needs its unit.",
        cases=[
            Case(({"keep": ("messages", 8)},), _today),
            Case(({"messages_to_keep": 20},), _today),
            Case(({"max_tokens_before_summary": 4_000},), _today),
            Case(
                ({"max_tokens_before_summary": 4_000, "messages_to_keep": 20},), _today
            ),
            Case(({"trim_tokens_to_summarize": None, "messages_to_keep": 20},), _today),
        ],
    ),
    Exercise(
        "3.2",
        "say which messages the summary model is shown under a trim",
        hint="First take from the end while it fits, then drop up to a user's message.",
        cases=[
            Case((_LOOP, 4, size), _shown),
            Case((_LOOP, 8, size), _shown),
            Case((_CHAT, 4, size), _shown),
            Case((_CHAT, 5, size), _shown),
            Case((_GAP, 6, size), _shown),
            Case((_CHAT, 7, size), _shown),
            Case((_CHAT, 100, size), _shown),
        ],
    ),
)
