"""The ledger: one record for every model call, refused ones included.

>>> record = CallRecord(
...     action="pass",
...     parts={"system": 400, "user": 20},
...     estimate=Estimate(local=20, fixed=400, configured=4_020, calibrated=11_120),
...     provider_input_tokens=11_200,
... )
>>> round(record.prediction_error, 4)
-0.0071
>>> record.to_attributes()["ctxlab.action"]
'pass'

Left out here: drawing the ledger (`ctxlab.panels`). Lesson: 01_fill_the_window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from ctxlab.estimates import Estimate

Action = Literal["pass", "reuse", "compact", "recover", "refuse"]
PARTS = ("system", "tools", "summary", "user", "assistant", "calls", "results")


@dataclass(frozen=True)
class CallRecord:
    """What happened to one model call.

    Attributes:
        action: The last layer that decided: pass (history as it is), reuse (a
            remembered view), compact (a new view), recover (retried after an
            overflow), refuse (a visible answer instead of a call).
        parts: Tokens of the request by kind; they sum to
            `estimate.local + estimate.fixed`.
        estimate: The estimate of the request that was sent, or refused.
        before_tokens: Estimated tokens before this call changed anything.
        after_tokens: Estimated tokens of what was sent.
        cut: Messages before this index are told by the summary; 0 without one.
        summary_calls: Calls made to summary models.
        summary_input_tokens: Tokens sent to summary models, as counted.
        dropped_messages: Messages neither summarised nor sent.
        provider_input_tokens: The bill; None when the provider gave none.
        notes: One sentence for everything unusual.
    """

    action: Action
    parts: Mapping[str, int]
    estimate: Estimate
    before_tokens: int = 0
    after_tokens: int = 0
    cut: int = 0
    summary_calls: int = 0
    summary_input_tokens: int = 0
    dropped_messages: int = 0
    provider_input_tokens: int | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def prediction_error(self) -> float | None:
        """Share by which the prediction missed the bill; None without a bill."""
        if not self.provider_input_tokens:
            return None
        predicted = self.estimate.calibrated or self.estimate.configured
        return predicted / self.provider_input_tokens - 1

    def to_attributes(self) -> dict[str, Any]:
        """Return flat values for LangSmith metadata or OpenTelemetry attributes."""
        flat: dict[str, Any] = {
            name: value
            for name, value in asdict(self).items()
            if isinstance(value, (str, int)) and not isinstance(value, bool)
        }
        flat |= {f"parts.{kind}": tokens for kind, tokens in self.parts.items()}
        flat |= {"effective": self.estimate.effective, "signal": self.estimate.signal}
        if self.prediction_error is not None:
            flat["prediction_error"] = self.prediction_error
        return {f"ctxlab.{name}": value for name, value in flat.items()}


def whole_parts(parts: Mapping[str, float], total: int) -> dict[str, int]:
    """Round the parts of a request so that they sum to its rounded total.

    >>> whole_parts({"user": 1.4, "results": 2.4}, 4)
    {'user': 2, 'results': 2}
    """
    whole = {kind: int(parts[kind]) for kind in PARTS if kind in parts}
    missing = total - sum(whole.values())
    if missing > 0:  # to the kinds that lost most, in their order where they are even
        losers = sorted(whole, key=lambda kind: whole[kind] - parts[kind])
        for turn in range(missing):
            whole[losers[turn % len(losers)]] += 1
    return whole


@dataclass(frozen=True)
class Compaction:
    """One compaction, as the hooks see it.

    Attributes:
        span: The messages that the summary replaces, oldest first.
        summary: Its text; empty before it is written.
        before: Estimated tokens of the request before.
        after: Estimated tokens after; None before it is written.
    """

    span: Sequence[BaseMessage]
    summary: str
    before: int
    after: int | None = None
