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

import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab.panels.charts import EVENTS, say_timeline, timeline
from ctxlab.panels.vocabulary import KINDS
from ctxlab.records import CallRecord

HEIGHT = 330
EVENT_OF = {"compact": "compaction", "recover": "compaction", "refuse": "refusal"}
ROOM = 1.12


class TunerChart(go.FigureWidget):  # type: ignore[misc]
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
        super().__init__(timeline(calls, lines=lines).figure)
        self.update_layout(height=HEIGHT, bargap=0.05, hovermode="x")
        self._drawn_lines = dict(lines)
        self._sentence = str(say_timeline(self, "call"))
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
                if trace.x is None or tuple(trace.x) != tuple(places):
                    trace.x = places
                if trace.y is None or tuple(trace.y) != tuple(tokens):
                    trace.update(y=tokens, showlegend=any(tokens))
            for trace, (name, _) in zip(self.data[len(KINDS) :], EVENTS, strict=True):
                at = [n for n in places if EVENT_OF.get(calls[n - 1].action) == name]
                tops = [totals[n - 1] + 0.05 * max(totals) for n in at]
                trace.update(x=at, y=tops, showlegend=bool(at))
            if dict(lines) != self._drawn_lines:
                self.layout.shapes = timeline([], lines=lines).figure.layout.shapes
                self._drawn_lines = dict(lines)
            self.layout.yaxis.range = [0, ROOM * top]
        self._sentence = say_timeline(self, "call")

    @property
    def sentence(self) -> str:
        """What the chart shows, in one line."""
        return self._sentence

    def __repr__(self) -> str:
        return self._sentence

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        return with_sentence(super()._repr_mimebundle_(*args, **kwargs), repr(self))


def with_sentence(bundle: Any, sentence: str) -> Any:
    """Return a widget's mime bundle with a sentence as its text form."""
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    if data is not None:
        data["text/plain"] = sentence
    return bundle


def _tell(clicked: Callable[[int], Any], points: Any) -> None:
    if points.xs:
        clicked(int(points.xs[0]) - 1)
