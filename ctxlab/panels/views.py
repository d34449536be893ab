"""What every call sends with and without memory, and what that costs: lesson 09.

A view that is remembered is used until its request is over the trigger again; one
that is forgotten is made anew by every call over the trigger.

>>> from ctxlab.lab.transcripts import load_transcript
>>> chat = load_transcript("mixed_scripts")
>>> sent(chat, trigger=8_000, keep=4_000)
60 calls, peak 8,273 at call 44, compactions at calls 10, 19, 42, 44, 45 and 60
>>> sent(chat, trigger=8_000, keep=4_000, remember=False)
60 calls, peak 8,273 at call 44, compactions at calls 10, 11, 12, 13, 14 … (51 in all)

Nothing is asked here: every summary has the size you name, and tokens are those of
`ScriptCounter`. Left out: shortened results, and the newest user message, which the
middleware keeps even where the cut passes it. Lesson: 09_summarize_the_request_only.
"""

import functools
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.boundaries import safe_cut
from ctxlab.history import HistoryMeter
from ctxlab.lab.replay_results import Replay, state_fingerprint
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.panels.charts import Chart, timeline
from ctxlab.summaries import is_summary
from ctxlab.tokens import ScriptCounter

TRIGGER, KEEP, SUMMARY = 10_000, 5_000, 1_000  # tokens
TRIES = (
    "Forget the view: how many calls now need a summary?",
    "Remember it again and raise keep: when is a second compaction needed?",
    "Back to the start: does a longer summary cost another compaction?",
)


class Story:
    """A transcript measured once, to be cut again and again.

    Args:
        transcript: The conversation.
    """

    def __init__(self, transcript: Transcript) -> None:
        counter = ScriptCounter()
        self._messages = transcript.messages
        self._history = HistoryMeter(counter).measure(transcript.messages)
        self.fixed = {
            "system": counter.text(transcript.system),
            "tools": counter.tools(transcript.tools),
        }
        #: A call sends the messages before its answer: one end for each call.
        self.ends = [
            at
            for at, message in enumerate(transcript.messages)
            if at and isinstance(message, AIMessage)
        ]

    def parts(self, cut: int, end: int, summary: int) -> dict[str, float]:
        """Return the tokens of a request by kind; the summary tells what is cut."""
        told = {"summary": float(summary)} if cut else {}
        return {**self._history.parts(cut, end), **self.fixed, **told}

    def cut(self, end: int, room: float) -> int:
        """Return where to cut so that the messages up to `end` take `room` tokens."""
        at = bisect_left(
            range(end - 1), -room, key=lambda start: -self._history.tokens(start, end)
        )
        return safe_cut(self._messages, at)


def sent(
    transcript: Transcript | Story,
    *,
    trigger: int = TRIGGER,
    keep: int = KEEP,
    summary: int = SUMMARY,
    remember: bool = True,
) -> Chart:
    """Draw what every call of a conversation sends.

    Args:
        transcript: The conversation, or one that is measured already.
        trigger: A request of so many tokens is compacted.
        keep: Most tokens of a request after that.
        summary: Tokens of a summary.
        remember: Use a view again; without, every call over the trigger makes one.

    Raises:
        ValueError: Not summary < keep < trigger.
    """
    if not summary < keep < trigger:
        raise ValueError(
            f"summary {summary:,}, keep {keep:,}, trigger {trigger:,}: "
            "each must be smaller than the next"
        )
    story = transcript if isinstance(transcript, Story) else Story(transcript)
    rows = _rows(story, trigger, keep, summary, remember)
    return timeline(rows, lines={"trigger": trigger, "keep": keep})


def _rows(
    story: Story, trigger: int, keep: int, summary: int, remember: bool
) -> Iterator[dict[str, Any]]:
    room = keep - summary - sum(story.fixed.values())
    cut = 0
    for end in story.ends:
        before = story.parts(cut, end, summary)
        over = sum(before.values()) >= trigger
        if over:
            cut = story.cut(end, room)
        parts = story.parts(cut, end, summary)
        yield {"parts": parts, "action": "compact" if over else "pass"}
        cut = cut if remember else 0


def prefix_changes(requests: Sequence[Sequence[BaseMessage]]) -> int:
    """Return how many requests do not begin with all of the request before them.

    >>> from langchain_core.messages import HumanMessage
    >>> one, two, three = map(HumanMessage, ["one", "two", "three"])
    >>> prefix_changes([[one], [one, two], [two, three], [two, three]])
    1
    """
    return sum(list(new[: len(old)]) != list(old) for old, new in pairwise(requests))


def costs(lived: Replay) -> dict[str, int]:
    """Return what a replay paid: summaries, tokens sent for them, tokens not cached.

    Tokens are billed ones: those of the summary model's requests, and those of the
    answered requests that the provider did not find in its prompt cache.
    """
    written = sum(row["summaries"] for row in lived.rows())
    asked, sent_to = lived.summary_calls[:written], lived.exchanges
    return {
        "summaries": len(asked),
        "tokens for them": sum(
            math.ceil(lived.summary_model.bill(request)) for request in asked
        ),
        "not cached": sum(
            each.input_tokens - each.cached_tokens
            for each in sent_to
            if each.error is None
        ),
        "prefix changes": prefix_changes([each.messages for each in sent_to]),
    }


def stored(lived: Replay) -> dict[str, Any]:
    """Return what stands in the checkpoint after a replay."""
    found, recorded = lived.state_messages, lived.transcript.messages
    return {
        "messages": len(found),
        "summaries": sum(map(is_summary, found)),
        "as recorded": state_fingerprint(found) == state_fingerprint(recorded),
    }


def request_through(middleware: Any, messages: Sequence[BaseMessage]) -> list[Any]:
    """Return the messages that a middleware sends for a history, system prompt aside.

    No agent runs: the middleware's `wrap_model_call` is asked by hand.
    """
    seen: list[Any] = []

    def provider(request: ModelRequest[Any]) -> ModelResponse[Any]:
        seen.extend(request.messages)
        return ModelResponse([AIMessage("Understood.")])

    history: list[Any] = list(messages)
    request: ModelRequest[Any] = ModelRequest(
        model=SimulatedChatModel(), messages=history
    )
    middleware.wrap_model_call(request, provider)
    return seen


def views_panel(transcript: Transcript) -> Any:
    """Return the panel: memory on and off, trigger, keep, size of a summary."""
    from ipywidgets import Checkbox, IntSlider  # type: ignore[import-untyped]

    from ctxlab.panels.knobs import Panel

    slider = functools.partial(IntSlider, readout_format=",")
    return Panel(
        functools.partial(sent, Story(transcript)),
        {
            "remember": Checkbox(True, description="remember the view"),
            "trigger": slider(TRIGGER, 8_000, 16_000, 500, description="trigger"),
            "keep": slider(KEEP, 2_500, 7_500, 500, description="keep"),
            "summary": slider(SUMMARY, 250, 2_000, 250, description="summary"),
        },
        tries=TRIES,
    )
