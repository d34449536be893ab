"""Knobs above a chart: the frame that the small panels share.

A panel is a plain function that draws a chart, and a widget for each of its
arguments. Moving a knob calls the function; no model is asked. Whoever has no
widgets calls the function.

>>> import ipywidgets
>>> from ctxlab.panels.charts import curves
>>> def double(tokens):
...     return curves([0, 1], {"twice": [0, 2 * tokens]})
>>> panel = Panel(double, {"tokens": ipywidgets.IntSlider(5)})
>>> panel
twice: 0 at 0 to 10 at 1
>>> panel.knobs["tokens"].value = 7
>>> panel
twice: 0 at 0 to 14 at 1

Needs ipywidgets and anywidget (extra `lab`). Left out: what is drawn (`counting`,
`calibration`). Lesson: 05_count_every_script.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from ctxlab.panels.charts import Chart
from ctxlab.panels.live import LiveChart

KNOB_WIDTH = "340px"


class Panel(widgets.VBox):  # type: ignore[misc]
    """Knobs, a reset button, the chart's sentence, the chart, and what to try.

    Args:
        draw: Draws a chart from the values of the knobs, given by name.
        knobs: A widget with a `value` for each argument of `draw`.
        tries: Questions that moving the knobs answers.
    """

    def __init__(
        self,
        draw: Callable[..., Chart],
        knobs: Mapping[str, Any],
        tries: Sequence[str] = (),
    ) -> None:
        self._draw, self.knobs = draw, dict(knobs)
        self._defaults = self.values()
        chart = draw(**self._defaults)
        self.chart = LiveChart(chart)
        self.said = widgets.HTML(escape(chart.sentence))
        self.said.add_class("ctxlab-said")
        reset = widgets.Button(description="Reset", layout={"width": "80px"})
        reset.on_click(self.reset)
        for knob in self.knobs.values():
            knob.style.description_width = "initial"
            knob.layout.width = KNOB_WIDTH
            if isinstance(knob, widgets.IntSlider):
                knob.readout_format = ","  # 65,536 as in the text
            knob.observe(self._redraw, names="value")
        self._held = False
        row = widgets.HBox([*self.knobs.values(), reset], layout={"flex_flow": "wrap"})
        asked = "".join(f"<li>{escape(question)}</li>" for question in tries)
        below = [widgets.HTML(f"Try: <ol>{asked}</ol>")] if tries else []
        super().__init__([row, self.said, self.chart, *below])

    def values(self) -> dict[str, Any]:
        """Return what the knobs say, by name."""
        return {name: knob.value for name, knob in self.knobs.items()}

    def reset(self, _: Any = None) -> None:
        """Put every knob back; draw once."""
        self._held = True
        for name, value in self._defaults.items():
            self.knobs[name].value = value
        self._held = False
        self._redraw()

    def _redraw(self, _: Any = None) -> None:
        if not self._held:
            chart = self._draw(**self.values())
            self.chart.show(chart)
            self.said.value = escape(chart.sentence)

    def __repr__(self) -> str:
        return repr(self.chart)

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(*args, **kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = repr(self)  # ipywidgets would cut it off
        return bundle
