"""How far a counter is off, text by text: two constants to turn, exact counts to hit.

>>> counter_errors().sentence.split("; ")[1]
'1.7/4.0 is off by 28 % on average, most on ids and hashes (-60 %)'
>>> counter_errors(others=2.4).sentence.split("; ")[1]
'1.7/2.4 is off by 36 % on average, most on English prose (+89 %)'

The texts are shipped with their exact counts under three real tokenizers, so no
tokenizer is needed. Left out: messages, tools and media, which have a price beside
their text (`ctxlab.tokens`). Lesson: 05_count_every_script.
"""

import json
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]
import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab._data import data_path
from ctxlab.panels.charts import Chart, curves
from ctxlab.panels.knobs import Panel
from ctxlab.tokens import (
    ApproximateCounter,
    CjkAwareCounter,
    ScriptCounter,
    TokenCounter,
)

TRIES = (
    "Which “others” makes the log lines right, and what happens to the prose then?",
    "Can any two constants bring all eight texts within 10 %?",
    "Choose qwen, which counts every digit. Which texts move, and for whom?",
)


@dataclass(frozen=True)
class MeasuredText:
    """A text, and what real tokenizers make of it.

    Attributes:
        name: What it is an example of.
        text: About 1,000 to 2,700 characters.
        exact: Tokens by tokenizer: o200k (OpenAI), deepseek, qwen.
    """

    name: str
    text: str
    exact: dict[str, int]


@cache
def measured_texts() -> tuple[MeasuredText, ...]:
    """Return the shipped texts with their exact counts."""
    listed = json.loads(data_path("token_texts.json").read_text("utf-8"))
    return tuple(MeasuredText(**entry) for entry in listed)


def error(counter: TokenCounter, measured: MeasuredText, tokenizer: str) -> float:
    """Return by how many percent a counter is off; above 0 it counts too much."""
    exact = measured.exact[tokenizer]
    return 100 * (counter.text(measured.text) / exact - 1)


def counter_errors(
    cjk: float = 1.7, others: float = 4.0, tokenizer: str = "o200k"
) -> Chart:
    """Draw the error of three counters on every text.

    Args:
        cjk: Characters of CJK scripts in one token.
        others: All other characters in one token.
        tokenizer: Whose exact count is right: o200k, deepseek or qwen.

    Raises:
        ValueError: A ratio is not above zero.
        KeyError: The tokenizer is unknown.
    """
    counters: dict[str, TokenCounter] = {
        "characters ÷ 4": ApproximateCounter(),
        f"{cjk:.1f}/{others:.1f}": CjkAwareCounter(cjk, others),
        "ScriptCounter": ScriptCounter(),
    }
    texts = measured_texts()
    places = list(range(1, len(texts) + 1))
    errors = {
        name: [error(counter, each, tokenizer) for each in texts]
        for name, counter in counters.items()
    }
    title = f"error in % (exact: {tokenizer})"
    figure = curves(
        places, {}, points=errors, lines={"exact": 0}, x_title="", y_title=title
    ).figure
    names = [each.name.replace(" ", "<br>", 1) for each in texts]
    for step, trace in enumerate(figure.data, -1):  # side by side, or they hide
        trace.x = [place + 0.15 * step for place in places]
    figure.update_xaxes(tickvals=places, ticktext=names, tickangle=0)
    figure.update_yaxes(range=[-80, 120])
    return Chart(figure, _say)


def counting_panel() -> Panel:
    """Return the chart with knobs for the two constants and the tokenizer."""
    ratio = {"step": 0.1, "readout_format": ".1f"}
    knobs: dict[str, Any] = {
        "cjk": widgets.FloatSlider(
            1.7, min=0.8, max=4.0, description="CJK characters a token", **ratio
        ),
        "others": widgets.FloatSlider(
            4.0, min=1.2, max=6.0, description="others a token", **ratio
        ),
        "tokenizer": widgets.Dropdown(
            value="o200k",
            options=["o200k", "deepseek", "qwen"],
            description="exact counts of",
        ),
    }
    return Panel(counter_errors, knobs, TRIES)


def _say(figure: go.Figure) -> str:
    names = [name.replace("<br>", " ") for name in figure.layout.xaxis.ticktext]
    said = []
    for trace in figure.data:
        worst = max(range(len(names)), key=lambda at: abs(trace.y[at]))
        mean = fmean(map(abs, trace.y))
        said.append(
            f"{trace.name} is off by {mean:.0f} % on average, "
            f"most on {names[worst]} ({trace.y[worst]:+.0f} %)"
        )
    return "; ".join(said)
