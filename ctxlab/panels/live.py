"""A chart that a slider can move, and that still prints as its sentence.

It keeps its traces, and sends the browser only what has changed in them, which is
quicker than drawing anew.

>>> from ctxlab.panels.charts import curves
>>> live = LiveChart(curves([1, 2], {"total": [10, 20]}))
>>> live.show(curves([1, 2], {"total": [10, 90]}))
>>> live
total: 10 at 1 to 90 at 2

Needs ipywidgets and anywidget (extra `lab`). Lesson: 12_tune_on_a_transcript.
"""

from ctxlab.panels.charts import Chart
from ctxlab.panels.fitted import FittedFigure, flat


class LiveChart(FittedFigure):
    """A widget that shows one chart after another, in place.

    Args:
        chart: The first one.
    """

    def __init__(self, chart: Chart) -> None:
        super().__init__(chart.figure, chart.sentence)

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
        self.redraw(*flat(chart.figure))
        self._sentence = chart.sentence
