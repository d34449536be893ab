"""What would this conversation have cost under other settings? In milliseconds.

A replay runs a real agent; a what-if runs only the chain that the agent's middleware
runs, with every message counted beforehand. Decisions, call records and bills are
those of a full replay with the same arguments, call by call.

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
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Unpack

from langchain.agents.middleware import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from ctxlab.chain import Rules
from ctxlab.lab.billing import Exchange
from ctxlab.lab.recorded import RecordingEnds, no_result
from ctxlab.lab.replay_results import FailedTurn, Replay
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.turns import Step, Turn
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.lab.what_ifs.bench import Bench, bench_for
from ctxlab.lab.what_ifs.bills import BillingDesk, Prices
from ctxlab.lab.what_ifs.writer import QuickWriter
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import CallRecord
from ctxlab.settings import Settings


@dataclass(frozen=True)
class CallDetail:
    """Where one call stands: its turn (from 1), its requests, its summary prompts.

    The last two are half-open ranges of indices into `WhatIf.exchanges` and
    `WhatIf.summaries`.
    """

    turn: int
    requests: tuple[int, int]
    summaries: tuple[int, int]


@dataclass
class WhatIf(Replay):
    """What a conversation would have cost: a `Replay`, with a detail for each call.

    Attributes:
        settings: Settings of the middleware; None without it.
        details: As many as `calls`.
        summaries: Prompts to the summary model with their bills, oldest first.
    """

    settings: Settings | None = None
    details: list[CallDetail] = field(default_factory=list)
    summaries: list[Exchange] = field(default_factory=list)


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
    asked = repr((settings, prices, sorted(rules.items())))
    known = bench.results.get(asked)
    if known is None:
        run = _Run(bench, settings, prices, rules)
        with collection_put_off():
            for number, turn in enumerate(bench.turns, start=1):
                run.live(number, turn)
        known = bench.results.put(asked, run.lived)
    return known  # type: ignore[no-any-return]


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
        self.bench, self.prices = bench, prices
        self.desk = BillingDesk(prices, bench.fixed, bench.weights.copy())
        self.middleware: RequestOnlySummarizationMiddleware | None = None
        self.writer: QuickWriter | None = None
        if settings is not None:
            self.middleware, self.writer = bench.middleware(settings, rules)
            self.middleware.add_listener(self._take)
        self.model = SimulatedChatModel(
            context_window=prices.window,
            fixed_overhead=prices.overhead,
            scale=prices.scale,
        )
        self.state: list[BaseMessage] = []
        self.carried: list[BaseMessage] = []
        self.log: list[Exchange] = []
        self.lived = WhatIf(bench.transcript, self.model, self.writer, lambda: self.log)
        self.lived.settings, self.lived.state_messages = settings, self.state
        self.lived.summaries = self.writer.log if self.writer else []
        self._turn, self._asked, self._written = 0, 0, 0
        self._step: Step | None = None

    def live(self, number: int, turn: Turn) -> None:
        """Live one turn, as `replay` would."""
        inputs = [*self.carried, *turn.inputs]
        if not turn.steps:
            self.carried = [*inputs, *turn.rest]
            return
        self._turn = number
        self.state += inputs
        failed: str | None = None
        try:
            failed = self._agent_loop(turn)
        except RecordingEnds:
            pass
        except Exception as error:  # the user sees it and goes on
            failed = f"{type(error).__name__}: {error}"
        if failed:
            self.lived.failed_turns.append(FailedTurn(number, failed))
        kinds = HumanMessage | SystemMessage
        others: list[BaseMessage] = [m for m in turn.rest if isinstance(m, kinds)]
        self.carried = others if failed else list(turn.rest)

    def _agent_loop(self, turn: Turn) -> str | None:
        """Call the model and the tools in turn; return why the turn was refused."""
        for place, step in enumerate(turn.steps):
            answer = self._call(step)
            self.state.append(answer)
            if refused := refusal(answer):
                return f"refused: {refused}"
            if not answer.tool_calls:
                return None
            results = results_of(step, is_last=place + 1 == len(turn.steps))
            if results is None:  # the graph waits, and the user goes on
                return None
            self.state += results
        self._call(None)
        return None

    def _call(self, step: Step | None) -> AIMessage:
        self._step = step
        self._asked = len(self.log)
        self._written = len(self.writer.log) if self.writer else 0
        request: ModelRequest[Any] = ModelRequest(
            model=self.bench.model,
            messages=self.state,  # type: ignore[arg-type]
            system_message=self.bench.system,
            tools=list(self.bench.tools),
            state={"messages": self.state},  # type: ignore[arg-type]
            runtime=None,
        )
        if self.middleware is None:
            response: Any = self._provider(request)
        else:
            response = self.middleware.wrap_model_call(request, self._provider)
        if isinstance(response, ExtendedModelResponse):
            response = response.model_response
        answer: AIMessage = response.result[0]
        if step is not None and not refusal(answer):
            self.desk.weights.alike(self.bench.replies[id(step)].message, answer)
        return answer

    def _provider(self, request: ModelRequest[Any]) -> ModelResponse[Any]:
        """Answer as the simulated model would, from counts made beforehand."""
        messages: list[BaseMessage] = request.messages  # type: ignore[assignment]
        sent = [self.bench.system, *messages] if self.bench.system else list(messages)
        size = self.desk.size(messages)
        error: Exception | None = None
        if self.prices.window is not None and size > self.prices.window:
            error = overflow_error("openai", size, self.prices.window)
        elif self._step is None:
            error = RecordingEnds("the recording holds no further reply")
        if error:
            self.log.append(Exchange(sent, [], size, error=error))
            raise error
        cached = self.desk.cached()
        reply = self.bench.replies[id(self._step)]
        written = math.ceil(self.prices.scale * reply.tokens)
        self.log.append(Exchange(sent, [], size, cached, written))
        answer = reply.billed(size, cached, self.prices.scale)
        return ModelResponse(result=[answer])

    def _take(self, record: CallRecord) -> None:
        written = len(self.writer.log) if self.writer else 0
        requests = self._asked, len(self.log)
        self.lived.calls.append(record)
        self.lived.details.append(
            CallDetail(self._turn, requests, (self._written, written))
        )


def refusal(answer: AIMessage) -> str | None:
    """Return why a visible answer stands here instead of a model's, if one does."""
    reason = answer.response_metadata.get("ctxlab", {}).get("refused")
    return str(reason) if reason else None


def results_of(step: Step, *, is_last: bool) -> Sequence[BaseMessage] | None:
    """Return the recorded results of a step's calls, in their order.

    None: a call was never answered, and the recorded agent did not go on without it.
    """
    calls = step.reply.tool_calls
    missing = [str(c["id"]) for c in calls if str(c["id"]) not in step.results]
    if missing and is_last:
        return None
    return [
        step.results.get(str(call["id"]))
        or no_result(step, call["name"], str(call["id"]))
        for call in calls
    ]
