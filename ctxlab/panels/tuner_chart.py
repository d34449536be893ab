"""The timeline of the tuner: drawn once, then changed in place.

It says in a sentence what it shows, and tells a listener which call was clicked.

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

from ctxlab.panels.charts import EVENTS, levels, say_timeline, timeline
from ctxlab.panels.fitted import FittedFigure
from ctxlab.panels.vocabulary import KINDS
from ctxlab.records import CallRecord

HEIGHT = 330
EVENT_OF = {"compact": "compaction", "recover": "compaction", "refuse": "refusal"}
ROOM = 1.12


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
        drawn = timeline(calls, lines=lines)
        drawn.figure.update_layout(height=HEIGHT, bargap=0, hovermode="x")
        drawn.figure.layout.xaxis.range = _across(len(calls))
        super().__init__(drawn.figure, drawn.sentence)
        if clicked:
            for trace in self.data:
                trace.on_click(lambda _, points, __: _tell(clicked, points))

    def show(self, calls: Sequence[CallRecord], lines: Mapping[str, int]) -> None:
        """Draw other calls and other lines, in place."""
        places = list(range(1, len(calls) + 1))
        columns = [[call.parts.get(kind.name, 0) for call in calls] for kind in KINDS]
        totals = [sum(column) for column in zip(*columns, strict=True)]
        top = max([*totals, *lines.values(), 1])
        traces = [(places, tokens, any(tokens)) for tokens in columns]
        for name, _ in EVENTS:
            at = [n for n in places if EVENT_OF.get(calls[n - 1].action) == name]
            tops = [totals[n - 1] + 0.05 * max(totals) for n in at]
            traces.append((at, tops, bool(at)))
        layout = {
            "shapes": levels(lines),
            "xaxis.range": _across(len(calls)),
            "yaxis.range": [0, ROOM * top],
        }
        names = ("x", "y", "showlegend")
        self.redraw([dict(zip(names, each, strict=True)) for each in traces], layout)
        self._sentence = say_timeline(self, "call")


def _across(calls: int) -> list[float]:
    """Return the range of the axis: two charts of one conversation stand aligned."""
    return [0.5, max(calls, 1) + 0.5]


def _tell(clicked: Callable[[int], Any], points: Any) -> None:
    if points.xs:
        clicked(int(points.xs[0]) - 1)
