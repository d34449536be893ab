"""A request led through the chain by hand, and what it carries at each layer.

The chain's wishes are granted here: a canned handoff stands for the summary model,
and a provider that bills what is sent plus `hidden` tokens refuses what is over the
window. No model is asked.

>>> from ctxlab.lab.transcripts import load_transcript
>>> led = walk(load_transcript("engineering_tools"), history=8_000, hidden=9_000)
>>> [(step["name"], step["said"]) for step in led.steps][:2]
[('asked', ''), ('sent', 'refused')]
>>> led.calls
2

Left out: remembered views and bills of earlier calls (lessons 09 and 07): every
request here is the first of its process. Lesson: 10_protect_the_call.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from ctxlab.chain import Acquire, CallModel, Effect, Notify, Policy, Save, protect
from ctxlab.history import HistoryMeter
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.settings import Settings
from ctxlab.summaries import SummaryWriter, WriteSummaries, is_summary, summary_message
from ctxlab.tokens import ScriptCounter
from ctxlab.tool_results import SHORT_TOKENS, clip
from ctxlab.views import View, carried

HISTORY, NEWEST, WINDOW, TRIGGER = 35_000, 50, 16_384, 14_000  # tokens
HANDOFF = """## SESSION INTENT
Find out why the tax of an invoice differs from the sum of its line taxes.

## SUMMARY
Stored is the figure rounded once; lines are rounded one by one since 9 December.

## ARTIFACTS
tallybook/tax.py, tests/test_tax_total.py

## NEXT STEPS
Answer the newest question."""


class Desk:
    """A conversation measured once, to be asked about in many sizes.

    Args:
        transcript: The conversation; its results are the text of long messages.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.counter = ScriptCounter()
        self.meter = HistoryMeter(self.counter)
        self._messages = transcript.messages
        self._system = SystemMessage(transcript.system)
        self.model = SimulatedChatModel()
        history = self.meter.measure(self._messages)
        turns = [n for n, m in enumerate(self._messages) if m.type == "human"]
        self._ends = [*turns, len(self._messages)]
        self._sizes = [history.tokens(0, end) for end in self._ends]
        results = [m.text for m in self._messages if m.type == "tool"]
        self._text = max(results, key=len, default="")
        self._density = self.counter.text(self._text) / max(1, len(self._text))

    def request(self, history: int, newest: int) -> ModelRequest[Any]:
        """Return a request: whole turns of at most `history` tokens, and a message."""
        end = self._ends[bisect_right(self._sizes, history) - 1]
        length = int(newest / (self._density or 1))
        text = self._text * (length // max(1, len(self._text)) + 1)
        asked = HumanMessage(text[:length])
        messages: list[Any] = [*self._messages[:end], asked]
        return ModelRequest(
            model=self.model, messages=messages, system_message=self._system
        )

    def parts(self, messages: Sequence[BaseMessage]) -> dict[str, float]:
        """Return the tokens of a request by kind, its system message included."""
        parts = self.meter.measure(messages).parts()
        system = parts.get("system", 0.0) + self.counter.message(self._system)
        note = sum(map(self.counter.message, filter(is_summary, messages)))
        user = parts.get("user", 0.0) - note
        return {**parts, "system": system, "summary": note, "user": user}


class _Quiet(Policy):
    """A policy that logs nothing: the picture shows what it would warn of."""

    def warn_once(self, conversation: str, cause: str, sentence: str) -> None:
        """Say nothing."""


class Walk:
    """One request on its way through the chain, step by step.

    Args:
        desk: The conversation.
        request: What an agent would send.
        policy: The settings of the chain.
        window: Tokens the provider takes.
        hidden: Tokens it bills besides what is sent.

    Attributes:
        steps: Rows with a name, parts by kind, hidden tokens, and what was decided.
        calls: Number of calls to the provider.
    """

    def __init__(
        self,
        desk: Desk,
        request: ModelRequest[Any],
        policy: Policy,
        *,
        window: int,
        hidden: int,
    ) -> None:
        self._desk, self._request = desk, request
        self._window, self._hidden = window, hidden
        self._view, self.calls = View(), 0
        self.steps: list[dict[str, Any]] = []
        self._step("asked", request.messages)
        flow = protect(policy, request)
        reply: Any = None
        try:
            while True:
                failed = isinstance(reply, Exception)
                effect = flow.throw(reply) if failed else flow.send(reply)
                reply = self._granted(effect)
        except StopIteration:
            self._end()

    def _end(self) -> None:
        said = self.steps[-1]["said"]
        if said != "answered":
            self._say(f"{said}{', ' if said else ''}visible answer")

    def _granted(self, effect: Effect) -> Any:
        """Do what the chain wishes; return the answer, or the provider's error."""
        match effect:
            case CallModel(request):
                return self._provider(request)
            case WriteSummaries(prompts):
                return [AIMessage(HANDOFF)] * len(prompts)
            case Acquire(lock):
                return lock.acquire()
            case Save(_, value):
                self._looks_at(View.from_json(value) or View())
            case Notify(listener, value):
                listener(value)
        return None

    def _provider(self, request: ModelRequest[Any]) -> Any:
        self.calls += 1
        again = "" if self.calls == 1 else "5 "
        billed = round(self._step(f"{again}sent", request.messages, self._hidden))
        if billed > self._window:
            self._say("refused")
            return overflow_error("vllm", billed, self._window)
        self._say("answered")
        return ModelResponse([AIMessage("Understood.")])

    def _looks_at(self, view: View) -> None:
        """Draw a view that the chain remembers."""
        old, self._view = self._view, view
        harder = "5 " if self.calls else ""
        if view.cut > old.cut:
            self._step(f"{harder or '3 '}summary", self._carried(view))
            self._say(f"{view.cut} messages told")
        elif view.tail > old.tail:
            self._step(f"{harder or '4 '}trim", self._carried(view))
            self._say(f"{view.dropped} messages dropped")
        elif any(size != SHORT_TOKENS for _, size in view.shortened):
            self._step(f"{harder or '4 '}trim", self._carried(view))
            self._say("results clipped")
        else:
            self._step("2 shorten", self._carried(view))
            self._say(f"{len(view.shortened)} results shortened")

    def _carried(self, view: View) -> list[BaseMessage]:
        messages, count = self._request.messages, self._desk.counter.text
        note = summary_message(view.summary, view.language) if view.summary else None
        short = {at: clip(messages[at], size, count) for at, size in view.shortened}
        return carried(view, messages, note, short)

    def _step(
        self, name: str, messages: Sequence[BaseMessage], hidden: int = 0
    ) -> float:
        parts = self._desk.parts(messages)
        row = {"name": name, "parts": parts, "hidden": hidden, "said": ""}
        self.steps.append({**row, "action": "pass"})
        return sum(parts.values()) + hidden

    def _say(self, what: str) -> None:
        self.steps[-1]["said"] = what


def walk(
    talk: Transcript | Desk,
    *,
    history: int = HISTORY,
    newest: int = NEWEST,
    window: int = WINDOW,
    trigger: int = TRIGGER,
    hidden: int = 0,
) -> Walk:
    """Lead a request through the chain; all sizes are tokens.

    Args:
        talk: The conversation, or one that is measured already.
        history: Most tokens of the whole turns before the newest message.
        newest: Size of the newest message, about.
        window: What the provider takes; the chain knows it.
        trigger: A request over this size is compacted, to half of it.
        hidden: What the provider bills besides; nobody tells the chain.
    """
    desk = talk if isinstance(talk, Desk) else Desk(talk)
    settings = Settings(
        trigger=("tokens", trigger),
        keep=("tokens", trigger // 2),
        overhead_tokens=0,
        max_input_tokens=window,
    )
    writer = SummaryWriter(desk.model, counter=desk.counter)
    policy = _Quiet(settings, desk.counter, writer)
    policy.meter = desk.meter
    request = desk.request(history, newest)
    return Walk(desk, request, policy, window=window, hidden=hidden)
