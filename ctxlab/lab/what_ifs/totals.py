"""What one configuration costs, in all: tokens, money, room left, what was lost.

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.lab.what_ifs.lived import what_if
>>> tried = what_if(load_transcript("order_desk"), window=8_000)
>>> totals(tried).calls, totals(tried).headroom_tokens
(3, 7742)

Left out: what a token costs where you are; `Rates` are an example to be edited.
Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ctxlab.lab.what_ifs.later import Later
from ctxlab.lab.what_ifs.outcome import WhatIf

MILLION = 1_000_000


@dataclass(frozen=True)
class Rates:
    """Money for a million tokens; the summary model's are those of its own kind.

    Raises:
        ValueError: A rate is below 0.
    """

    uncached: float = 3.0
    cached: float = 0.3
    written: float = 15.0
    summary: float = 3.0

    def __post_init__(self) -> None:
        for each in fields(self):
            rate = getattr(self, each.name)
            if not rate >= 0:
                raise ValueError(f"the rate {each.name} is {rate}; give 0 or more")


@dataclass(frozen=True)
class Totals:
    """The figures of one configuration.

    Attributes:
        turns: Turns of the conversation.
        failed: Turns that got no answer.
        calls: Requests that reached the provider, refused ones included.
        refused: Requests that were refused, by the provider or beforehand.
        compactions: Calls that were compacted, or recovered after a refusal.
        summary_calls: Prompts to the summary model.
        uncached_tokens: Input that was billed in full.
        cached_tokens: Input that the provider's prompt cache had.
        written_tokens: Output.
        summary_tokens: Input and output of the summary model.
        peak_tokens: Largest answered request.
        headroom_tokens: What it left of the window.
        dropped_messages: Most messages that one request neither carried nor told.
        facts: Planted facts.
        facts_kept: Those of them in the last answered request.
    """

    turns: int
    failed: int
    calls: int
    refused: int
    compactions: int
    summary_calls: int
    uncached_tokens: int
    cached_tokens: int
    written_tokens: int
    summary_tokens: int
    peak_tokens: int
    headroom_tokens: int | None
    dropped_messages: int
    facts: int
    facts_kept: int

    @property
    def tokens(self) -> int:
        """All tokens of input and of summaries."""
        return self.uncached_tokens + self.cached_tokens + self.summary_tokens

    def cost(self, rates: Rates | None = None) -> float:
        """Return what the conversation costs at these rates."""
        paid = rates or Rates()
        return (
            paid.uncached * self.uncached_tokens
            + paid.cached * self.cached_tokens
            + paid.written * self.written_tokens
            + paid.summary * self.summary_tokens
        ) / MILLION

    def as_row(self) -> Mapping[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def totals(tried: WhatIf) -> Totals:
    """Return the figures of a what-if."""
    told, sent = _glances(tried.calls), _glances(tried.exchanges)
    paid = [each for each in sent if each.error is None]
    cached = sum(each.cached_tokens for each in paid)
    peak = max((each.input_tokens for each in paid), default=0)
    window = tried.model.context_window
    actions = [record.action for record in told]
    last = next((e for e in reversed(tried.exchanges) if e.error is None), None)
    return Totals(
        turns=tried.turns,
        failed=len(tried.failed_turns),
        calls=len(sent),
        refused=len(sent) - len(paid) + actions.count("refuse"),
        compactions=actions.count("compact") + actions.count("recover"),
        summary_calls=len(tried.summaries),
        uncached_tokens=sum(each.input_tokens for each in paid) - cached,
        cached_tokens=cached,
        written_tokens=sum(each.output_tokens for each in paid),
        summary_tokens=sum(e.input_tokens + e.output_tokens for e in tried.summaries),
        peak_tokens=peak,
        headroom_tokens=None if window is None else window - peak,
        dropped_messages=max((r.dropped_messages for r in told), default=0),
        facts=len(tried.transcript.facts),
        facts_kept=len(tried.facts_in(last.messages)) if last else 0,
    )


def _glances(objects: Any) -> list[Any]:
    """Return objects, or what stands for those that nobody has looked at."""
    return list(objects.glances() if isinstance(objects, Later) else objects)
