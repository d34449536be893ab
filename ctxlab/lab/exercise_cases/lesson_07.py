"""Exercises of lesson 07: guard a line, and find a bill to stand on."""

from ctxlab.calibration import (
    AnchoredCalibration,
    LinearCalibration,
    UsageSample,
    least_squares,
)
from ctxlab.lab.exercises import Case, Exercise, Prediction

Pair = tuple[int, int]  # counted, billed

SHORT = [(18, 11_136), (46, 11_167), (80, 11_199)]  # row M7
GROWING = [(500, 3_500), (900, 3_900), (1_400, 4_400), (2_000, 5_000)]


def _guarded(points: list[Pair]) -> tuple[float, float]:
    """Fixed part and scale of the guarded line."""
    fit = LinearCalibration().fit([UsageSample(x, y) for x, y in points])
    assert fit
    return fit.fixed_overhead, fit.tokenizer_scale


def _anchor(pairs: list[Pair]) -> Pair:
    """The newest pair that the library's gate lets pass, at a slope of 1."""
    gate, trusted = AnchoredCalibration(), pairs[0]
    for pair in pairs[1:]:
        if not gate.jumps(1.0, pair[0] - trusted[0], pair[1] - trusted[1]):
            trusted = pair
    return trusted


EXERCISES = (
    Prediction(
        "7.p",
        "how many tokens are billed for a request without any message?",
        hint="Subtract what we counted from what was billed, for each of the three.",
        answer=lambda: round(least_squares(SHORT)[0]),
        within=0.01,
    ),
    Exercise(
        "7.1",
        "a line with the guards of row M9",
        hint="Test the number of points and max - min first; then fit.",
        cases=[
            Case((SHORT[:1],), _guarded),
            Case((SHORT,), _guarded),
            Case(([(1, 500), (1_000, 3_000)],), _guarded),
            Case(([(1, 500), (1_001, 3_000)],), _guarded),
            Case(([(10, 110), (20, 130), (40, 190)],), _guarded),
            Case(([(500, 3_900), (2_500, 6_900), (4_500, 9_600)],), _guarded),
        ],
    ),
    Exercise(
        "7.2",
        "the newest bill that can be trusted",
        hint="Compare with the last trusted pair, not with the one just before.",
        cases=[
            Case((GROWING[:1],), _anchor),
            Case((GROWING,), _anchor),
            Case(([*GROWING[:2], (1_400, 91)],), _anchor),
            Case(([*GROWING[:2], (1_400, 91), (2_000, 5_000)],), _anchor),
            Case(([*GROWING[:2], (1_400, 9_999)],), _anchor),
            Case(([(9_000, 12_000), (2_000, 4_900)],), _anchor),
        ],
    ),
)
