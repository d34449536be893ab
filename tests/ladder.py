"""The ladder as eight constructor calls, and what one climb of it leaves behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.calibration import (
    CappedRatioCalibration,
    LinearCalibration,
    RatioCalibration,
)
from ctxlab.lab import FactKeeper, Replay, Transcript, load_transcript, replay
from ctxlab.middleware import (
    HandoffSummarizationMiddleware,
    NaiveSummarizationMiddleware,
    RequestOnlySummarizationMiddleware,
    builtin_summarization,
)

# The table of the ladder, in its own words.
STEPS: dict[int, Callable[[Any], Any]] = {
    0: lambda model: None,
    1: lambda model: NaiveSummarizationMiddleware(model),
    2: lambda model: builtin_summarization(model),
    3: lambda model: HandoffSummarizationMiddleware(model),
    4: lambda model: RequestOnlySummarizationMiddleware(
        model,
        remember=False,
        keep=("messages", 20),
        calibration=RatioCalibration(),
    ),
    5: lambda model: RequestOnlySummarizationMiddleware(
        model,
        remember=False,
        keep=("messages", 20),
        calibration=CappedRatioCalibration(),
    ),
    6: lambda model: RequestOnlySummarizationMiddleware(
        model,
        remember=False,
        keep=("messages", 20),
        calibration=LinearCalibration(),
    ),
    7: lambda model: RequestOnlySummarizationMiddleware(
        model,
        remember=False,
        keep=("tokens", 24_000),
        calibration=LinearCalibration(),
    ),
    8: lambda model: RequestOnlySummarizationMiddleware(model),
}


@dataclass(frozen=True)
class Stage:
    """A conversation and its provider: tokens of the window, tokens unseen."""

    transcript: Transcript
    window: int
    overhead: int


def opening(transcript: Transcript, messages: int) -> Transcript:
    """Return the first messages of a transcript, with the facts planted in them."""
    return Transcript(
        transcript.messages[:messages],
        transcript.tools,
        transcript.system,
        [fact for fact in transcript.facts if fact.message < messages],
        name=transcript.name,
        language=transcript.language,
    )


@cache
def stage(name: str) -> Stage:
    transcript = load_transcript(name)
    if name == "chinese_support":  # three quarters of it overflow just as well
        return Stage(opening(transcript, 300), window=52_000, overhead=14_000)
    return Stage(transcript, window=65_536, overhead=6_000)


@cache
def climbed(step: int, name: str) -> Replay:
    """Return the replay of a conversation on a step; made once, do not change it."""
    on = stage(name)
    language = "zh" if on.transcript.language == "zh" else "en"
    writer = FactKeeper(on.transcript.facts, language=language)
    middleware = STEPS[step](writer)
    return replay(
        on.transcript,
        [middleware] if middleware else [],
        window=on.window,
        overhead=on.overhead,
        summary_model=writer,
    )


def originals(lived: Replay) -> int:
    """Return how many messages of the conversation stand in the checkpoint."""
    ids = {message.id for message in lived.transcript.messages}
    return sum(message.id in ids for message in lived.state_messages)


def lone_results(messages: Sequence[BaseMessage]) -> list[str]:
    """Return ids of results without their call before them, as strict providers do."""
    called: set[str | None] = set()
    alone = []
    for message in messages:
        if isinstance(message, AIMessage):
            called.update(call["id"] for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and message.tool_call_id not in called:
            alone.append(message.tool_call_id)
    return alone


def malformed(lived: Replay) -> int:
    """Return how many requests a strict provider would have refused."""
    return sum(bool(lone_results(request)) for request in lived.answered)


def holds_verbatim(request: Sequence[BaseMessage], asked: str) -> bool:
    """Tell whether a user's message stands in a request word for word."""
    return any(isinstance(m, HumanMessage) and m.text == asked for m in request)


def actions(lived: Replay, action: str) -> list[Any]:
    """Return the call records in which this was the decisive layer."""
    return [record for record in lived.calls if record.action == action]


def errors(lived: Replay) -> list[float]:
    """Return by what share each estimate missed the bill, without its sign."""
    missed = [record.prediction_error for record in lived.calls]
    return [abs(error) for error in missed if error is not None]
