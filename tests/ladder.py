"""The ladder as eight constructor calls, and what one climb of it leaves behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from ctxlab.calibration import (
    CappedRatioCalibration,
    LinearCalibration,
    RatioCalibration,
)
from ctxlab.lab import FactKeeper, Replay, Transcript, load_transcript, replay
from ctxlab.lab.ladder import lone_results, opening
from ctxlab.middleware import (
    HandoffSummarizationMiddleware,
    NaiveSummarizationMiddleware,
    RequestOnlySummarizationMiddleware,
    builtin_summarization,
)

TRIGGER, KEEP = 12_288, 6_000  # tokens, of the Chinese conversation


def request_only(model: Any, **settings: Any) -> RequestOnlySummarizationMiddleware:
    """Return a step that forgets its summary after every call."""
    return RequestOnlySummarizationMiddleware(model, remember=False, **settings)


MESSAGES = {"keep": ("messages", 20)}
# The table of the ladder, in its own words; a stage may ask for smaller sizes.
STEPS: dict[int, Callable[..., Any]] = {
    0: lambda model: None,
    1: lambda model, **sizes: NaiveSummarizationMiddleware(model, **sizes),
    2: lambda model, **sizes: builtin_summarization(model, **sizes),
    3: lambda model, **sizes: HandoffSummarizationMiddleware(model, **sizes),
    4: lambda model, **sizes: request_only(
        model, calibration=RatioCalibration(), **{**sizes, **MESSAGES}
    ),
    5: lambda model, **sizes: request_only(
        model, calibration=CappedRatioCalibration(), **{**sizes, **MESSAGES}
    ),
    6: lambda model, **sizes: request_only(
        model, calibration=LinearCalibration(), **{**sizes, **MESSAGES}
    ),
    7: lambda model, **sizes: request_only(
        model,
        calibration=LinearCalibration(),
        **{"keep": ("tokens", 24_000), **sizes},
    ),
    8: lambda model, **sizes: RequestOnlySummarizationMiddleware(model, **sizes),
}


@dataclass(frozen=True)
class Stage:
    """A conversation and its provider: tokens of the window, tokens unseen.

    `rewriting` are sizes for steps 1 to 3, `requesting` for 4 to 8; none: the defaults.
    """

    transcript: Transcript
    window: int
    overhead: int
    rewriting: dict[str, Any] = field(default_factory=dict)
    requesting: dict[str, Any] = field(default_factory=dict)

    def sizes(self, step: int) -> dict[str, Any]:
        return (self.rewriting if step < 4 else self.requesting) if step else {}


@cache
def stage(name: str) -> Stage:
    transcript = load_transcript(name)
    if name == "chinese_support":  # a quarter of it, and of every size in tokens
        return Stage(
            opening(transcript, 102),
            window=13_000,
            overhead=3_500,
            rewriting={"trigger": [("tokens", 4_500), ("messages", 60)]},
            requesting={
                "trigger": ("tokens", TRIGGER),
                "keep": ("tokens", KEEP),
                "summary_chunk_tokens": 3_000,
            },
        )
    return Stage(transcript, window=65_536, overhead=6_000)


@cache
def climbed(step: int, name: str) -> Replay:
    """Return the replay of a conversation on a step; made once, do not change it."""
    on = stage(name)
    language = "zh" if on.transcript.language == "zh" else "en"
    writer = FactKeeper(on.transcript.facts, language=language)
    middleware = STEPS[step](writer, **on.sizes(step))
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
