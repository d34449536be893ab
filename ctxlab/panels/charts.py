"""Charts that say in a sentence what they show.

A notebook test compares text, not pictures. So each chart's text form is a sentence
read back from the figure itself: move a bar and the sentence changes with it.

>>> calls = [
...     {"parts": {"system": 900, "user": tokens}, "action": action}
...     for tokens, action in [(100, "pass"), (8_000, "pass"), (600, "compact")]
... ]
>>> timeline(calls, lines={"limit": 10_000})
3 calls, peak 8,900 of 10,000 at call 2, compaction at call 3

Legible on a light and a dark page; labels are English, so no font is needed. Left
out: updates (`live.py`) and what a panel asks. Lesson: 01_fill_the_window.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab.panels.vocabulary import KINDS, Kind

GREY, GRID = "#888888", "rgba(128,128,128,0.3)"
_BELOW = {"yref": "container", "y": 0, "yanchor": "bottom"}  # under the axis title
#: What a marker above a bar means: (name, plotly symbol).
EVENTS = (("compaction", "triangle-down"), ("refusal", "x"))
EVENT_OF = {"compact": "compaction", "recover": "compaction", "refuse": "refusal"}


class Chart:
    """A plotly figure with a sentence as its text form.

    Args:
        figure: What is drawn.
        say: Reads the sentence from the figure, so that the two cannot differ.
    """

    def __init__(self, figure: go.Figure, say: Callable[[go.Figure], str]) -> None:
        self.figure = figure
        self._say = say

    @property
    def sentence(self) -> str:
        """What the chart shows, in one line."""
        return self._say(self.figure)

    def __repr__(self) -> str:
        return self.sentence

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {
            "application/vnd.plotly.v1+json": json.loads(self.figure.to_json()),
            "text/plain": self.sentence,
        }


def timeline(
    calls: Iterable[Any],
    *,
    lines: Mapping[str, float] | None = None,
    unit: str = "call",
) -> Chart:
    """Draw what each request carried, one stacked bar per model call.

    Args:
        calls: `CallRecord`s, or mappings with `parts` (tokens by name) and `action`.
        lines: Levels to draw across, in tokens, by name: trigger, keep, limit.
        unit: What one bar is: a call or a turn.
    """
    rows = [(_field(call, "parts"), _field(call, "action")) for call in calls]
    places = list(range(1, len(rows) + 1))
    bars = [_bar(kind, places, [parts for parts, _ in rows]) for kind in KINDS]
    found = [EVENT_OF.get(str(action)) for _, action in rows]
    events = [
        _event(name, symbol, [at for at in places if found[at - 1] == name], bars)
        for name, symbol in EVENTS
    ]
    figure = _styled([*bars, *events], x=unit, y="tokens in the request", lines=lines)
    figure.update_layout(barmode="stack", yaxis_range=[0, 1.12 * _top(figure)])
    return Chart(figure, lambda f: say_timeline(f, unit))


def composition(requests: Mapping[str, Mapping[str, float]]) -> Chart:
    """Draw what requests are made of: one bar per request, tokens by part name.

    >>> composition({"first": {"tools": 9_000, "user": 1_000}})
    first: 10,000 tokens (T 90 %, U 10 %)
    """
    names = list(requests)
    bars = []
    for kind in KINDS:
        tokens = [_rounded(parts.get(kind.name, 0)) for parts in requests.values()]
        bars.append(
            go.Bar(
                x=tokens,
                y=names,
                orientation="h",
                name=f"{kind.letter} {kind.name}",
                text=[kind.letter if value else "" for value in tokens],
                **{"insidetextanchor": "middle", "textangle": 0},  # never on its side
                marker_color=kind.colour,
                showlegend=any(tokens),
                meta={"letter": kind.letter},
            )
        )
    figure = _styled(bars, x="tokens in the request", y="", lines=None)
    figure.update_layout(barmode="stack", yaxis_autorange="reversed")
    figure.layout.height = max(360, 130 + 28 * len(names))  # bars as high as letters
    return Chart(figure, _say_composition)


def curves(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    *,
    points: Mapping[str, Sequence[float]] | None = None,
    lines: Mapping[str, float] | None = None,
    x_title: str = "call",
    y_title: str = "tokens",
) -> Chart:
    """Draw series over one axis: lines, and points for what was measured.

    >>> measured = {"billed": [11_136, 11_167]}
    >>> curves([18, 46], {"line": [11_097, 11_146]}, points=measured)
    line: 11,097 at 18 to 11,146 at 46; billed: 11,136 at 18 to 11,167 at 46
    """
    colours = [kind.colour for kind in KINDS[1:]]
    drawn = [(n, v, "lines") for n, v in series.items()]
    drawn += [(n, v, "markers") for n, v in (points or {}).items()]
    traces = [
        go.Scatter(
            x=list(x)[: len(values)],
            y=[_rounded(value) for value in values],
            name=name,
            mode=mode,
            line_dash=("solid", "dash", "dot")[at % 3],
            marker={"size": 9, "symbol": at},
            marker_color=colours[at % len(colours)],
        )
        for at, (name, values, mode) in enumerate(drawn)
    ]
    figure = _styled(traces, x=x_title, y=y_title, lines=lines)
    lowest = min((min(trace.y, default=0) for trace in traces), default=0)
    figure.update_layout(yaxis_range=[1.12 * min(0, lowest), 1.12 * _top(figure)])
    return Chart(figure, _say_curves)


def levels(lines: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return lines across a chart as plotly's shapes, in the order given.

    Neighbours have their names at different ends, so that close ones can be read.

    >>> [(line["name"], line["y0"]) for line in levels({"limit": 9_000})]
    [('limit', 9000)]
    """
    by_height = sorted(lines, key=lambda name: -lines[name])
    return [
        {
            "type": "line",
            "name": name,
            **{"xref": "x domain", "x0": 0, "x1": 1},
            **{"yref": "y", "y0": level, "y1": level},
            "line": {"color": GREY, "dash": "dash"},
            "label": {
                "text": f"{name} {level:,}",
                "textposition": ("start", "end")[by_height.index(name) % 2],
                "font": {"color": GREY},
            },
        }
        for name, level in lines.items()
    ]


def _bar(kind: Kind, places: list[int], parts: list[Mapping[str, float]]) -> go.Bar:
    tokens = [_rounded(of_call.get(kind.name, 0)) for of_call in parts]
    return go.Bar(
        x=places,
        y=tokens,
        name=f"{kind.letter} {kind.name}",
        marker_color=kind.colour,
        showlegend=any(tokens),
        hovertemplate="%{y:,.0f} tokens",
    )


def _event(name: str, symbol: str, places: list[int], bars: list[go.Bar]) -> go.Scatter:
    """Mark bars, a little above their tops."""
    totals = [sum(column) for column in zip(*(bar.y for bar in bars), strict=True)]
    gap = 0.05 * max(totals, default=0)
    return go.Scatter(
        x=places,
        y=[_rounded(totals[at - 1] + gap) for at in places],
        name=name,
        mode="markers",
        marker={"symbol": symbol, "size": 11, "color": GREY},
        showlegend=bool(places),
        hoverinfo="name",
    )


def _styled(
    traces: list[Any], *, x: str, y: str, lines: Mapping[str, float] | None
) -> go.Figure:
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID}
    figure = go.Figure(traces)
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font_color=GREY,
        height=360,
        margin={"l": 60, "r": 20, "t": 20, "b": 110},
        legend={"orientation": "h", "traceorder": "normal", **_BELOW},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GRID, "activecolor": GREY},
        xaxis={**axis, "title": {"text": x, "standoff": 4}, "separatethousands": True},
        yaxis={**axis, "title": y, "separatethousands": True, "automargin": True},
    )
    figure.layout.shapes = levels(lines or {})
    return figure


def _top(figure: go.Figure) -> float:
    """The largest value or level, so that no line or name is clipped; 1 for none."""
    bars = [trace.y for trace in figure.data if trace.type == "bar"]
    values = [sum(column) for column in zip(*bars, strict=True)]
    values += [y for trace in figure.data if trace.type != "bar" for y in trace.y]
    values += [shape.y0 for shape in figure.layout.shapes]
    return float(round(max(values, default=0), 3)) or 1.0


def say_timeline(figure: go.Figure, unit: str) -> str:
    """Return the sentence of a timeline, read back from its figure: bars or areas."""
    parts = [t for t in figure.data if t.type == "bar" or t.stackgroup]
    totals = [round(sum(column)) for column in zip(*(p.y for p in parts), strict=True)]
    if parts[0].type != "bar":
        totals = totals[1:-1]  # an area goes beyond its first and its last place
    if not totals:
        return f"no {unit}s"
    limits = {shape.name: shape.y0 for shape in figure.layout.shapes}
    peak = max(totals)
    of = f" of {limits['limit']:,}" if "limit" in limits else ""
    said = [
        _count(len(totals), unit),
        f"peak {peak:,}{of} at {unit} {totals.index(peak) + 1}",
    ]
    for trace in figure.data[len(parts) :]:
        if trace.x:
            plural = "s" if len(trace.x) > 1 else ""
            said.append(f"{trace.name}{plural} at {unit}{plural} {_listed(trace.x)}")
    return ", ".join(said)


def _say_composition(figure: go.Figure) -> str:
    said = []
    for at, name in enumerate(figure.data[0].y):
        tokens = {bar.meta["letter"]: bar.x[at] for bar in figure.data if bar.x[at]}
        total = sum(tokens.values())
        shares = ", ".join(f"{kind} {v / total:.0%}" for kind, v in tokens.items())
        detail = f" ({shares.replace('%', ' %')})" if shares else ""
        said.append(f"{name}: {round(total):,} tokens{detail}")
    return "; ".join(said) or "no requests"


def _say_curves(figure: go.Figure) -> str:
    said = [_ends(trace) for trace in figure.data]
    said += [f"{shape.name} at {shape.y0:,}" for shape in figure.layout.shapes]
    return "; ".join(said) or "nothing drawn"


def _ends(trace: go.Scatter) -> str:
    ends = [f"{y:,} at {x:,}" for x, y in zip(trace.x, trace.y, strict=True)]
    if not ends:
        return f"{trace.name}: no points"
    inner = max(trace.y[1:-1], default=max(trace.y[0], trace.y[-1]))
    top = f", peak {inner:,}" if inner > max(trace.y[0], trace.y[-1]) else ""
    return f"{trace.name}: {ends[0]} to {ends[-1]}{top}"


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _listed(places: Sequence[int], most: int = 6) -> str:
    """Name the places, the first few of many: '12, 27 and 31', '2, 3 … (40 in all)'."""
    words = [f"{place:,}" for place in places]
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} … ({len(words)} in all)"
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _rounded(value: float) -> float:
    """Three decimals: the same text on every platform."""
    return value if isinstance(value, int) else round(float(value), 3)


def _field(call: Any, name: str) -> Any:
    return call.get(name) if isinstance(call, Mapping) else getattr(call, name)
