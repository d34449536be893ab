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

TITLES = {"tokens": "tokens paid, summaries included", "cost": "cost"}


def frontier(swept: Sweep, by: str = "tokens") -> Chart:
    """Draw each configuration of a sweep by what it costs and what it leaves.

    Rows with failed turns are crosses; those that no other beats are joined.

    Args:
        swept: The sweep.
        by: What is paid; see `Sweep.frontier`.
    """
    best = sorted(swept.frontier(by), key=lambda row: (row[by], row["peak_tokens"]))
    others = [row for row in swept.rows if row not in best]
    traces = [
        _points(
            by, "beaten", [r for r in others if not r["failed"]], "circle-open", GREY
        ),
        _points(by, "turns failed", [r for r in others if r["failed"]], "x", GREY),
        _points(
            by, "frontier", best, "circle", kind_of("user").colour, mode="lines+markers"
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
        xaxis={**axis, "title": TITLES.get(by, by)},
        yaxis={**axis, "title": "tokens left at the peak"},
    )
    return Chart(figure, lambda drawn: _say(drawn, by))


def _points(
    by: str, name: str, rows: list[Any], symbol: str, colour: str, mode: str = "markers"
) -> go.Scatter:
    return go.Scatter(
        x=[row[by] for row in rows],
        y=[row["headroom_tokens"] for row in rows],
        text=[f"{row['transcript']}: {json.dumps(row['settings'])}" for row in rows],
        name=name,
        mode=mode,
        marker={"symbol": symbol, "size": 9, "color": colour},
        line={"color": colour},
        showlegend=bool(rows),
    )


def _say(figure: go.Figure, by: str) -> str:
    beaten, failed, best = figure.data
    count = len(beaten.x) + len(failed.x) + len(best.x)
    said = f"{count} configurations, {len(best.x)} on the frontier"
    if failed.x:
        said += f", {len(failed.x)} with failed turns"
    if not best.x:
        return said
    said += f", from {_paid(best.x[0], by)} with {best.y[0]:,} left"
    if len(best.x) > 1:
        said += f" to {_paid(best.x[-1], by)} with {best.y[-1]:,}"
    return said


def _paid(amount: float, by: str) -> str:
    return f"{amount:,.3f} ({by})" if isinstance(amount, float) else f"{amount:,} {by}"
