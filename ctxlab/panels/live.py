"""A chart that a slider can move, and that still prints as its sentence.

`plotly.FigureWidget` prints random ids, which no strict notebook test can compare;
`LiveChart` prints what the chart says instead. It keeps its traces and replaces
their data, which is quicker than drawing anew.

>>> from ctxlab.panels.charts import curves
>>> live = LiveChart(curves([1, 2], {"total": [10, 20]}))
>>> live.show(curves([1, 2], {"total": [10, 90]}))
>>> live
total: 10 at 1 to 90 at 2

Needs ipywidgets and anywidget (extra `lab`). Lesson: 12_tune_on_a_transcript.
"""

from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab.panels.charts import Chart


class LiveChart(go.FigureWidget):  # type: ignore[misc]
    """A widget that shows one chart after another, in place."""

    def __init__(self, chart: Chart) -> None:
        super().__init__(chart.figure)
        self._sentence = chart.sentence

    def show(self, chart: Chart) -> None:
        """Replace what is drawn by another chart of the same form.

        Raises:
            ValueError: The other chart has another number of traces.
        """
        if len(chart.figure.data) != len(self.data):
            raise ValueError(
                f"this chart draws {len(self.data)} traces, the new one "
                f"{len(chart.figure.data)}; make a new LiveChart"
            )
        with self.batch_update():
            for mine, new in zip(self.data, chart.figure.data, strict=True):
                mine.update(new.to_plotly_json(), overwrite=False)
            self.layout.shapes = chart.figure.layout.shapes
            self.layout.yaxis.range = chart.figure.layout.yaxis.range
        self._sentence = chart.sentence

    def __repr__(self) -> str:
        return self._sentence

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(*args, **kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = repr(self)
        return bundle
