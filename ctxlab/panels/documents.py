"""A panel on documents: what they cost as retrieved, and as extracts.

>>> from ctxlab.retrieval import CompressionRecord, DocumentRecord
>>> documents = (DocumentRecord("policy", 1_000, 50, "extracted"),)
>>> records = {"a model": CompressionRecord("how long?", documents, 1_200, 60)}
>>> document_costs(records, calls=4)
after 4 calls the originals cost 4,000; a model 1,640, no more than them from call 2

Costs add up over the calls that carry the documents, counted in input tokens of the
chat model. Lesson: 11_compress_documents.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]
import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab.panels.charts import Chart, curves
from ctxlab.panels.knobs import Panel
from ctxlab.retrieval import CompressionRecord, Price

TRIES = (
    "Set the calls to 1: a question that is answered once. What is cheapest?",
    "Put the calls back and lower the extractor's price. At which price does "
    "extraction pay in the first call?",
    "Reset, then let a cached token cost 0.10. From which call on does it pay now?",
)


def document_costs(
    records: Mapping[str, CompressionRecord],
    calls: int = 10,
    extractor: float = 1.0,
    output: float = 4.0,
    cached: float = 1.0,
) -> Chart:
    """Draw what carrying the originals and the extracts costs, call by call.

    Args:
        records: Ledgers of one retrieval, by what compressed it.
        calls: Calls that carry the documents, at least 1.
        extractor: Price of the extractor's input tokens.
        output: Price of its output tokens, in its input tokens.
        cached: Price of an input token in every call after the first.

    Raises:
        ValueError: There is no record, or no call.
    """
    if not records or calls < 1:
        raise ValueError(f"{len(records)} records and {calls} calls: give one of each")
    price = Price(extractor, extractor * output, cached)
    places = range(1, calls + 1)
    paid = {
        name: [record.cost(n, price) for n in places]
        for name, record in records.items()
    }
    first = next(iter(paid.values()))
    series = {"originals": [originals for originals, _ in first]}
    series |= {name: [extracts for _, extracts in both] for name, both in paid.items()}
    figure = curves(
        places,
        series,
        x_title="calls that carry the documents",
        y_title="cost in input tokens",
    ).figure
    figure.update_traces(mode="lines+markers")
    return Chart(figure, _say_costs)


def document_panel(records: Mapping[str, CompressionRecord]) -> Panel:
    """Return `document_costs` of these ledgers with four knobs."""
    knobs: dict[str, Any] = {
        "calls": widgets.IntSlider(10, min=1, max=20, description="calls"),
        "extractor": _price("extractor's price", 1.0),
        "output": widgets.IntSlider(4, min=1, max=8, description="output is dearer by"),
        "cached": _price("a cached token costs", 1.0),
    }
    return Panel(partial(document_costs, records), knobs, TRIES)


def _price(name: str, value: float) -> Any:
    return widgets.FloatSlider(value, min=0.05, max=1, step=0.05, description=name)


def _say_costs(figure: go.Figure) -> str:
    originals, *compressed = figure.data
    calls = len(originals.x)
    count = f"{calls} call{'' if calls == 1 else 's'}"
    said = [f"after {count} the originals cost {originals.y[-1]:,.0f}"]
    for trace in compressed:
        pairs = zip(originals.x, originals.y, trace.y, strict=True)
        paid = next((at for at, theirs, ours in pairs if ours <= theirs), None)
        when = f"no more than them from call {paid}" if paid else "more than them"
        said.append(f"{trace.name} {trace.y[-1]:,.0f}, {when}")
    return "; ".join(said)
