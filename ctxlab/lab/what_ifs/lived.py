"""What would this conversation have cost under other settings? In milliseconds.

A replay runs a real agent; a what-if runs only the chain that the agent's middleware
runs, and of it only what decides, with every message counted beforehand. Decisions,
call records and bills are those of a full replay with the same arguments, call by call.

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.settings import Settings
>>> small = Settings(trigger=("tokens", 400), keep=("tokens", 200))
>>> tried = what_if(load_transcript("order_desk"), small, window=600)
>>> [record.action for record in tried.calls], tried.failed_turns
(['pass', 'pass', 'pass'], [])

Assumed, as in a replay: replies and results are the recorded ones; the provider bills
`overhead + scale * true count`, UTF-8 bytes / 3; summaries are those of `FactKeeper`.
Left out: what a replay notes about gaps in a recording. Lesson:
12_tune_on_a_transcript.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Unpack

from langchain.agents.middleware import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.boundaries import boundaries_of
from ctxlab.chain import Rules
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.turns import Step
from ctxlab.lab.what_ifs.bench import Bench, bench_for
from ctxlab.lab.what_ifs.bills import Prices
from ctxlab.lab.what_ifs.calm import CalmCalls
from ctxlab.lab.what_ifs.later import Later
from ctxlab.lab.what_ifs.loop import AgentLoop, refusal
from ctxlab.lab.what_ifs.memory import CourseMeter
from ctxlab.lab.what_ifs.outcome import CallDetail, WhatIf
from ctxlab.lab.what_ifs.provider import Provider
from ctxlab.lab.what_ifs.stretch import Stretch
from ctxlab.lab.what_ifs.writer import QuickWriter
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import CallRecord
from ctxlab.settings import Settings


def what_if(
    transcript: Transcript | Bench,
    settings: Settings | None = None,
    *,
    window: int | None = None,
    overhead: float = 0,
    scale: float = 1.0,
    **rules: Unpack[Rules],
) -> WhatIf:
    """Return what a full replay of a transcript would give, without running one.

    Args:
        transcript: The conversation; measured the first time, remembered after.
        settings: Settings of `RequestOnlySummarizationMiddleware`; None without it.
        window: Most input tokens of a request; None takes everything.
        overhead: Tokens billed on every request for what is not in it.
        scale: Billed tokens for each token of the true count.
        **rules: Further arguments of the middleware; see `ctxlab.chain.Rules`.
    """
    bench = transcript if isinstance(transcript, Bench) else bench_for(transcript)
    prices = Prices(window, overhead, scale)
    if not all(map(_is_plain, rules.values())):
        return _lived(bench, settings, prices, rules)
    asked = repr((settings, prices, sorted(rules.items())))
    known = bench.results.get(asked)
    if known is None:
        known = _lived(bench, settings, prices, rules)
        bench.results.put(asked, known)
    return known  # type: ignore[no-any-return]


def _is_plain(rule: Any) -> bool:
    """Return whether a rule is what it looks like: a function has but an address."""
    if isinstance(rule, list | tuple):
        return all(map(_is_plain, rule))
    return rule is None or isinstance(rule, str | int | float)


def _lived(
    bench: Bench, settings: Settings | None, prices: Prices, rules: Any
) -> WhatIf:
    with collection_put_off():
        return _Run(bench, settings, prices, rules).live()


@contextmanager
def collection_put_off() -> Iterator[None]:
    """Collect no garbage for some milliseconds.

    A full collection looks through every object of every module there is; with plotly
    and Jupyter loaded that takes longer than a what-if. It comes afterwards, then.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Run:
    """One conversation lived under one setting."""

    def __init__(
        self, bench: Bench, settings: Settings | None, prices: Prices, rules: Any
    ) -> None:
        self.bench, self.provider = bench, Provider(bench, prices)
        self.loop = AgentLoop(self._call, bench.results_of)
        self.middleware: RequestOnlySummarizationMiddleware | None = None
        self.writer: QuickWriter | None = None
        self.meter: CourseMeter | None = None
        self.calm: CalmCalls | None = None
        if settings is not None:
            self.middleware, self.writer = bench.middleware(settings, rules)
            self.writer.original = self.provider.desk.weights.original
            policy = self.middleware.policy
            listeners = list(policy.listeners)
            self.middleware.add_listener(self._take)
            policy.meter = self.meter = bench.counted(settings).run_meter()
            policy.boundaries = bench.counted(settings).boundaries
            if settings.enabled:
                self.calm = CalmCalls(
                    policy,
                    self._request,
                    self.provider,
                    self.loop,
                    listeners,
                    self._promise,
                )
        self.lived = self._outcome(settings)
        self._asked, self._written = 0, 0

    def _outcome(self, settings: Settings | None) -> WhatIf:
        """Return what will be told: its lists grow as the run goes on."""
        prices, log = self.provider.prices, self.provider.log
        model = SimulatedChatModel(
            context_window=prices.window,
            fixed_overhead=prices.overhead,
            scale=prices.scale,
        )
        calls: Any = Later()
        details: Any = Later()
        return WhatIf(
            self.bench.transcript,
            model,
            self.writer,
            lambda: log,
            calls=calls,
            details=details,
            failed_turns=self.loop.failed_turns,
            state_messages=self.loop.state,
            settings=settings,
            turns=len(self.bench.turns),
            summaries=self.writer.log if self.writer else [],
        )

    def live(self) -> WhatIf:
        """Live all turns, as `replay` would."""
        for number, turn in enumerate(self.bench.turns, start=1):
            self.loop.live(number, turn)
            if self.middleware and self.meter and self.loop.failed_turns:
                self.meter.strayed = True
                self.middleware.policy.boundaries = boundaries_of
        if self.calm:
            self.calm.end()
        # What is made later is made of the loop's own list, which nobody changes.
        self.lived.state_messages = list(self.loop.state)
        return self.lived

    def _call(self, step: Step | None) -> AIMessage:
        if self.calm and (answer := self.calm.answer(step)):
            return answer
        self._asked = len(self.provider.log)
        self._written = len(self.writer.log) if self.writer else 0
        return self._chained(step)

    def _chained(self, step: Step | None) -> AIMessage:
        """Return what comes of a call that goes through the middleware."""
        request = self._request()

        def answered(request: ModelRequest[Any]) -> ModelResponse[Any]:
            messages: list[BaseMessage] = request.messages  # type: ignore[assignment]
            return ModelResponse(result=[self.provider.answer(step, messages)])

        if self.middleware is None:
            response: Any = answered(request)
        else:
            response = self.middleware.wrap_model_call(request, answered)
        if isinstance(response, ExtendedModelResponse):
            response = response.model_response
        answer: AIMessage = response.result[0]
        if step is not None and not refusal(answer):
            self.provider.desk.weights.alike(self.bench.recorded(step), answer)
        return answer

    def _request(self) -> ModelRequest[Any]:
        return ModelRequest(
            model=self.bench.model,
            messages=self.loop.state,  # type: ignore[arg-type]
            system_message=self.bench.system,
            tools=list(self.bench.tools),
            state={"messages": self.loop.state},  # type: ignore[arg-type]
            runtime=None,
        )

    def _promise(self, stretch: Stretch) -> None:
        """Tell of the calls of a stretch: their figures now, their objects later."""
        first, rows = len(self.provider.log), stretch.rows
        written = len(self.writer.log) if self.writer else 0

        def detail(at: int) -> CallDetail:
            requests = first + at, first + at + 1
            return CallDetail(rows[at].turn, requests, (written, written))

        told: Any = self.lived
        told.calls.promise(len(rows), stretch.record, lambda at: stretch.common)
        told.details.promise(len(rows), detail)
        self.provider.log.promise(len(rows), stretch.exchange, rows.__getitem__)

    def _take(self, record: CallRecord) -> None:
        written = len(self.writer.log) if self.writer else 0
        requests = self._asked, len(self.provider.log)
        self.lived.calls.append(record)
        self.lived.details.append(
            CallDetail(self.loop.turn, requests, (self._written, written))
        )
