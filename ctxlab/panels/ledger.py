"""The panel of lesson 01: what fills a window, turn by turn.

The largest request of a turn is its last: system prompt, tool schemas, and every
message so far. Take tools away or shorten results and see how long the window lasts.

>>> from ctxlab.lab.transcripts import load_transcript
>>> fill(load_transcript("order_desk"), window=400)
2 turns, peak 326 of 400 at turn 2
>>> fill(load_transcript("order_desk"), window=400, hidden=150)
2 turns, peak 326 of 250 at turn 2, refusals at turns 1 and 2

Nothing is asked here: tokens are those of `ScriptCounter`, not a provider's bill. Left
out: what compaction does about it (`ctxlab.panels.views`). Lesson: 01_fill_the_window.
"""

import functools
from itertools import accumulate
from typing import Any

from langchain_core.messages import AIMessage, SystemMessage

from ctxlab.history import HistoryMeter
from ctxlab.lab.transcripts import Transcript
from ctxlab.panels.charts import Chart, timeline
from ctxlab.tokens import ScriptCounter

WINDOW = 65_536
MOST_PER_RESULT = 17_000  # tokens; no recorded result is larger
TRIES = (
    "Twice the window: how many turns later is the first refusal?",
    "Take all tools away: how many turns does that buy?",
    "Cut every result to 500 tokens: does anything else buy as much?",
)


class Ledger:
    """A transcript measured once: the parts of any turn's largest request.

    Args:
        transcript: The conversation.
    """

    def __init__(self, transcript: Transcript) -> None:
        counter, messages = ScriptCounter(), transcript.messages
        self._history = HistoryMeter(counter).measure(messages)
        # The last message of a turn is its answer, which is not in its request.
        self._ends = [
            turn.stop - isinstance(messages[turn.stop - 1], AIMessage)
            for turn in transcript.turns()
        ]
        system = [SystemMessage(transcript.system)] if transcript.system else []
        self._system = float(sum(map(counter.message, system)))
        given = range(len(transcript.tools) + 1)
        self._tools = [counter.tools(transcript.tools[:n]) for n in given]
        self._results = [
            self._history.parts(at, at + 1)["results"] for at in range(len(messages))
        ]

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def tools(self) -> int:
        """How many tools the agent has."""
        return len(self._tools) - 1

    def rows(
        self, *, tools: int | None = None, most_per_result: int | None = None
    ) -> list[dict[str, float]]:
        """Return the tokens of each turn's largest request, by kind.

        Args:
            tools: Only the first of them are given to the model; None for all.
            most_per_result: Larger tool results are cut to so many tokens.
        """
        most = float("inf") if most_per_result is None else most_per_result
        results = list(accumulate((min(r, most) for r in self._results), initial=0.0))
        fixed = {
            "system": self._system,
            "tools": self._tools[self.tools if tools is None else tools],
        }
        return [
            {
                **self._history.parts(0, end),
                "results": results[end],
                **fixed,
            }
            for end in self._ends
        ]


def fill(
    transcript: Transcript | Ledger,
    *,
    window: int = WINDOW,
    hidden: int = 0,
    tools: int | None = None,
    most_per_result: int | None = None,
) -> Chart:
    """Draw how a conversation fills the window, one bar per turn.

    Args:
        transcript: The conversation, or one that is measured already.
        window: Most tokens that a request may have.
        hidden: Tokens in every request that nobody can count; the line that the bars
            must stay below is window less hidden.
        tools: Only the first of them are given to the model; None for all.
        most_per_result: Larger tool results are cut to so many tokens.
    """
    ledger = transcript if isinstance(transcript, Ledger) else Ledger(transcript)
    room = window - hidden
    calls = [
        {"parts": parts, "action": "refuse" if sum(parts.values()) > room else "pass"}
        for parts in ledger.rows(tools=tools, most_per_result=most_per_result)
    ]
    return timeline(calls, lines={"limit": room}, unit="turn")


def ledger_panel(transcript: Transcript) -> Any:
    """Return the panel: knobs for the window, hidden tokens, tools and results."""
    from ipywidgets import IntSlider  # type: ignore[import-untyped]

    from ctxlab.panels.knobs import Panel

    ledger = Ledger(transcript)
    slider = functools.partial(IntSlider, readout_format=",")
    most = slider(MOST_PER_RESULT, 250, MOST_PER_RESULT, 250)
    most.description = "most per result"
    return Panel(
        functools.partial(fill, ledger),
        {
            "window": slider(WINDOW, 8_192, 131_072, 8_192, description="window"),
            "hidden": slider(0, 0, 20_000, 1_000, description="hidden"),
            "tools": slider(ledger.tools, 0, ledger.tools, description="tools"),
            "most_per_result": most,
        },
        tries=TRIES,
    )
