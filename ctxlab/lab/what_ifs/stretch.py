"""A calm stretch: calls in a row that decide nothing, as figures alone.

Every figure is the one that the chain's formulas give (`Call`); of objects there is
the first call of the stretch, which the others are like. Records, answers and requests
are made of it when somebody looks, or when the chain goes on from here.

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.lab.what_ifs.lived import what_if
>>> from ctxlab.settings import Settings
>>> tried = what_if(load_transcript("order_desk"), Settings(), window=8_000)
>>> next(tried.exchanges.glances()).input_tokens, tried.calls[0].provider_input_tokens
(167, 167)

Lesson: 12_tune_on_a_transcript.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.chain.asked import asked_by_model
from ctxlab.chain.call import ABSURD, Call
from ctxlab.estimates import Estimate
from ctxlab.history.contents import SCALE
from ctxlab.lab.billing import Exchange
from ctxlab.lab.turns import Step
from ctxlab.lab.what_ifs.figures import Common, Figures, Size
from ctxlab.lab.what_ifs.later import LikeAList
from ctxlab.lab.what_ifs.provider import Provider
from ctxlab.records import CallRecord


class Stretch:
    """Calm calls in a row, of one run.

    Args:
        call: The first of them, with what it carries; it is calm.
        provider: Who bills.

    Attributes:
        rows: The figures of each call so far.
        common: What their records have in common.
    """

    def __init__(self, call: Call, provider: Provider) -> None:
        self.call, self.provider = call, provider
        self.rows: list[Figures] = []
        live, fixed = call.live, call.fixed.tokens
        self.common = Common(call.action, live.view.dropped)
        self._empty, self._tail = live.empty, live.view.tail
        self._head = sum(live.head.values())
        self._more = len(live.view.kept) - live.view.tail + (live.note is not None)
        self._learns = call.policy.settings.use_reported_usage
        self._book: Any = call.policy.fits
        self._fixed = math.ceil(fixed)
        self._assumed = math.ceil(max(fixed, call.assumed_overhead))
        self._history = call.history
        self._ceiling = call.budget.ceiling or math.inf
        bounds = provider.prices.window, ABSURD * (call.budget.limit or 0)
        self._most = min(filter(None, bounds), default=math.inf)

    def begin(self, step: Step, turn: int) -> bool:
        """Take the first call; return False, and nothing is changed, if it cannot."""
        call = self.call
        billed = self.provider.desk.size(call.carried())
        if not 0 < billed <= self._most:
            return False
        self._pay(None, call.estimate.local, step, turn, billed)
        return True

    def goes_on(self) -> bool:
        """Return whether exactly one answer has come since, the last call's.

        A recording may go on with more answers, which nobody was billed for.
        """
        before = self._history
        self._history = self.call.policy.meter.measure(self.call.messages)
        return self._history.answer_count == before.answer_count + 1

    def take(self, step: Step, turn: int) -> bool:
        """Take the next call; return False if the chain has to.

        Then the provider has not answered either, and the last bill is learned.
        """
        before = self.rows[-1]
        fit: Any = self._fit(before)
        scale = fit.tokenizer_scale if fit else 1.0
        size = self._sized(fit, self._reported(before, scale) if self._learns else None)
        if self._due(size.effective, scale):
            return False
        new = self.call.messages[len(before.history) :]
        billed = self.provider.desk.size_with(new)
        if not 0 < billed <= self._most:  # it is refused, or its bill not believed
            return False
        if self.provider.bench.may_ask and asked_by_model(new):
            return False
        self._pay(size, size.local, step, turn, billed)
        return True

    def _fit(self, before: Figures) -> Any:
        """Return what the bills teach, that of the last call included."""
        if not self._learns:
            return None
        count = self._history.answer_count
        return self._book.fit_with(
            before.local, before.input_tokens, self.call.fixed, count
        )

    def _reported(self, before: Figures, scale: float) -> int:
        """Return the last bill plus what was added; see `Call`."""
        index, sums = len(before.history), self._history.line.sums
        said = self.provider.said(before.step, before.output_tokens)
        if said is None:
            said = scale * ((sums[index + 1] - sums[index]) / SCALE)
        more = (sums[len(self._history)] - sums[index + 1]) / SCALE
        return math.ceil(before.input_tokens + (said + scale * more))

    def _sized(self, fit: Any, reported: int | None) -> Size:
        """Return the estimates of the request and of the history; see `estimate`."""
        sums, hidden = self._history.line.sums, self._fixed if fit else self._assumed
        total = sums[len(self._history)]
        exact = (total - sums[self._tail]) / SCALE + self._head
        local = math.ceil(exact)
        configured, calibrated = local + hidden, None
        effective = max(configured, reported or 0)
        if fit:
            calibrated = math.ceil(fit.predict(exact))
            effective = max(effective, calibrated)
        before = effective
        if not self._empty:
            whole = total / SCALE
            before = math.ceil(whole) + hidden
            if fit:
                before = max(before, math.ceil(fit.predict(whole)))
        return Size(local, configured, calibrated, reported, effective, before)

    def _due(self, effective: int, scale: float) -> bool:
        """Return whether the request must be compacted, or cannot be sent at all."""
        history = self._history
        newest = history.newest_user
        if newest is not None:
            tokens = history.tokens(newest, newest + 1)
            if round(tokens * scale) >= self._ceiling:
                return True
        return self.call.budget.due(effective, len(history) + self._more)

    def _pay(
        self, size: Size | None, local: int, step: Step, turn: int, billed: int
    ) -> None:
        cached, written = self.provider.desk.cached(), self.provider.written(step)
        self.rows.append(
            Figures(self._history, size, local, step, turn, billed, cached, written)
        )

    def _like(self, at: int) -> Call:
        """Return a call of the stretch, made after the first."""
        row, call = self.rows[at], object.__new__(Call)
        call.__dict__.update(self.call.__dict__)
        if size := row.size:
            signals = size.configured, size.calibrated, size.reported
            call._estimate = Estimate(size.local, self._fixed, *signals)
            call.__dict__["before_tokens"] = size.before
        call.history = row.history
        return call

    def record(self, at: int) -> CallRecord:
        """Return the record of a call."""
        return self._like(at).record(self.rows[at].input_tokens)

    def exchange(self, at: int) -> Exchange:
        """Return the request of a call with its bill."""
        row = self.rows[at]
        return Exchange(
            Sent(self, at), [], row.input_tokens, row.cached_tokens, row.output_tokens
        )

    def sent(self, at: int) -> list[BaseMessage]:
        """Return the messages of the request of a call."""
        call, system = self._like(at), self.provider.bench.system
        call.messages = call.messages[: len(call.history)]  # more may have come since
        return [*([system] if system else []), *call.carried()]

    def answers(self) -> Iterator[tuple[int, AIMessage]]:
        """Yield where each answer stands in the history, and the answer."""
        call, view = self.call, self.call.live.view
        named: dict[str, Any] = {}
        if not call.live.empty:
            named = {"view": call.live.key, "cut": view.cut, "tail": view.tail}
        for row in self.rows:
            entry = {
                "local_input_tokens": row.local,
                "provider_input_tokens": row.input_tokens,
                "fixed_tokens": call.fixed.tokens,
                "fingerprint": call.fixed.fingerprint,
                **named,
            }
            answer = self.provider.answer_of(
                row.step, row.input_tokens, row.cached_tokens, entry
            )
            yield len(row.history), answer


class Sent(LikeAList):
    """The messages of a request, put together when somebody looks at them."""

    def __init__(self, stretch: Stretch, at: int) -> None:
        self._of = stretch, at

    @cached_property
    def _messages(self) -> list[BaseMessage]:
        stretch, at = self._of
        return stretch.sent(at)

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: Any) -> Any:
        return self._messages[index]

    def __iter__(self) -> Iterator[BaseMessage]:
        return iter(self._messages)
