"""The panel of lesson 04: where a cut falls, and what it keeps.

>>> from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
>>> call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
>>> chat = [HumanMessage("Where is it?"), call, ToolMessage("Here.", tool_call_id="c1")]
>>> cut_chart(chat, keep=1).sentence.partition("; ")[0]
'3 messages, keep 1: a cut at 2 splits a pair, so it moves to 1'
>>> cut_chart(chat, keep=2)
3 messages, keep 2: a cut at 1 splits nothing; 2 messages stay, 33 tokens

Left out: pins, and the newest user message, which stays wherever the cut falls.
Lesson: 04_write_a_handoff.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from langchain_core.messages import BaseMessage

from ctxlab.boundaries import safe_cut
from ctxlab.panels.charts import GREY, GRID, Chart
from ctxlab.panels.vocabulary import KINDS, Kind, kind_of
from ctxlab.tokens import ScriptCounter, TokenCounter

PALE = 0.35
TRIES = (
    "Keep 1 to 12: how many of these cuts split a pair?",
    "Find a keep at which the safe cut keeps two messages more than you asked for. "
    "Which letters are they?",
    "Set the messages to 49 and keep to 2. One bar towers: what does keeping it cost?",
)


def cut_chart(
    messages: Sequence[BaseMessage],
    keep: int = 8,
    so_far: int | None = None,
    counter: TokenCounter | None = None,
) -> Chart:
    """Draw messages as bars, those before the safe cut pale.

    Args:
        messages: The conversation, oldest first.
        keep: Newest messages to keep.
        so_far: Length of the conversation, in messages; all by default.
        counter: Counts tokens; default `ScriptCounter()`.
    """
    chat = list(messages[:so_far])
    wanted = max(0, len(chat) - keep)
    safe = safe_cut(chat, wanted)
    size = (counter or ScriptCounter()).message
    tokens = [max(1, round(size(message))) for message in chat]
    kinds = [kind_of(message) for message in chat]
    figure = go.Figure([_bars(kind, kinds, tokens, safe) for kind in KINDS])
    _style(figure, max(tokens, default=1))
    for name, at, dash in (("wanted", wanted, "dot"), ("safe", safe, "solid")):
        line = {"color": GREY, "dash": dash, "width": 2}
        text = "" if name == "wanted" and wanted == safe else name
        label = {"text": text, "textposition": "end", "font_color": GREY}
        figure.add_vline(x=at - 0.5, name=name, line=line, label=label)
    return Chart(figure, lambda shown: _say(shown, len(chat)))


def cut_panel(messages: Sequence[BaseMessage]) -> Any:
    """Return `cut_chart` under two knobs: keep, and the messages so far."""
    from ipywidgets import IntSlider  # type: ignore[import-untyped]

    from ctxlab.panels.knobs import Panel

    most = len(messages)
    knobs = {
        "keep": IntSlider(8, 1, min(24, most), description="keep, messages"),
        "so_far": IntSlider(most, 2, most, description="messages so far"),
    }
    return Panel(functools.partial(cut_chart, messages), knobs, TRIES)


def _bars(kind: Kind, kinds: list[Kind], tokens: list[int], safe: int) -> go.Bar:
    places = [at for at, of in enumerate(kinds) if of is kind]
    return go.Bar(
        x=places,
        y=[tokens[at] for at in places],
        name=f"{kind.letter} {kind.name}",
        text=[kind.letter] * len(places),
        textposition="outside",
        cliponaxis=False,
        marker_color=kind.colour,
        marker_opacity=[1 if at >= safe else PALE for at in places],
        width=0.8,
        showlegend=bool(places),
        hovertemplate="message %{x}: %{y:,} tokens",
    )


def _style(figure: go.Figure, highest: int) -> None:
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID}
    figure.update_layout(
        template="none",
        barmode="overlay",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font_color=GREY,
        height=340,
        margin={"l": 60, "r": 20, "t": 20, "b": 90},
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        xaxis={**axis, "title": {"text": "message", "standoff": 4}},
        yaxis={
            **axis,
            "title": "tokens, log scale",
            "type": "log",
            "dtick": 1,
            "range": [0, math.log10(highest) + 0.3],
        },
    )


def _say(figure: go.Figure, count: int) -> str:
    cuts = {shape.name: round(shape.x0 + 0.5) for shape in figure.layout.shapes}
    wanted, safe = cuts["wanted"], cuts["safe"]
    kept = [
        tokens
        for bars in figure.data
        for tokens, opacity in zip(bars.y, bars.marker.opacity, strict=True)
        if opacity == 1
    ]
    moved = f"splits a pair, so it moves to {safe}"
    stay = "1 message stays" if len(kept) == 1 else f"{len(kept)} messages stay"
    return (
        f"{count} messages, keep {count - wanted}: a cut at {wanted} "
        f"{moved if safe < wanted else 'splits nothing'}; "
        f"{stay}, {sum(kept):,} tokens"
    )
