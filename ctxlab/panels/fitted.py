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
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

# plotly redraws a "responsive" figure when the window says that it was resized.
# What it drew, plotly sends back after every change, 20 KB of it: Python knows.
# A widget shown in two cells is drawn twice at each move: a view that nobody sees
# waits, and notes what has changed, until it is scrolled to.
WATCH = """;
const view = VIEW.prototype;
view._sendTraceDeltas = view._sendLayoutDelta = () => {};
const update = view.do_update, waiting = new WeakMap();
const inSight = (place) => {
  const box = place.getBoundingClientRect();
  return box.width && box.bottom > 0 && box.top < window.innerHeight;
};
view.do_update = function () {
  if (inSight(this.el)) return update.call(this);
  const { style_data, layout_data } = this.model.get("_py2js_update") ?? {};
  const missed = waiting.get(this.el) ?? { view: this, styles: {}, layouts: {} };
  Object.assign(missed.styles, style_data);
  Object.assign(missed.layouts, layout_data);
  waiting.set(this.el, missed);
};
const catchUp = (place) => {
  const missed = waiting.get(place);
  if (!missed || !waiting.delete(place)) return;
  const { model } = missed.view, traces = model.get("_widget_data");
  const style_data = {};
  for (const name in missed.styles)
    style_data[name] = traces.map((trace) => trace[name]);
  const all = { style_data, layout_data: missed.layouts };
  const everyTrace = () => traces.map((_, at) => at);
  const now = { get: () => all, _normalize_trace_indexes: everyTrace };
  update.call(Object.create(missed.view, { model: { value: now } }));
};
export default () => {
  const plotly = PLOTLY();
  const render = (context) => {
    const place = context.el;
    let width = 0;
    const resized = new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === width) return;
      width = contentRect.width;
      if (width) window.dispatchEvent(new Event("resize"));
    });
    const seen = new IntersectionObserver(() => inSight(place) && catchUp(place));
    resized.observe(place);
    seen.observe(place);
    const done = plotly.render(context);
    return () => { resized.disconnect(); seen.disconnect(); done(); };
  };
  return { ...plotly, render };
};
"""
_EXPORTS = re.compile(r"(\w+)( as FigureView),(\w+) as default\}")


class FittedFigure(go.FigureWidget):  # type: ignore[misc]
    """A figure widget that fits its place.

    Args:
        figure: What is drawn first.
        sentence: What it shows, in one line.
    """

    _esm = _EXPORTS.sub(
        lambda found: (
            f"{found[1]}{found[2]}}}"
            + WATCH.replace("VIEW", found[1]).replace("PLOTLY", found[3])
        ),
        str(go.FigureWidget._esm),
    )

    def __init__(self, figure: go.Figure, sentence: str) -> None:
        super().__init__(figure)
        self._config = {"responsive": True}
        self._sentence = sentence
        self._drawn = flat(figure)

    def redraw(
        self, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]
    ) -> None:
        """Draw other values in place; the browser is sent only what is new.

        One call for all of it: setting property after property takes plotly several
        times as long. The sentence is left to who calls.

        Args:
            traces: Properties of every trace, as plain data.
            layout: Properties of the layout by path: `yaxis.range`.
        """
        were, lay = self._drawn
        moved = [at for at, now in enumerate(traces) if _new(now, were[at])]
        names = sorted({name for at in moved for name in _new(traces[at], were[at])})
        self.plotly_update(
            {name: [traces[at].get(name) for at in moved] for name in names},
            _new(layout, lay),
            moved,
        )
        for was, now in zip(were, traces, strict=True):
            was.update(now)
        lay.update(layout)

    @property
    def sentence(self) -> str:
        """What the chart shows, in one line."""
        return self._sentence

    def __repr__(self) -> str:
        return self.sentence

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        return with_sentence(super()._repr_mimebundle_(*args, **kwargs), repr(self))


def flat(figure: go.Figure) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return traces, and the layout by paths such as `yaxis.range`, as plain data."""
    plain = figure.to_plotly_json()
    layout: dict[str, Any] = {}
    for name, value in plain["layout"].items():
        if name in ("xaxis", "yaxis"):
            layout |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            layout[name] = value
    return plain["data"], layout


def _new(now: Mapping[str, Any], was: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in now.items() if was.get(name) != value}


def with_sentence(bundle: Any, sentence: str) -> Any:
    """Return a widget's mime bundle with a sentence as its text form."""
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    if data is not None:
        data["text/plain"] = sentence
    return bundle
