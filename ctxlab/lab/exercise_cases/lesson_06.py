"""Exercises of lesson 06: a ratio, what it refuses, and first aid."""

from itertools import count

from ctxlab.calibration import CappedRatioCalibration, RatioCalibration, UsageSample
from ctxlab.lab.exercises import Case, Exercise, Prediction

SHORT = [(18, 11_136), (46, 11_167), (80, 11_199)]  # row M7: counted, billed
RATIO = 11_136 / 18


def _first_refused(ratio: float, trigger: int) -> int:
    """The smallest number of tokens that a ratio takes for the trigger."""
    fit = RatioCalibration().fit([UsageSample(1_000, 1_000 * ratio)])
    assert fit
    return next(size for size in count(1) if fit.predict(size) >= trigger)


def _capped(pairs: list[tuple[int, int]]) -> float | None:
    """The ratio that first aid learns, or None."""
    fit = CappedRatioCalibration().fit([UsageSample(x, y) for x, y in pairs])
    return fit.tokenizer_scale if fit else None


EXERCISES = (
    Prediction(
        "6.p",
        "we count 18 tokens of messages: how many does the provider bill?",
        hint="It counts all that is sent: the system prompt and the tool schemas, too.",
        answer=SHORT[0][1],
        within=0.1,
    ),
    Exercise(
        "6.1",
        "the smallest request that a ratio takes for the trigger",
        hint="n * ratio >= trigger: divide, and round up (math.ceil).",
        cases=[
            Case((2.0, 100), _first_refused),
            Case((4.0, 90), _first_refused),
            Case((1.25, 4_096), _first_refused),
            Case((RATIO, 49_152), _first_refused),
        ],
    ),
    Exercise(
        "6.2",
        "first aid: ignore small samples, cap the ratio",
        hint="Take the ratios of samples with x >= 4_000; what if there are none?",
        cases=[
            Case(([],), _capped),
            Case((SHORT,), _capped),
            Case(([(4_000, 8_000)],), _capped),
            Case(([(3_999, 7_998)],), _capped),
            Case(([(4_000, 30_000)],), _capped),
            Case(([*SHORT, (5_000, 15_000), (9_000, 18_000)],), _capped),
        ],
    ),
)
