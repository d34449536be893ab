"""The timeline of the tuner: drawn once, then changed in place.

It says in a sentence what it shows, and tells a listener which call was clicked. Each
kind of content is one stepped area instead of a bar for every call, and the legend is
text beside the chart (`LEGEND`): of 400 calls a browser redraws the areas in a quarter
of the time.

>>> from ctxlab.records import CallRecord
>>> from ctxlab.estimates import Estimate
>>> call = CallRecord("pass", {"user": 90}, Estimate(local=90, fixed=0, configured=90))
>>> drawn = TunerChart([call], {"limit": 100})
>>> drawn.show([call, call], {"limit": 80})
>>> drawn
2 calls, peak 90 of 80 at call 1

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab.panels.charts import EVENT_OF, EVENTS, levels, say_timeline, timeline
from ctxlab.panels.fitted import FittedFigure
from ctxlab.panels.vocabulary import KINDS
from ctxlab.records import CallRecord

HEIGHT = 330
ROOM = 1.12
EDGE = 0.49  # calls: so far an area goes beyond the first call and the last
LEGEND = '<div style="color: var(--jp-ui-font-color1, inherit)">{}</div>'.format(
    " &ensp; ".join(
        [f'<span style="color:{k.colour}">■</span> {k.letter} {k.name}' for k in KINDS]
        + [f"{sign} {name}" for sign, (name, _) in zip("▼✕", EVENTS, strict=True)]
    )
)


class TunerChart(FittedFigure):
    """A timeline of calls that knobs can move.

    Args:
        calls: One record a call.
        lines: Levels to draw across, in tokens.
        clicked: Told the index of a call that was clicked.
    """

    def __init__(
        self,
        calls: Sequence[CallRecord],
        lines: Mapping[str, int],
        clicked: Callable[[int], Any] | None = None,
    ) -> None:
        drawn = timeline(calls, lines=lines).figure
        layout = drawn.layout.update(height=HEIGHT, hovermode="x", showlegend=False)
        layout.hoverdistance = -1  # a call is found anywhere in its step
        layout.margin.update(l=70, b=45)
        layout.xaxis.update(range=_across(len(calls)), hoverformat=".0f")
        layout.yaxis.automargin = False
        marks = drawn.data[len(KINDS) :]
        for mark in marks:
            mark.hoverinfo = "skip"  # or the nearest would be shown, however far
        drawn = go.Figure([*map(_area, drawn.data[: len(KINDS)]), *marks], layout)
        super().__init__(drawn, say_timeline(drawn, "call"))
        if clicked:
            for trace in self.data:
                trace.on_click(lambda _, points, __: _tell(clicked, points))

    def show(self, calls: Sequence[CallRecord], lines: Mapping[str, int]) -> None:
        """Draw other calls and other lines, in place."""
        places = list(range(1, len(calls) + 1))
        columns = [[call.parts.get(kind.name, 0) for call in calls] for kind in KINDS]
        totals = [sum(column) for column in zip(*columns, strict=True)]
        top = max([*totals, *lines.values(), 1])
        traces = [_stepped(places, tokens) for tokens in columns]
        for name, _ in EVENTS:
            at = [n for n in places if EVENT_OF.get(calls[n - 1].action) == name]
            tops = [totals[n - 1] + 0.05 * max(totals) for n in at]
            traces.append({"x": at, "y": tops})
        layout = {
            "shapes": levels(lines),
            "xaxis.range": _across(len(calls)),
            "yaxis.range": [0, ROOM * top],
        }
        self.redraw(traces, layout)
        self._sentence = say_timeline(self, "call")


def _area(bar: go.Bar) -> go.Scatter:
    """Return bars, one beside the other, as one area; areas stand on each other."""
    return go.Scatter(
        name=bar.name,
        mode="lines",
        line={"shape": "hvh", "width": 0, "color": bar.marker.color},
        stackgroup="parts",
        fillcolor=bar.marker.color,
        hovertemplate=bar.hovertemplate,
        **_stepped(list(bar.x), list(bar.y)),
    )


def _stepped(places: list[int], tokens: list[int]) -> dict[str, list[Any]]:
    """Return the corners of an area that is a call wide at each place.

    >>> _stepped([1, 2], [90, 80])
    {'x': [0.51, 1, 2, 2.49], 'y': [90, 90, 80, 80]}
    """
    if not places:
        return {"x": [], "y": []}
    return {
        "x": [places[0] - EDGE, *places, places[-1] + EDGE],
        "y": [tokens[0], *tokens, tokens[-1]],
    }


def _across(calls: int) -> list[float]:
    """Return the range of the axis: two charts of one conversation stand aligned."""
    return [0.5, max(calls, 1) + 0.5]


def _tell(clicked: Callable[[int], Any], points: Any) -> None:
    if points.xs:
        clicked(round(points.xs[0]) - 1)
