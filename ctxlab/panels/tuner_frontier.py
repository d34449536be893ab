"""The frontier of a sweep: tokens paid against room left.

>>> row = {"failed": 0, "transcript": "t", "peak_tokens": 100}
>>> cheap = {**row, "tokens": 900, "headroom_tokens": 50, "settings": {"keep": 1}}
>>> worse = {**row, "tokens": 950, "headroom_tokens": 50, "settings": {"keep": 2}}
>>> frontier(Sweep([cheap, worse]))
2 configurations, 1 on the frontier, from 900 tokens with 50 left

Left out: more than two goals at once. Lesson: 12_tune_on_a_transcript.
"""

import json
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab.lab.sweeps import Sweep
from ctxlab.panels.charts import GREY, GRID, Chart
from ctxlab.panels.vocabulary import kind_of


def frontier(swept: Sweep) -> Chart:
    """Draw each configuration of a sweep by the tokens it costs and leaves.

    Rows with failed turns are crosses; those that no other beats are joined.
    """
    best = sorted(swept.frontier(), key=lambda row: row["tokens"])
    others = [row for row in swept.rows if row not in best]
    traces = [
        _points("beaten", [r for r in others if not r["failed"]], "circle-open", GREY),
        _points("turns failed", [r for r in others if r["failed"]], "x", GREY),
        _points(
            "frontier", best, "circle", kind_of("user").colour, mode="lines+markers"
        ),
    ]
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID}
    figure = go.Figure(traces)
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font_color=GREY,
        height=360,
        margin={"l": 80, "r": 20, "t": 20, "b": 60},
        xaxis={**axis, "title": "tokens paid, summaries included"},
        yaxis={**axis, "title": "tokens left at the peak"},
    )
    return Chart(figure, _say)


def _points(
    name: str, rows: list[Any], symbol: str, colour: str, mode: str = "markers"
) -> go.Scatter:
    return go.Scatter(
        x=[row["tokens"] for row in rows],
        y=[row["headroom_tokens"] for row in rows],
        text=[f"{row['transcript']}: {json.dumps(row['settings'])}" for row in rows],
        name=name,
        mode=mode,
        marker={"symbol": symbol, "size": 9, "color": colour},
        line={"color": colour},
        showlegend=bool(rows),
    )


def _say(figure: go.Figure) -> str:
    beaten, failed, best = figure.data
    count = len(beaten.x) + len(failed.x) + len(best.x)
    said = f"{count} configurations, {len(best.x)} on the frontier"
    if failed.x:
        said += f", {len(failed.x)} with failed turns"
    if not best.x:
        return said
    said += f", from {best.x[0]:,} tokens with {best.y[0]:,} left"
    if len(best.x) > 1:
        said += f" to {best.x[-1]:,} with {best.y[-1]:,}"
    return said
