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
        drawn.figure.update_layout(height=HEIGHT, bargap=0.05, hovermode="x")
        super().__init__(drawn.figure, drawn.sentence)
        self._lines = dict(lines)
        if clicked:
            for trace in self.data:
                trace.on_click(lambda _, points, __: _tell(clicked, points))

    def show(self, calls: Sequence[CallRecord], lines: Mapping[str, int]) -> None:
        """Draw other calls and other lines, in place."""
        places = list(range(1, len(calls) + 1))
        columns = [[call.parts.get(kind.name, 0) for call in calls] for kind in KINDS]
        totals = [sum(column) for column in zip(*columns, strict=True)]
        top = max([*totals, *lines.values(), 1])
        with self.batch_update():
            for trace, tokens in zip(self.data, columns, strict=False):
                _move(trace, places, tokens, any(tokens))
            for trace, (name, _) in zip(self.data[len(KINDS) :], EVENTS, strict=True):
                at = [n for n in places if EVENT_OF.get(calls[n - 1].action) == name]
                tops = [totals[n - 1] + 0.05 * max(totals) for n in at]
                _move(trace, at, tops, bool(at))
            self._draw_lines(dict(lines))
            self.layout.yaxis.range = [0, ROOM * top]
        self._sentence = say_timeline(self, "call")

    def _draw_lines(self, lines: dict[str, int]) -> None:
        """Move the lines; draw them anew only where there are others."""
        if list(lines) != list(self._lines):
            self.layout.shapes = levels(lines)
        elif lines != self._lines:
            for shape, moved in zip(self.layout.shapes, levels(lines), strict=True):
                if shape.y0 != moved["y0"]:
                    shape.y0 = shape.y1 = moved["y0"]
                    shape.label.text = moved["label"]["text"]
        self._lines = lines


def _move(trace: Any, places: list[int], tokens: list[Any], named: bool) -> None:
    """Give a trace its values and its name in the legend; send only what is new."""
    for name, value in (("x", places), ("y", tokens), ("showlegend", named)):
        now = trace[name]
        if value != (list(now) if isinstance(value, list) and now is not None else now):
            trace[name] = value


def _tell(clicked: Callable[[int], Any], points: Any) -> None:
    if points.xs:
        clicked(int(points.xs[0]) - 1)
