"""The path of one request through the five layers, drawn: lesson 10.

>>> from ctxlab.lab.transcripts import load_transcript
>>> talk = load_transcript("engineering_tools")
>>> path(talk, history=8_000)
asked 8,080; sent 8,080, answered; calls to the provider: 1
>>> path(talk, history=8_000, newest=24_000)
asked 32,032, visible answer; calls to the provider: 0

Moving a knob asks no model: `protected.py` drives the chain itself, and grants its
wishes. Lesson: 10_protect_the_call.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from langchain_core.messages import AIMessage

from ctxlab.lab.transcripts import Transcript
from ctxlab.panels.charts import GREY, Chart, timeline
from ctxlab.panels.protected import HISTORY, NEWEST, TRIGGER, WINDOW, Desk, walk
from ctxlab.panels.tables import Table, table
from ctxlab.records import CallRecord

TRIES = (
    "Shorten the history step by step: where is no summary needed any more?",
    "Put it at 8,000 and raise the hidden tokens: what does the provider do, "
    "and how large is the second request?",
    "Raise the newest message over the window: which layers are still reached?",
)


@dataclass(frozen=True)
class Outcome:
    """What became of one protected call.

    Attributes:
        name: Name of the request.
        said: The answer that the user sees.
        record: The ledger entry of the call.
        calls: Number of calls to the provider.
        learned: Limits that errors stated, tokens by model name.
    """

    name: str
    said: AIMessage
    record: CallRecord
    calls: int
    learned: Mapping[str, int] = field(default_factory=dict)


def outcomes(*runs: Outcome) -> Table:
    """Put calls side by side: a row each; sizes are estimates in tokens."""
    return table(
        {
            "request": run.name,
            "action": run.record.action,
            "before": run.record.before_tokens,
            "after": run.record.after_tokens,
            "summaries": run.record.summary_calls,
            "dropped": run.record.dropped_messages,
            "calls": run.calls,
        }
        for run in runs
    )


def path(talk: Transcript | Desk, **sizes: int) -> Chart:
    """Draw what a request carries at each layer it reaches; sizes as for `walk`."""
    led = walk(talk, **sizes)
    lines = {
        "window": sizes.get("window", WINDOW),
        "trigger": sizes.get("trigger", TRIGGER),
    }
    figure = timeline(led.steps, lines=lines).figure
    names = _distinct([step["name"] for step in led.steps])
    for trace in figure.data:
        trace.x = names if trace.type == "bar" else []
    hidden = [step["hidden"] for step in led.steps]
    totals = [sum(step["parts"].values()) + step["hidden"] for step in led.steps]
    figure.add_bar(
        x=names, y=hidden, name="hidden", marker_color=GREY, showlegend=any(hidden)
    )
    figure.add_scatter(
        x=names,
        y=[round(total) for total in totals],
        text=[step["said"] for step in led.steps],
        mode="text",
        textposition="top center",
        textfont_color=GREY,
        showlegend=False,
        hoverinfo="skip",
        meta={"calls": led.calls},
    )
    top = max(*totals, *lines.values())
    figure.update_layout(
        xaxis_title=None, xaxis_type="category", yaxis_range=[0, 1.15 * top]
    )
    return Chart(figure, _say_path)


def protection_panel(transcript: Transcript) -> Any:
    """Return the panel: history, newest message, window, trigger, hidden tokens."""
    from ipywidgets import IntSlider  # type: ignore[import-untyped]

    from ctxlab.panels.knobs import Panel

    slider = functools.partial(IntSlider, step=1_000, readout_format=",")
    return Panel(
        functools.partial(path, Desk(transcript)),
        {
            "history": slider(HISTORY, 0, 40_000, description="history"),
            "newest": slider(NEWEST, 50, 30_050, description="newest message"),
            "window": slider(WINDOW, 8_192, 40_960, step=1_024, description="window"),
            "trigger": slider(TRIGGER, 4_000, 40_000, description="trigger"),
            "hidden": slider(0, 0, 12_000, description="hidden tokens"),
        },
        tries=TRIES,
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """A category axis would draw two bars of one name as one."""
    return [f"{name}{'′' * names[:n].count(name)}" for n, name in enumerate(names)]


def _say_path(figure: go.Figure) -> str:
    words = figure.data[-1]
    bars = [trace for trace in figure.data if trace.type == "bar"]
    sizes = [round(sum(column)) for column in zip(*(b.y for b in bars), strict=True)]
    said = [
        f"{name} {size:,}{', ' if word else ''}{word}"
        for name, size, word in zip(words.x, sizes, words.text, strict=True)
    ]
    return f"{'; '.join(said)}; calls to the provider: {words.meta['calls']}"
