"""What a provider's bill teaches: usage that can be meant, and samples made of it.

A count that is missing, 0 or no number means "unknown", never 0 (B27). What passes is
paired with the local count of the request that was sent (row M11) and lives as plain
JSON in the answer's metadata, so it survives a checkpoint.

>>> billed = usable_input_tokens({"input_tokens": 11_136, "output_tokens": 20})
>>> UsageSample(18, billed).to_json()["provider_input_tokens"]
11136

Left out here: output tokens, and where in a history samples stand (`chain`). Lesson:
07_fit_the_overhead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

_MOST = 2.0**63  # tokens; squares and sums of larger numbers overflow sooner or later
Point = tuple[float, float, str]  # local tokens, provider tokens, fingerprint


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


def usable_input_tokens(usage: Mapping[str, Any] | None) -> int | None:
    """Return the input tokens a `usage_metadata` means, or None when it means none.

    Cache reads and writes are parts of the input (B32). An input smaller than they
    are follows the other convention, where they come on top.

    >>> usable_input_tokens({"input_tokens": 10,
    ...     "input_token_details": {"cache_read": 90}})
    100
    """
    if not isinstance(usage, (dict, Mapping)):  # nearly always the first, which is fast
        return None
    tokens = _number(usage.get("input_tokens"))
    if tokens is None or tokens < 1:
        return None
    details = usage.get("input_token_details")
    if not details or not isinstance(details, (dict, Mapping)):
        return int(tokens)
    read, written = details.get("cache_read"), details.get("cache_creation")
    cached = max(0, _number(read) or 0) + max(0, _number(written) or 0)
    return int(tokens if tokens >= cached else tokens + cached)


def _number(value: Any) -> float | None:
    """Return a finite number, or None: True is no token count, nor is NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -_MOST < value < _MOST else None


def usable_points(
    samples: Sequence[UsageSample], fixed_tokens: float | None
) -> list[Point]:
    """Return the samples that can be meant, moved to today's fixed part (row X3)."""
    found = [usable_point(sample, fixed_tokens) for sample in samples]
    return [point for point in found if point is not None]


def usable_point(sample: UsageSample, fixed_tokens: float | None) -> Point | None:
    """Return a sample moved to today's fixed part, or None if it cannot be meant."""
    local, provider = sample.local_input_tokens, sample.provider_input_tokens
    # Without a fingerprint, 0 fixed tokens means "unknown", which moves nothing.
    if fixed_tokens is not None and (sample.fingerprint or sample.fixed_tokens):
        provider += fixed_tokens - sample.fixed_tokens
    if 0 < provider < _MOST and 0 <= local < _MOST:  # false for NaN
        return local, provider, sample.fingerprint
    return None
