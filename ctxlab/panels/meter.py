"""A meter that draws itself while an agent runs: one bar a model call.

    meter = ContextMeter(limit=65_536)
    meter                                   # shown, empty
    agent = create_agent(model, tools, middleware=[
        RequestOnlySummarizationMiddleware(summary_model, on_call=meter)
    ])

>>> from ctxlab.estimates import Estimate
>>> meter = ContextMeter(limit=100)
>>> meter
no calls yet
>>> meter(CallRecord("pass", {"user": 90}, Estimate(local=90, fixed=0, configured=90)))
>>> meter
1 call, peak 90 of 100 at call 1

It is a plain listener: sync, async and streaming agents call it alike, and several
may at once. Left out: telling their calls apart (`CallRecord` does not name a
thread). Lesson: 14_ship_it.
"""

import threading
from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from ctxlab.panels.fitted import with_sentence
from ctxlab.panels.tuner_chart import LEGEND, TunerChart
from ctxlab.panels.tuner_text import parts_line, signals
from ctxlab.records import CallRecord


class ContextMeter(widgets.VBox):  # type: ignore[misc]
    """A listener for `on_call` that is a widget as well.

    Args:
        limit: Level to draw as the limit, in tokens; None for none.
        lines: Further levels by name, in tokens.
        most: Newest calls that are drawn; older ones scroll out, and stay in `calls`.

    Attributes:
        calls: Every record it was told, oldest first.
    """

    def __init__(
        self,
        limit: int | None = None,
        *,
        lines: Mapping[str, int] | None = None,
        most: int = 500,
    ) -> None:
        self.calls: list[CallRecord] = []
        self.lines = {**(lines or {}), **({"limit": limit} if limit else {})}
        self.most = most
        self._lock = threading.Lock()
        self.chart = TunerChart([], self.lines)
        self.newest = widgets.HTML()
        self.newest.add_class("ctxlab-newest")
        super().__init__([widgets.HTML(LEGEND), self.chart, self.newest])

    def __call__(self, record: CallRecord) -> None:
        """Take down one call and draw it."""
        with self._lock:
            self.calls.append(record)
            self.chart.show(self.calls[-self.most :], self.lines)
            self.newest.value = f"{record.action}: {parts_line(record)}<br>" + (
                signals(record)
            )

    def clear(self) -> None:
        """Forget every call."""
        with self._lock:
            self.calls.clear()
            self.chart.show([], self.lines)
            self.newest.value = ""

    def __repr__(self) -> str:
        return self.chart.sentence if self.calls else "no calls yet"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return with_sentence(super()._repr_mimebundle_(**kwargs), repr(self))
