"""One model call on its way through the chain: what is known about it so far.

The layers read and change a `Call`; none of them talks to another. Its `live` view
says what will be carried; its `estimate` says how large that is.

Lesson: 10_protect_the_call.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage

from ctxlab.calibration import Fit, usable_input_tokens
from ctxlab.calibration.samples import usable_point
from ctxlab.chain.merging import merged
from ctxlab.chain.policy import Policy
from ctxlab.chain.reasoning import not_thinking
from ctxlab.chain.samples import answer_tokens, entry_of, sample_in
from ctxlab.chain.threads import conversation_name
from ctxlab.estimates import Estimate, estimate
from ctxlab.records import Action, CallRecord, whole_parts
from ctxlab.summaries.labelled import is_summary, language_by
from ctxlab.views import WHOLE_HISTORY, LiveView

ANSWERS_TO_SEARCH = 32
ABSURD = 2  # times the limit: a limit may leave half of a window to the answer
BISECTIONS = 24  # to less than a token, from a window of ten million


class Call:
    """State of one model call.

    Attributes:
        messages: The whole history, oldest first.
        history: The same, measured.
        answers: Indices of the newest AI messages, newest first.
        live: The view that the request will carry.
        action: The last layer that decided.
    """

    def __init__(self, policy: Policy, request: ModelRequest[Any]) -> None:
        self.policy = policy
        self.request = request
        self.messages: Sequence[BaseMessage] = request.messages
        self.history = policy.meter.measure(request.messages)
        self.answers = self.history.answers(ANSWERS_TO_SEARCH)[::-1]
        self.fixed = policy.fixed_parts.of(request)
        self.budget = policy.budget(request)
        self.live = WHOLE_HISTORY
        self.action: Action = "pass"
        self.notes: list[str] = []
        self.summary_failed = False
        self.summary_calls = 0
        self.summary_input_tokens = 0
        self._estimate: Estimate | None = None
        self._bill: tuple[int, int] | None = None  # index of an answer, and its bill

    def go_on(self, billed: int) -> None:
        """Become the next call of a run whose list of messages has grown since.

        Everything else is as it was: request, budget, view, and what was decided.

        Args:
            billed: Bill of the request; its answer stands behind its messages now.
        """
        self._bill = len(self.history), billed
        self.history = self.policy.meter.measure(self.messages)
        self.answers = self.history.answers(ANSWERS_TO_SEARCH)[::-1]
        self._estimate = None
        for remembered in ("fit", "before_tokens", "language"):
            self.__dict__.pop(remembered, None)

    @property
    def newest_user(self) -> int | None:
        """Index of the newest user message, or None."""
        return self.history.newest_user

    @cached_property
    def conversation(self) -> str:
        """What the conversation is known by in this process."""
        return conversation_name(self.request.runtime, self.history)

    @cached_property
    def fit(self) -> Fit | None:
        """What the bills of the conversation teach; None before the first."""
        if not self.policy.settings.use_reported_usage:
            return None
        return self.policy.fits.fit(
            self.conversation, self.messages, self.history, self.fixed.tokens
        )

    @property
    def local(self) -> float:
        """Counted tokens of the messages the request carries."""
        return self._local(self.live)

    @property
    def fixed_overhead(self) -> float:
        """Best knowledge of what is billed besides the messages, in tokens."""
        if self.fit:
            return self.fit.fixed_overhead
        return max(self.fixed.tokens, self.assumed_overhead)

    @property
    def assumed_overhead(self) -> int:
        """What to assume for what cannot be counted; less where a limit shrank keep."""
        settings, keep = self.policy.settings, self.budget.keep_tokens
        shrunk = settings.keep[0] == "messages" or keep < settings.keep[1]
        if self.budget.limit and shrunk:
            return min(settings.overhead_tokens, keep // 6)
        return settings.overhead_tokens

    @property
    def counted(self) -> int:
        """Counted tokens of the request, without anything assumed."""
        return self.estimate.local + self.estimate.fixed

    @property
    def scale(self) -> float:
        """Provider tokens for each local token."""
        return self.fit.tokenizer_scale if self.fit else 1.0

    def room_below(self, ceiling: int) -> float:
        """Return how many local tokens a request may carry to stay below a size.

        Without a fit that is the size less the fixed part (row M12); a fit is asked
        on the safe side of its guard band.
        """
        hidden = self.fixed.tokens if self.fit else self.fixed_overhead
        room = max(0.0, ceiling - 1 - hidden)
        if self.fit is None:
            return room
        low, high = 0.0, room
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            inside = self.fit.guarded(middle) < ceiling - 1
            low, high = (middle, high) if inside else (low, middle)
        return low

    def tail_tokens(self, shortened: Mapping[int, int]) -> Callable[[int], float]:
        """Return a function: tokens from an index on, with these messages shortened."""
        tokens = self.history.tokens
        saved = {
            index: max(0.0, tokens(index, index + 1) - size)
            for index, size in shortened.items()
        }
        return lambda index: (
            tokens(index) - sum(less for at, less in saved.items() if at >= index)
        )

    @property
    def message_count(self) -> int:
        """Number of messages the request carries."""
        carried = len(self.messages) - self.live.view.tail + len(self.live.view.kept)
        return carried + (self.live.note is not None)

    def due(self) -> bool:
        """Return whether the request must be compacted."""
        return self.budget.due(self.estimate.effective, self.message_count)

    def due_by_messages(self) -> bool:
        """Return whether the number of messages alone asks for a compaction."""
        return self.budget.due(0, self.message_count)

    @property
    def estimate(self) -> Estimate:
        """Size of the request as it stands, measured when it is asked for."""
        if self._estimate is None:
            self._estimate = self._measured(self.live)
        return self._estimate

    @cached_property
    def before_tokens(self) -> int:
        """Estimated tokens of the whole history: the request without a view."""
        if self.live.empty:
            return self.estimate.effective
        return self._measured(WHOLE_HISTORY).effective

    def _measured(self, live: LiveView) -> Estimate:
        return estimate(
            self._local(live),
            self.fixed.tokens,
            overhead_tokens=self.assumed_overhead,
            line=self.fit,
            reported=self._reported(live),
        )

    def _local(self, live: LiveView, stop: int | None = None) -> float:
        tail = self.history.tokens(live.view.tail, stop)
        return tail + sum(live.head.values()) if live.head else tail

    def bill_of(self, message: BaseMessage) -> int | None:
        """Return what was billed for an answer, if it can be meant.

        What was answered has fitted, so far more than the limit is a proxy's fancy.
        """
        usage = getattr(message, "usage_metadata", None)
        return self.believed(usable_input_tokens(usage))

    def believed(self, billed: int | None) -> int | None:
        """Return a bill; None for one that is absurd."""
        limit = self.budget.limit
        return None if billed and limit and billed > ABSURD * limit else billed

    def adopt(self, live: LiveView, action: Action) -> None:
        """Carry this view from now on."""
        self.live, self.action, self._estimate = live, action, None

    def outgoing(self) -> ModelRequest[Any]:
        """Return the request to send; without a view it is the very same object."""
        if self.live.empty:
            return self.request
        request = self.request.override(messages=self.carried())
        turn_is_open = self.live.view.unreasoned > (self.newest_user or 0)
        return not_thinking(request) if turn_is_open else request

    def carried(self) -> list[Any]:
        """Return the messages that the request carries."""
        messages: list[Any] = self.live.carried(self.messages)
        if self.policy.merge_summary and self.live.note:
            return merged(messages)
        return messages

    @cached_property
    def language(self) -> str:
        """Return the language of the user, `"en"` or `"zh"`."""
        asked = [self.messages[index] for index in self.history.questions()]
        return language_by(map(self.policy.letters, asked))

    def record(self, provider_input_tokens: int | None = None) -> CallRecord:
        """Return the ledger entry of this call as it stands."""
        now = self.estimate
        return CallRecord(
            action=self.action,
            parts=whole_parts(self._parts(), now.local + now.fixed),
            estimate=now,
            before_tokens=self.before_tokens,
            after_tokens=now.effective,
            cut=self.live.view.cut,
            summary_calls=self.summary_calls,
            summary_input_tokens=self.summary_input_tokens,
            dropped_messages=self.live.view.dropped,
            provider_input_tokens=provider_input_tokens,
            notes=tuple(self.notes),
        )

    def _parts(self) -> dict[str, float]:
        parts = self.history.parts(self.live.view.tail)
        for kind, tokens in self.live.head.items():
            parts[kind] = parts.get(kind, 0.0) + tokens
        parts["system"] = parts.get("system", 0.0) + self.fixed.system
        parts["tools"] = self.fixed.tools
        return parts

    def _reported(self, live: LiveView) -> float | None:
        """Return the last bill plus what was added, if a request extends it."""
        if not self.policy.settings.use_reported_usage:
            return None
        if self._bill:  # the newest, and for a request through this call's view
            index, bill = self._bill
            return float(bill + self._since(index)) if live is self.live else None
        for index in self.answers:
            message = self.messages[index]
            entry = entry_of(message)
            if entry.get("refused"):
                continue
            if not self._extends(entry, index, live):
                return None
            sample = sample_in(entry)
            point = sample and usable_point(sample, self.fixed.tokens)
            billed = point[1] if point else self.bill_of(message)
            if billed:
                older = not sample and self._summarised(index)
                return None if older else billed + self._since(index)
        return None

    def _extends(self, entry: Mapping[str, Any], index: int, live: LiveView) -> bool:
        """Return whether a request begins with the one that was answered there."""
        if entry.get("view", "") != live.key or index < live.view.tail:
            return False
        # An edit or a deletion before the answer shows in what is counted there now.
        sent: int | None = entry.get("local_input_tokens")
        return sent is None or sent == math.ceil(self._local(live, index))

    def _summarised(self, index: int) -> bool:
        """Tell if a summary stands before: an answer may be older than it (B29)."""
        return any(map(is_summary, self.messages[:index]))

    def _since(self, index: int) -> float:
        """Return what an answer and everything behind it add, in provider tokens."""
        answer = answer_tokens(self.messages[index])
        if answer is None:
            answer = self.scale * self.history.tokens(index, index + 1)
        return answer + self.scale * self.history.tokens(index + 1)
