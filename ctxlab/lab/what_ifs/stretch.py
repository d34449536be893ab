"""A calm stretch: calls in a row that decide nothing, as figures alone.

Every figure is the one that the chain's formulas give (`Call`); of objects there is
the first call of the stretch, which the others are like. Records, answers and requests
are made of it when somebody looks, or when the chain goes on from here.

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.calibration import Fit, UsageSample
from ctxlab.chain.asked import asked_by_model
from ctxlab.chain.call import Call
from ctxlab.chain.samples import METADATA_KEY
from ctxlab.estimates import Estimate, estimate
from ctxlab.history import History
from ctxlab.lab.billing import Exchange
from ctxlab.lab.turns import Step
from ctxlab.lab.what_ifs.provider import Provider
from ctxlab.records import CallRecord


class Figures(NamedTuple):
    """One calm call: what was known of it, and its bill in tokens.

    Attributes:
        history: The history, measured.
        fit: What the bills had taught.
        size: The estimate of the request.
        last: Index of the answer before, and its bill; None for the first call.
        step: What was recorded.
        turn: Number of the turn, from 1.
        billed, cached, written: The bill.
    """

    history: History
    fit: Fit | None
    size: Estimate
    last: tuple[int, int] | None
    step: Step
    turn: int
    billed: int
    cached: int
    written: int


class Stretch:
    """Calm calls in a row, of one run.

    Args:
        call: The first of them, with what it carries; it is calm.
        provider: Who bills.

    Attributes:
        rows: The figures of each call so far.
    """

    def __init__(self, call: Call, provider: Provider) -> None:
        self.call, self.provider = call, provider
        self.rows: list[Figures] = []
        view = call.live.view
        self._tail = view.tail
        self._head = sum(call.live.head.values())
        self._more = len(view.kept) - view.tail + (call.live.note is not None)

    def begin(self, step: Step, turn: int) -> bool:
        """Take the first call; return False, and nothing is changed, if it cannot."""
        call = self.call
        size = self.provider.desk.size(call.carried())
        if not self._payable(size):
            return False
        self._pay(call.history, call.fit, call.estimate, None, step, turn, size)
        return True

    def goes_on(self) -> bool:
        """Return whether exactly one answer has come since, the last call's.

        A recording may go on with more answers, which nobody was billed for.
        """
        before = self.rows[-1].history
        self._history = self.call.policy.meter.measure(self.call.messages)
        return self._history.answer_count == before.answer_count + 1

    def take(self, step: Step, turn: int) -> bool:
        """Take the next call; return False if the chain has to.

        Then the provider has not answered either, and the last bill is learned.
        """
        before, history = self.rows[-1], self._history
        last = len(before.history), before.billed
        fit = self._learned(before, history)
        size = self._sized(history, fit, last, before)
        if self._due(history, fit, size):
            return False
        messages = self.call.messages[last[0] :]
        billed = self.provider.desk.size_with(messages)
        if asked_by_model(messages) or not self._payable(billed):
            return False
        self._pay(history, fit, size, last, step, turn, billed)
        return True

    def _learned(self, before: Figures, history: History) -> Fit | None:
        """Return what the bills teach, that of the last call included."""
        call = self.call
        if not call.policy.settings.use_reported_usage:
            return None
        fixed = call.fixed
        sample = UsageSample(
            before.size.local, before.billed, fixed.tokens, fixed.fingerprint
        )
        book: Any = call.policy.fits
        fit: Fit | None = book.fit_with(sample, history.answer_count, fixed.tokens)
        return fit

    def _sized(
        self, history: History, fit: Fit | None, last: tuple[int, int], before: Figures
    ) -> Estimate:
        call, reported = self.call, None
        if call.policy.settings.use_reported_usage:
            scale = fit.tokenizer_scale if fit else 1.0
            index, bill = last
            said = self.provider.said(before.step, before.written)
            if said is None:
                said = scale * history.tokens(index, index + 1)
            reported = float(bill + (said + scale * history.tokens(index + 1)))
        return estimate(
            history.tokens(self._tail) + self._head,
            call.fixed.tokens,
            overhead_tokens=call.assumed_overhead,
            line=fit,
            reported=reported,
        )

    def _due(self, history: History, fit: Fit | None, size: Estimate) -> bool:
        """Return whether the request must be compacted, or cannot be sent at all."""
        budget, newest = self.call.budget, history.newest_user
        if newest is not None and budget.ceiling:
            scale = fit.tokenizer_scale if fit else 1.0
            tokens = history.tokens(newest, newest + 1)
            if round(tokens * scale) >= budget.ceiling:
                return True
        return budget.due(size.effective, len(history) + self._more)

    def _payable(self, size: int) -> bool:
        """Return whether a request is answered, and its bill believed."""
        return (
            size > 0
            and self.provider.takes(size)
            and self.call.believed(size) is not None
        )

    def _pay(
        self,
        history: History,
        fit: Fit | None,
        size: Estimate,
        last: tuple[int, int] | None,
        step: Step,
        turn: int,
        billed: int,
    ) -> None:
        cached, written = self.provider.desk.cached(), self.provider.written(step)
        self.rows.append(
            Figures(history, fit, size, last, step, turn, billed, cached, written)
        )

    def _like(self, at: int) -> Call:
        """Return a call of the stretch, made after the first."""
        row, call = self.rows[at], copy(self.call)
        if row.last:
            call.history, call.fit = row.history, row.fit
            call.newest_user = row.history.newest_user
            call._estimate, call._bill = row.size, row.last
            for remembered in ("before_tokens", "language"):
                call.__dict__.pop(remembered, None)
        call.messages = call.messages[: len(row.history)]
        return call

    def record(self, at: int) -> CallRecord:
        """Return the record of a call."""
        return self._like(at).record(self.rows[at].billed)

    def exchange(self, at: int) -> Exchange:
        """Return the request of a call with its bill."""
        row = self.rows[at]
        return Exchange(Sent(self, at), [], row.billed, row.cached, row.written)

    def sent(self, at: int) -> list[BaseMessage]:
        """Return the messages of the request of a call."""
        system = self.provider.bench.system
        return [*([system] if system else []), *self._like(at).carried()]

    def answers(self) -> Iterator[tuple[int, AIMessage]]:
        """Yield where each answer stands in the history, and the answer."""
        call, view = self.call, self.call.live.view
        named: dict[str, Any] = {}
        if not call.live.empty:
            named = {"view": call.live.key, "cut": view.cut, "tail": view.tail}
        for row in self.rows:
            answer = self.provider.answer_of(row.step, row.billed, row.cached)
            entry = {
                "local_input_tokens": row.size.local,
                "provider_input_tokens": row.billed,
                "fixed_tokens": call.fixed.tokens,
                "fingerprint": call.fixed.fingerprint,
                **named,
            }
            answer.response_metadata = {**answer.response_metadata, METADATA_KEY: entry}
            yield len(row.history), answer


class Sent(Sequence[BaseMessage]):
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._messages == list(other)

    __hash__ = None  # type: ignore[assignment]
