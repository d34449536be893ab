"""Everything the chain needs to know besides the request: made once per middleware.

Lesson: 10_protect_the_call.
"""

import logging
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage

from ctxlab.boundaries import boundaries_of
from ctxlab.budgets import Budget, budget_for, input_window, output_reserve
from ctxlab.calibration import AnchoredCalibration, Calibration
from ctxlab.chain.fixed import FixedParts, model_name
from ctxlab.chain.recent import Recent
from ctxlab.chain.samples import FitBook
from ctxlab.history import HistoryMeter
from ctxlab.records import CallRecord, Compaction
from ctxlab.settings import Settings
from ctxlab.summaries import SummaryWriter
from ctxlab.summaries.labelled import letters_in
from ctxlab.tokens import TokenCounter
from ctxlab.tool_results import clip
from ctxlab.views import ViewMemory

logger = logging.getLogger("ctxlab")


class Rules(TypedDict, total=False):
    """What the chain may and may not do, besides the settings.

    Attributes:
        calibration: From counted to billed tokens; default `AnchoredCalibration()`.
        remember: Reuse a view until it must change (default); without, every call
            over the trigger pays for a summary.
        on_failure: `"answer"` tells the user (default); `"raise"` raises
            `SummaryError` or the provider's error.
        pin: A predicate, or names of tools, whose messages stay verbatim.
        on_call: Receives a `CallRecord` for every call, refused ones included.
        before_compaction: Receives a `Compaction` before its summary is written.
        after_compaction: Receives a `Compaction` that took place.
        overflow_patterns: Further wording of context overflows, regular expressions.
        merge_summary: Put the summary into the user message behind it, for chat
            templates that refuse two user messages in a row.
        shorten_results: Stale results over this size (tokens, default 2,000) are
            shortened at a compaction; None never.
        keep_results_of: Names of tools whose results are never shortened.
    """

    calibration: Calibration | None
    remember: bool
    on_failure: Literal["answer", "raise"]
    pin: Callable[[BaseMessage], bool] | Collection[str] | None
    on_call: Callable[[CallRecord], Any] | None
    before_compaction: Callable[[Compaction], Any] | None
    after_compaction: Callable[[Compaction], Any] | None
    overflow_patterns: Sequence[str]
    merge_summary: bool
    shorten_results: int | None
    keep_results_of: Sequence[str]


@dataclass
class Policy:
    """Settings, rules, tools of the trade, and what was learned about models.

    Attributes:
        settings: Every knob, checked.
        counter: Local token counter.
        writer: Writes summaries.

    The others are those of `Rules`.

    Raises:
        ValueError: An overflow pattern is no regular expression.
    """

    settings: Settings
    counter: TokenCounter
    writer: SummaryWriter
    calibration: Calibration | None = None
    remember: bool = True
    on_failure: Literal["answer", "raise"] = "answer"
    pin: Callable[[BaseMessage], bool] | Collection[str] | None = None
    on_call: Callable[[CallRecord], Any] | None = None
    before_compaction: Callable[[Compaction], Any] | None = None
    after_compaction: Callable[[Compaction], Any] | None = None
    overflow_patterns: Sequence[str] = ()
    merge_summary: bool = False
    shorten_results: int | None = 2_000
    keep_results_of: Sequence[str] = ()

    def __post_init__(self) -> None:
        for pattern in self.overflow_patterns:
            _check_pattern(pattern)
        self.listeners = [self.on_call] if self.on_call else []
        self.memory = ViewMemory()
        self.learned_limits: dict[str, int] = {}
        self._budgets: dict[tuple[int | None, int | None, int], Budget] = {}
        self.fixed_parts = FixedParts(self.counter)
        self.rests, self.warned, self.waiting = Recent(), Recent(), Recent()
        # A trial that asks again and again puts some with a memory here.
        self.letters: Callable[[BaseMessage], tuple[int, int]] = _letters
        self.boundaries: Callable[[Sequence[BaseMessage], int], list[int]]
        self.boundaries = boundaries_of
        self.clipped: Callable[[BaseMessage, int], BaseMessage]
        self.clipped = partial(clip, count_text=self.counter.text)
        self._measure_anew()

    def forget(self) -> None:
        """Forget all conversations; what was learned about models stays.

        Caches hold contents of many threads by content. They are emptied as a whole:
        the next call of each measures, or loads, once more.
        """
        self.memory.forget()
        for recent in (self.rests, self.warned, self.waiting):
            recent.clear()
        self._measure_anew()

    def _measure_anew(self) -> None:
        self.meter = HistoryMeter(self.counter)
        self.fits = FitBook(self.calibration or AnchoredCalibration())

    def pinned(self, message: BaseMessage) -> bool:
        """Return whether a message must stay verbatim."""
        if self.pin is None:
            return False
        if callable(self.pin):
            return bool(self.pin(message))
        return message.type == "tool" and message.name in self.pin

    def budget(self, request: ModelRequest[Any]) -> Budget:
        """Return limit, trigger and keep for a request."""
        profile = getattr(request.model, "profile", None)
        window, from_profile = input_window(profile, self.settings.max_input_tokens)
        reserve = 0
        if window and from_profile:
            attributes = getattr(request.model, "__dict__", {})
            reserve = output_reserve(window, request.model_settings, attributes)
        limits = self.learned_limits  # mostly none: spare the question for a name
        learned = limits.get(model_name(request.model)) if limits else None
        known = window, learned, reserve
        if known not in self._budgets:
            self._budgets[known] = budget_for(
                self.settings, window=window, learned=learned, reserve=reserve
            )
        return self._budgets[known]

    def learn_limit(self, model: Any, limit: int | None) -> None:
        """Remember the limit that an error stated, if it is news."""
        name = model_name(model)
        known = self.learned_limits.get(name)
        if limit and (known is None or limit < known):
            self.learned_limits[name] = limit

    def warn_once(self, conversation: str, cause: str, sentence: str) -> None:
        """Log a warning once per conversation and cause."""
        if not self.warned.get((conversation, cause)):
            self.warned.put((conversation, cause), True)
            logger.warning(sentence)


def _letters(message: BaseMessage) -> tuple[int, int]:
    return letters_in(message.text)


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"overflow pattern {pattern!r} is no regular expression: {error}"
        ) from None
