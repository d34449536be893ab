"""From tokens counted here to tokens the provider bills.

A local counter sees the messages; the provider also counts a system prompt, tool
schemas and its own framing, with another tokenizer. So the relation is a line,
`provider = fixed_overhead + tokenizer_scale x local`, and never a ratio (row M9).
Four calibrations learn it from the usage of earlier answers, behind one interface:
the ratio with its 618x bug, its first aid, least squares, and the anchored line
that ships as the default.

>>> short = [UsageSample(18, 11_136), UsageSample(46, 11_167), UsageSample(80, 11_199)]
>>> ratio = RatioCalibration().fit(short)
>>> round(ratio.predict(80)), round(AnchoredCalibration().fit(short).predict(80))
(49493, 11199)

A sample pairs the tokens of the request *as sent* with what was billed for it (row
M11); paired with the full history instead, it ruins every fit. Left out here: reading
samples from messages and choosing among signals (`estimates.py`). Lessons:
06_break_it_with_a_ratio, 07_fit_the_overhead.
"""

from ctxlab.calibration.anchored import AnchoredCalibration, AnchoredLine
from ctxlab.calibration.lines import (
    Calibration,
    CappedRatioCalibration,
    Fit,
    Line,
    LinearCalibration,
    RatioCalibration,
    least_squares,
)
from ctxlab.calibration.samples import UsageSample, usable_input_tokens

__all__ = [
    "AnchoredCalibration",
    "AnchoredLine",
    "Calibration",
    "CappedRatioCalibration",
    "Fit",
    "Line",
    "LinearCalibration",
    "RatioCalibration",
    "UsageSample",
    "least_squares",
    "usable_input_tokens",
]
