"""A plotly widget that is as wide as its place, and prints as a sentence.

plotly's own widget takes its width once, before JupyterLab has laid its cell out: it
comes out 700 pixels wide, and stays so when a window or a side bar moves. This one
watches its place and tells plotly. And it prints what it shows instead of random ids,
which no strict notebook test could compare.

>>> from ctxlab.panels.charts import curves
>>> chart = curves([1, 2], {"total": [10, 20]})
>>> FittedFigure(chart.figure, chart.sentence)
total: 10 at 1 to 20 at 2

Needs ipywidgets and anywidget (extra `lab`). Lesson: 12_tune_on_a_transcript.
"""

import re
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

# plotly redraws a "responsive" figure when the window says that it was resized.
WATCH = """;
export default () => {
  const plotly = PLOTLY();
  const render = (context) => {
    let width = 0;
    const watch = new ResizeObserver(([place]) => {
      if (place.contentRect.width === width) return;
      width = place.contentRect.width;
      if (width) window.dispatchEvent(new Event("resize"));
    });
    watch.observe(context.el);
    const done = plotly.render(context);
    return () => { watch.disconnect(); done(); };
  };
  return { ...plotly, render };
};
"""
_DEFAULT = re.compile(r",(\w+) as default\}")


class FittedFigure(go.FigureWidget):  # type: ignore[misc]
    """A figure widget that fits its place.

    Args:
        figure: What is drawn first.
        sentence: What it shows, in one line.
    """

    _esm = _DEFAULT.sub(
        lambda found: "}" + WATCH.replace("PLOTLY", found[1]),
        str(go.FigureWidget._esm),
    )

    def __init__(self, figure: go.Figure, sentence: str) -> None:
        super().__init__(figure)
        self._config = {"responsive": True}
        self._sentence = sentence

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
