"""Two panels on calibration: a ratio against a line, and fits under bad samples.

>>> ratio_against_line().sentence
'the trigger is reached at 80 counted tokens by the ratio, 45,152 by first aid, \
38,034 by the line, 38,034 in truth'
>>> fits_under_fault(factor=0.1).sentence.split("; ")[1:]
['the line says 31,250 (-4.9 %), 13,112 fixed', \
'the anchored fit 32,797 (-0.2 %), 15,114 fixed']

Both draw what a calibration makes of the samples of one session; the last bill plus
what was added (the reported signal, `ctxlab.estimates`) is left out, so that one thing
can be seen at a time. Lessons: 06_break_it_with_a_ratio, 07_fit_the_overhead.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]
import plotly.graph_objects as go  # type: ignore[import-untyped]

from ctxlab.calibration import (
    AnchoredCalibration,
    Calibration,
    CappedRatioCalibration,
    Fit,
    LinearCalibration,
    RatioCalibration,
    UsageSample,
)
from ctxlab.calibration.lines import Line
from ctxlab.panels.charts import GREY, Chart, curves
from ctxlab.panels.knobs import Panel

TRIGGER, WINDOW = 49_152, 65_536
ASSUMED = Line(4_000, 1.0)  # where no fit is possible
#: Visible tokens at which curves are drawn: 10 to 65,536, evenly on a log scale.
PLACES = [round(10 * (WINDOW / 10) ** (step / 60)) for step in range(61)]

RATIO_TRIES = (
    "Set fixed to 0. Which of the three is wrong now?",
    "Raise the first sample to 4,000. What does first aid do with it, and why is it "
    "wrong on the other side than before?",
    "Set the scale to 1.6, then the second sample to 5,000. When does the line notice?",
)
FAULT_TRIES = (
    "Drag the factor to 0.1, then the bad bill from request 2 to 12. Where does it "
    "hurt the line most, and where the anchored fit?",
    "Put the factor back to 1.0 and let the overhead grow by 6,000 (tools were "
    "added). How far is each fit off?",
    "Find a factor so near to 1.0 that the gate lets the bill pass. What does it cost?",
)


def ratio_against_line(
    fixed: int = 11_118, scale: float = 1.0, first: int = 18, second: int = 80
) -> Chart:
    """Draw what three calibrations predict after two samples, and the truth.

    Args:
        fixed: Provider tokens of every request for what no message shows.
        scale: Provider tokens for each counted one.
        first: Visible tokens of the first sample.
        second: Visible tokens of the second sample.
    """
    truth = Line(fixed, scale)
    sizes = sorted({first, second})
    samples = [UsageSample(x, round(truth.predict(x))) for x in sizes]
    fits = {
        "the ratio": RatioCalibration().fit(samples) or ASSUMED,
        "first aid": CappedRatioCalibration().fit(samples) or ASSUMED,
        "the line": LinearCalibration().fit(samples) or ASSUMED,
        "truth": truth,
    }
    series = {name: _within_window(fit) for name, fit in fits.items()}
    figure = curves(
        PLACES,
        series,
        lines={"trigger": TRIGGER},
        x_title="counted tokens",
        y_title="predicted provider tokens",
    ).figure
    crossings = [_first_at_trigger(fit) for fit in fits.values()]
    figure.add_scatter(
        x=crossings,
        y=[TRIGGER] * len(crossings),
        mode="markers",
        name="reaches the trigger",
        marker={"symbol": "x", "size": 9, "color": GREY},
    )
    _add_samples(figure, samples)
    figure.update_xaxes(
        type="log",
        range=[1, math.log10(WINDOW)],
        tickvals=[10, 100, 1_000, 10_000],
    )
    figure.update_yaxes(range=[0, WINDOW])
    return Chart(figure, _say_crossings)


def ratio_panel() -> Panel:
    """Return `ratio_against_line` with four knobs."""
    knobs: dict[str, Any] = {
        "fixed": _slider("fixed tokens", 11_118, 0, 40_000, 2),
        "scale": _float_slider("tokenizer scale", 1.0, 0.6, 3.0),
        "first": _slider("first sample", 18, 10, 20_000, 2),
        "second": _slider("second sample", 80, 10, 20_000, 2),
    }
    return Panel(ratio_against_line, knobs, RATIO_TRIES)


#: Visible tokens that came with each request of a session, and what a provider
#: billed for each of them: prose is cheap, Chinese and logs are dear.
ADDED = (700, 900, 400, 1_600, 600, 1_100, 300, 1_300, 800, 500, 1_200, 700, 900)
BILLED_PER_TOKEN = (1.6, 1.5, 1.8, 1.7, 1.5, 1.6, 1.9, 1.5, 1.7, 1.6, 1.6, 1.7, 1.6)
FIXED, MOVED_FROM = 15_063, 9


def session(
    outlier: int = 6, factor: float = 1.0, moved: int = 0
) -> tuple[list[UsageSample], UsageSample]:
    """Return the samples of twelve requests, and the thirteenth with its true bill.

    Args:
        outlier: Request (1 to 12) whose bill is reported wrongly.
        factor: What that bill is multiplied by.
        moved: Tokens by which the fixed part grows before request 9.
    """
    counted = list(accumulate(ADDED))
    costs = [
        tokens * rate for tokens, rate in zip(ADDED, BILLED_PER_TOKEN, strict=True)
    ]
    bills = [
        round(FIXED + cost + moved * (number >= MOVED_FROM))
        for number, cost in enumerate(accumulate(costs), 1)
    ]
    true_next = UsageSample(counted[-1], bills[-1])
    bills[outlier - 1] = round(bills[outlier - 1] * factor)
    seen = zip(counted[:-1], bills[:-1], strict=True)
    return [UsageSample(x, y) for x, y in seen], true_next


def fits_under_fault(outlier: int = 6, factor: float = 1.0, moved: int = 0) -> Chart:
    """Draw the samples of a session, two fits, and the bill that comes next.

    Args:
        outlier: Request (1 to 12) whose bill is reported wrongly.
        factor: What that bill is multiplied by.
        moved: Tokens by which the fixed part grows before request 9.
    """
    samples, true_next = session(outlier, factor, moved)
    line, anchored = (
        calibration.fit(samples)
        for calibration in (LinearCalibration(), AnchoredCalibration())
    )
    assert line and anchored
    places = [500 * step for step in range(25)]
    figure = curves(
        places,
        {
            "the line": [line.predict(x) for x in places],
            "anchored": [anchored.predict(x) for x in places],
        },
        x_title="counted tokens",
        y_title="provider tokens",
    ).figure
    _add_samples(figure, samples)
    _add_samples(figure, [true_next], "the next bill", "star", 14)
    figure.update_yaxes(range=[0, 60_000])
    at = true_next.local_input_tokens
    fits = {"the line says": line, "the anchored fit": anchored}
    said = {name: [fit.predict(at), fit.fixed_overhead] for name, fit in fits.items()}
    figure.update_layout(meta={"fixed": FIXED + moved, "said": said})
    return Chart(figure, _say_next)


def fault_panel() -> Panel:
    """Return `fits_under_fault` with three knobs."""
    knobs: dict[str, Any] = {
        "outlier": _slider("bad bill at request", 6, 1, 12, 1),
        "factor": _float_slider("its factor", 1.0, 0.1, 3.0, 0.01),
        "moved": _slider("overhead grows by", 0, -6_000, 12_000, 500),
    }
    return Panel(fits_under_fault, knobs, FAULT_TRIES)


def prediction_errors(
    calibration: Calibration,
    samples: Sequence[UsageSample],
    true: Sequence[UsageSample],
) -> list[float]:
    """Return the errors in % of the bill, signs left out, from the third request on.

    Each request is predicted from the samples before it. Where these allow no fit,
    what is counted plus 4,000 tokens is the prediction.

    Args:
        calibration: What learns.
        samples: What it is told, oldest first: perhaps wrong.
        true: What was sent and billed, request by request.
    """
    found = []
    for number, now in enumerate(true[2:], 2):
        fit = calibration.fit(samples[:number], fixed_tokens=now.fixed_tokens)
        said = (fit or ASSUMED).predict(now.local_input_tokens)
        found.append(100 * abs(said / now.provider_input_tokens - 1))
    return found


def _within_window(fit: Fit) -> list[float]:
    """Return the predictions at `PLACES`, up to the first beyond the window."""
    predicted = [fit.predict(x) for x in PLACES]
    inside = next((at for at, y in enumerate(predicted) if y > WINDOW), len(predicted))
    return predicted[:inside]


def _first_at_trigger(fit: Fit) -> int:
    """Return the smallest number of counted tokens that is taken for the trigger."""
    return max(0, math.ceil((TRIGGER - fit.fixed_overhead) / fit.tokenizer_scale))


def _add_samples(
    figure: go.Figure,
    samples: Sequence[UsageSample],
    name: str = "samples",
    symbol: str = "circle",
    size: int = 9,
) -> None:
    figure.add_scatter(
        x=[sample.local_input_tokens for sample in samples],
        y=[sample.provider_input_tokens for sample in samples],
        mode="markers",
        name=name,
        marker={"symbol": symbol, "size": size, "color": GREY},
    )


def _say_crossings(figure: go.Figure) -> str:
    *series, crossings, _ = figure.data
    said = [
        f"{at:,} {'in truth' if trace.name == 'truth' else f'by {trace.name}'}"
        for trace, at in zip(series, crossings.x, strict=True)
    ]
    said[0] = said[0].replace(" by", " counted tokens by", 1)
    return f"the trigger is reached at {', '.join(said)}"


def _say_next(figure: go.Figure) -> str:
    (at,), (billed,) = figure.data[-1].x, figure.data[-1].y
    meta = figure.layout.meta
    said = [
        f"a request of {at:,} counted tokens is billed {billed:,}, "
        f"{meta['fixed']:,} of them fixed"
    ]
    for who, (tokens, fixed) in meta["said"].items():
        missed = 100 * (tokens / billed - 1)
        said.append(f"{who} {tokens:,.0f} ({missed:+.1f} %), {fixed:,.0f} fixed")
    return "; ".join(said)


def _slider(name: str, value: int, low: int, high: int, step: int) -> Any:
    return widgets.IntSlider(value, min=low, max=high, step=step, description=name)


def _float_slider(
    name: str, value: float, low: float, high: float, step: float = 0.1
) -> Any:
    digits = ".1f" if step == 0.1 else ".2f"
    return widgets.FloatSlider(
        value, min=low, max=high, step=step, readout_format=digits, description=name
    )
