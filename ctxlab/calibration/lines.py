"""The ladder of simple fits: a ratio, a ratio with first aid, a straight line.

A fit says what the provider will count for so many local tokens. Each step here is
kept for what it teaches: the next one repairs what it breaks on.

>>> turns = [UsageSample(1_000, 12_600), UsageSample(5_000, 19_000)]
>>> for calibration in (RatioCalibration(), LinearCalibration()):
...     print(round(calibration.fit(turns).predict(10_000)))
126000
27000

Left out here: outliers and drift, which turn every one of these fits
(`anchored.py`). Lessons: 06_break_it_with_a_ratio, 07_fit_the_overhead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Protocol

from ctxlab.calibration.samples import UsageSample, usable_points


class Fit(Protocol):
    """What a calibration learned; all figures in tokens."""

    @property
    def fixed_overhead(self) -> float:
        """Provider tokens of a request without messages."""

    @property
    def tokenizer_scale(self) -> float:
        """Provider tokens per local token."""

    def predict(self, local_tokens: float) -> float:
        """Return the provider tokens expected for so many local ones."""

    def guarded(self, local_tokens: float) -> float:
        """Return `predict` on the safe side; the same where a fit knows no band."""


class Calibration(Protocol):
    """Anything that learns a fit from samples."""

    def fit(
        self, samples: Sequence[UsageSample], *, fixed_tokens: float | None = None
    ) -> Fit | None:
        """Return what the samples teach, or None when none of them can be used.

        Args:
            samples: Oldest first.
            fixed_tokens: Today's counted system prompt and tools; each sample is
                first moved by how much that part has changed since (row X3).
        """


@dataclass(frozen=True, slots=True)
class Line:
    """`fixed_overhead + tokenizer_scale x local`.

    `guard` names the guard that bent the line, if one did.
    """

    fixed_overhead: float
    tokenizer_scale: float
    guard: str = ""

    def predict(self, local_tokens: float) -> float:
        """Return the provider tokens expected for so many local ones."""
        return max(0.0, self.fixed_overhead + self.tokenizer_scale * local_tokens)

    def guarded(self, local_tokens: float) -> float:
        """Return `predict`: a plain line knows no band."""
        return self.predict(local_tokens)


@dataclass(frozen=True)
class RatioCalibration:
    """The bug of row M7: a fixed part that has nothing to do with the visible tokens
    is laid on them, 11,136 / 18 = 618.7 times.

    Of several samples the largest ratio counts, "to be on the safe side".

    Guards (both off here, see `CappedRatioCalibration`):
        min_local: Samples with fewer local tokens are ignored.
        max_scale: No ratio is larger.

    >>> round(RatioCalibration().fit([UsageSample(18, 11_136)]).tokenizer_scale, 3)
    618.667
    """

    min_local: float = 1
    max_scale: float = math.inf

    def fit(
        self, samples: Sequence[UsageSample], *, fixed_tokens: float | None = None
    ) -> Line | None:
        """Return a line through the origin, or None without a usable sample."""
        ratios = [
            y / x
            for x, y, _ in usable_points(samples, fixed_tokens)
            if x > 0 and x >= self.min_local
        ]
        if not ratios:
            return None
        scale = max(ratios)
        return Line(
            0.0, min(scale, self.max_scale), "max_scale" * (scale > self.max_scale)
        )


@dataclass(frozen=True)
class CappedRatioCalibration(RatioCalibration):
    """First aid of row M8: it stops the bleeding and stays a rule of thumb.

    A request of 4,000 visible tokens under 11,000 fixed ones is still taken for
    16,000 when it is 15,000, and one of 12,000 for 48,000 when it is 23,000.

    Guards:
        min_local: 4,000; under it the fixed part drowns what is to be measured.
        max_scale: 4.0; no tokenizer differs from a rough counter by more.

    >>> first_aid = CappedRatioCalibration()
    >>> first_aid.fit([UsageSample(18, 11_136)]) is None  # short sessions are safe
    True
    >>> first_aid.fit([UsageSample(4_000, 15_000)]).predict(12_000)  # 23,000 in truth
    45000.0
    """

    min_local: float = 4_000
    max_scale: float = 4.0


def least_squares(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return (fixed overhead, scale) of the line nearest to the points (row M10).

    Args:
        points: (local, provider) tokens; at least two different local ones.

    >>> overhead, scale = least_squares([(18, 11_136), (46, 11_167), (80, 11_199)])
    >>> round(overhead, 2), round(scale, 4)
    (11118.69, 1.0135)
    """
    x_mean, y_mean = fmean(x for x, _ in points), fmean(y for _, y in points)
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    scale = sum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    return y_mean - scale * x_mean, scale


@dataclass(frozen=True)
class LinearCalibration:
    """Least squares over all samples, with the three guards of row M9.

    Guards:
        min_samples: One point fixes no slope; under two the scale stays 1.0.
        min_spread: Local tokens that differ by less than 1,000 measure noise, not a
            slope; then too the scale is 1.0 and the overhead the median difference.
        min_scale, max_scale: A slope outside 1.0 to 4.0 is an outlier's work; the line
            is turned about the centre of its points until it is inside.

    >>> LinearCalibration().fit([UsageSample(18, 11_136), UsageSample(80, 11_199)])
    Line(fixed_overhead=11118.5, tokenizer_scale=1.0, guard='min_spread')
    """

    min_samples: int = 2
    min_spread: float = 1_000
    min_scale: float = 1.0
    max_scale: float = 4.0

    def __post_init__(self) -> None:
        check_scales(self.min_scale, self.max_scale)

    def fit(
        self, samples: Sequence[UsageSample], *, fixed_tokens: float | None = None
    ) -> Line | None:
        """Return the line, or None without a usable sample."""
        points = [(x, y) for x, y, _ in usable_points(samples, fixed_tokens)]
        if not points:
            return None
        visible = [x for x, _ in points]
        spread = max(visible) - min(visible)
        if len(points) < self.min_samples or spread < self.min_spread or not spread:
            guard = "min_samples" if len(points) < self.min_samples else "min_spread"
            return Line(median(y - x for x, y in points), 1.0, guard)
        overhead, scale = least_squares(points)
        inside = min(max(scale, self.min_scale), self.max_scale)
        turned = overhead + (scale - inside) * fmean(visible)
        return Line(turned, inside, "scale_range" * (inside != scale))


def check_scales(low: float, high: float) -> None:
    """Raise a `ValueError` unless the two bound a scale."""
    if not 0 < low <= high:
        raise ValueError(
            f"scales must be 0 < min_scale <= max_scale, got {low} and {high}"
        )
