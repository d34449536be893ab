"""From tokens counted here to tokens the provider bills.

A local counter sees the messages; the provider also counts a system prompt, tool
schemas and its own framing, with another tokenizer. So the relation is a line,
`provider = fixed_overhead + tokenizer_scale x local`, and never a ratio (row M9).
Four calibrations learn it from the usage of earlier answers, behind one interface:
the ratio with its 618x bug, its first aid, least squares, and the anchored line
that ships as the default.

>>> short = [UsageSample(18, 11_136), UsageSample(46, 11_167), UsageSample(80, 11_199)]
>>> ratio = RatioCalibration().fit(short[:1])
>>> round(ratio.predict(80)), round(AnchoredCalibration().fit(short).predict(80))
(49493, 11199)

A sample pairs the tokens of the request *as sent* with what was billed for it (row
M11); paired with the full history instead, it ruins every fit. Left out here: reading
samples from messages and choosing among signals (`estimates.py`). Lessons:
06_the_618x_bug, 07_the_line.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, Protocol

Point = tuple[float, float]  # (local, provider), tokens


@dataclass(frozen=True, slots=True)
class UsageSample:
    """What one request measured here, and what the provider counted for it (row M11).

    Args:
        local_input_tokens: Messages of the request that was sent; 0 is valid.
        provider_input_tokens: Input tokens the provider reported for that request.
        fixed_tokens: Counted system prompt and tool schemas of that request.
        fingerprint: Identity of model + system prompt + tools; "" when unknown.

    >>> UsageSample.from_json(UsageSample(18, 11_136).to_json()).provider_input_tokens
    11136
    """

    local_input_tokens: float
    provider_input_tokens: float
    fixed_tokens: float = 0.0
    fingerprint: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, as it survives a checkpoint."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "UsageSample":
        """Read a sample back; keys of others are ignored.

        Raises:
            ValueError: A token count is missing or is no number.
        """
        counts = [
            _number(data.get(key))
            for key in ("local_input_tokens", "provider_input_tokens")
        ]
        if None in counts:
            raise ValueError(
                "a usage sample needs the numbers 'local_input_tokens' and "
                f"'provider_input_tokens', got {dict(data)!r}; record it after the call"
            )
        fixed = _number(data.get("fixed_tokens")) or 0.0
        return cls(counts[0], counts[1], fixed, str(data.get("fingerprint") or ""))  # type: ignore[arg-type]


class Fit(Protocol):
    """A learned line; all figures in tokens."""

    @property
    def fixed_overhead(self) -> float: ...
    @property
    def tokenizer_scale(self) -> float: ...
    def predict(self, local_tokens: float) -> float: ...
    def guarded(self, local_tokens: float) -> float: ...


class Calibration(Protocol):
    """Learns a line from samples, oldest first; None when no sample can be used.

    With `fixed_tokens` (today's counted system prompt and tools) each sample is first
    shifted by how much that fixed part has changed since (row X3).
    """

    def fit(
        self, samples: Sequence[UsageSample], *, fixed_tokens: float | None = None
    ) -> Fit | None: ...


@dataclass(frozen=True, slots=True)
class Line:
    """`fixed_overhead + tokenizer_scale x local`; `guard` names what bent it, if any."""

    fixed_overhead: float
    tokenizer_scale: float
    guard: str = ""

    def predict(self, local_tokens: float) -> float:
        """Return the provider tokens expected for so many local ones."""
        return max(0.0, self.fixed_overhead + self.tokenizer_scale * local_tokens)

    def guarded(self, local_tokens: float) -> float:
        """Return `predict`: a plain line knows no band."""
        return self.predict(local_tokens)


@dataclass(frozen=True, slots=True)
class AnchoredLine(Line):
    """A line through its newest trusted sample, with a band that grows away from it."""

    anchor: float = 0.0
    deviation: float = 0.1
    dropped: int = 0

    def guarded(self, local_tokens: float) -> float:
        """Return `predict` plus 1.5 x deviation x distance from the anchor, plus 16."""
        band = 1.5 * self.deviation * abs(local_tokens - self.anchor) + 16
        return self.predict(local_tokens) + band


@dataclass(frozen=True)
class RatioCalibration:
    """The bug of row M7: all that is billed is laid on the visible tokens.

    The largest ratio counts, "to be on the safe side".

    >>> round(RatioCalibration().fit([UsageSample(18, 11_136)]).tokenizer_scale, 3)
    618.667
    """

    min_local: float = 1
    max_scale: float = math.inf

    def fit(
        self, samples: Sequence[UsageSample], *, fixed_tokens: float | None = None
    ) -> Line | None:
        """Return a line through the origin, or None without a usable sample."""
        points = [p for p in _points(samples, fixed_tokens) if p[0] >= self.min_local]
        if not points:
            return None
        scale = max(provider / local for local, provider in points)
        return Line(0.0, min(scale, self.max_scale), "cap" * (scale > self.max_scale))


@dataclass(frozen=True)
class CappedRatioCalibration(RatioCalibration):
    """First aid of row M8: no samples under 4,000 local tokens, no ratio over 4.0."""

    min_local: float = 4_000
    max_scale: float = 4.0


def least_squares(points: Sequence[Point]) -> Point:
    """Return (overhead, scale) of the line nearest to the points (row M10).

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
    """Least squares with the three guards of row M9."""

    min_samples: int = 2
    min_spread: float = 1_000
    min_scale: float = 1.0
    max_scale: float = 4.0

    def fit(
        self, samples: Sequence[UsageSample], *, fixed_tokens: float | None = None
    ) -> Line | None:
        """Return the line, or None without a usable sample."""
        points = list(_points(samples, fixed_tokens))
        if not points:
            return None
        locals_ = [local for local, _ in points]
        spread = max(locals_) - min(locals_)
        if len(points) < self.min_samples or spread == 0 or spread < self.min_spread:
            guard = "min_samples" if len(points) < self.min_samples else "min_spread"
            return Line(median(y - x for x, y in points), 1.0, guard)
        overhead, scale = least_squares(points)
        clamped = min(max(scale, self.min_scale), self.max_scale)
        if clamped == scale:
            return Line(overhead, scale)
        overhead += (scale - clamped) * fmean(locals_)
        return Line(overhead, clamped, "scale_range")


@dataclass(frozen=True)
class AnchoredCalibration:
    """The default: through the newest trusted sample, at the slope of the increments."""

    window: int = 24
    prior_tokens: float = 1_000
    min_scale: float = 0.5
    max_scale: float = 4.0

    def fit(
        self, samples: Sequence[UsageSample], *, fixed_tokens: float | None = None
    ) -> AnchoredLine | None:
        """Return the line, or None without a usable sample."""
        points = list(_points(samples[-self.window :], fixed_tokens))
        if not points:
            return None
        x, y = points[0]
        held: Point | None = None
        run = rise = self.prior_tokens
        slope, deviation, dropped = 1.0, 0.1, 0
        for point in points[1:]:
            dx, dy = point[0] - x, point[1] - y
            error = dy - slope * dx
            if abs(error) > 300 + 0.35 * abs(dx):
                previous, held = held, point
                if previous is None:
                    continue
                dropped += 1
                dx, dy = point[0] - previous[0], point[1] - previous[1]
                error = dy - slope * dx
                if abs(error) > 300 + 0.35 * abs(dx):
                    continue
            elif held is not None:
                dropped += 1
            held = None
            x, y = point
            if dx:
                size = abs(dx)
                deviation = 0.8 * deviation + 0.2 * min(1.0, abs(error) / size)
                limit = 30 + 0.15 * size
                weight = min(1.0, limit / abs(error)) if error else 1.0
                run += weight * size
                rise += weight * (dy if dx > 0 else -dy)
                slope = min(max(rise / run, self.min_scale), self.max_scale)
        return AnchoredLine(y - slope * x, slope, "", x, deviation, dropped)


def usable_input_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Return the input tokens a `usage_metadata` means, or None when it means none.

    Cache reads and writes are parts of the input (B32). An input smaller than they
    are follows the other convention, where they come on top.

    >>> usable_input_tokens({"input_tokens": 10, "input_token_details": {"cache_read": 90}})
    100
    """
    if not isinstance(usage, Mapping):
        return None
    tokens = _number(usage.get("input_tokens"))
    if tokens is None or tokens <= 0:
        return None
    details = usage.get("input_token_details")
    parts = details if isinstance(details, Mapping) else {}
    cached = sum(
        max(0.0, _number(parts.get(key)) or 0.0)
        for key in ("cache_read", "cache_creation")
    )
    return int(tokens if tokens >= cached else tokens + cached)


def _number(value: Any) -> float | None:
    """Return a finite number, or None: True is no token count, nor is NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def _points(
    samples: Sequence[UsageSample], fixed_tokens: float | None
) -> Iterator[Point]:
    """Yield the usable samples as points, shifted to today's fixed part."""
    for sample in samples:
        local, provider = sample.local_input_tokens, sample.provider_input_tokens
        if provider <= 0 or local < 0:
            continue
        known = sample.fingerprint or sample.fixed_tokens
        if fixed_tokens is not None and known:
            provider += fixed_tokens - sample.fixed_tokens
        yield local, provider
