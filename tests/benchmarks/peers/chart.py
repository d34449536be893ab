"""A picture of a report: what each peer paid for, and what it failed at.

python -m tests.benchmarks.peers --chart peers.html
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ctxlab.panels.charts import GREY, GRID, Chart

COLOURS = {"uncached": "#d55e00", "cached": "#56b4e9", "summary": "#cc79a7"}


def chart(rows: Sequence[dict[str, Any]]) -> Chart:
    """Draw one panel a conversation: tokens of each peer, its failed turns behind."""
    names = list(dict.fromkeys(row["conversation"] for row in rows))
    figure = make_subplots(rows=len(names), cols=1, subplot_titles=names)
    for place, name in enumerate(names, start=1):
        mine = [row for row in rows if row["conversation"] == name]
        for kind, colour in COLOURS.items():
            figure.add_trace(_bar(mine, kind, colour, place == 1), row=place, col=1)
    figure.update_layout(
        barmode="stack",
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font_color=GREY,
        height=120 + 420 * len(names),
        margin={"l": 240},
        legend={"orientation": "h"},
    )
    figure.update_xaxes(gridcolor=GRID, title="tokens", separatethousands=True)
    figure.update_yaxes(autorange="reversed")
    return Chart(figure, _say)


def _bar(rows: list[dict[str, Any]], kind: str, colour: str, legend: bool) -> go.Bar:
    last = kind == list(COLOURS)[-1]
    return go.Bar(
        x=[row[kind] for row in rows],
        y=[row["peer"] for row in rows],
        orientation="h",
        name=kind,
        legendgroup=kind,
        showlegend=legend,
        marker_color=colour,
        text=[_failed(row) for row in rows] if last else None,
        textposition="outside",
        meta={"failed": [row["failed"] for row in rows]},
    )


def _failed(row: dict[str, Any]) -> str:
    return f"{row['failed']} failed" if row["failed"] else ""


def _say(figure: go.Figure) -> str:
    titles = [each.text for each in figure.layout.annotations]
    said = []
    for place, title in enumerate(titles):
        bar = figure.data[place * len(COLOURS)]
        well = [n for n, f in zip(bar.y, bar.meta["failed"], strict=True) if not f]
        said.append(f"{title}: no failed turn with {', '.join(well) or 'none'}")
    return "; ".join(said)


def write(rows: Sequence[dict[str, Any]], path: Path) -> Chart:
    """Write the chart as a page that needs no network; return it."""
    drawn = chart(rows)
    drawn.figure.write_html(path, include_plotlyjs=True)
    return drawn
