"""What every peer gets alike: a conversation, a provider, a summary model, sizes.

The provider is that of row M20. It bills by the line through the two points that were
printed there: (local, provider) tokens before and after a compaction. Local tokens are
the seed counter's; the simulated provider counts in its own, so the slope is carried
over on the very history of the first point, and what system prompt and tools cost is
taken off the intercept, for the provider bills them by itself.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, cached_property
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import Field, SkipValidation

from ctxlab.lab import FactKeeper, SimulatedChatModel, Transcript, load_transcript
from ctxlab.tokens import CjkAwareCounter
from tests.benchmarks.peers.faults import Faults
from tests.benchmarks.peers.stopwatch import Stopwatch
from tests.benchmarks.peers.truth import exact_count, true_count

BEFORE, AFTER = (19_067, 46_000), (4_878, 22_978)  # printed; "about 46k"
M20_CONVERSATION = "chinese_support"


@dataclass(frozen=True)
class Sizes:
    """The settings that all peers share, in tokens."""

    window: int = 65_536
    trigger: int = 49_152
    keep: int = 24_000
    chunk: int = 12_000  # of history in one summary call
    overhead: int = 4_000  # assumed for what cannot be counted
    summary: int = 2_000  # longest summary


@dataclass(frozen=True)
class Line:
    """What a provider bills: overhead + scale x its own count, in tokens."""

    overhead: float
    scale: float


def printed_line() -> tuple[float, float]:
    """Return intercept and slope of the line through the two printed points."""
    slope = (BEFORE[1] - AFTER[1]) / (BEFORE[0] - AFTER[0])
    return AFTER[1] - slope * AFTER[0], slope


def history_before_the_paste(transcript: Transcript) -> list[BaseMessage]:
    """Return the messages before the longest user message: the first printed point."""
    messages, counter = list(transcript.messages), CjkAwareCounter()
    users = [m for m in messages if isinstance(m, HumanMessage)]
    return messages[: messages.index(max(users, key=counter.message))]


def prompt(transcript: Transcript) -> list[BaseMessage]:
    """Return what stands in front of every request."""
    return [SystemMessage(transcript.system)] if transcript.system else []


def schemas(transcript: Transcript) -> list[Any]:
    """Return the tools as they travel to the provider."""
    return [{"type": "function", "function": tool} for tool in transcript.tools]


@cache
def m20_line() -> Line:
    """Return the line of row M20 in the simulated provider's own tokens."""
    transcript = load_transcript(M20_CONVERSATION)
    history = history_before_the_paste(transcript)
    intercept, slope = printed_line()
    count = true_count()
    scale = slope * CjkAwareCounter()(history) / count(history)
    visible = scale * count(prompt(transcript), tools=schemas(transcript))
    return Line(overhead=intercept - visible, scale=scale)


class TimedKeeper(FactKeeper):
    """A summary model whose own work does not count as a middleware's.

    Each summary bears a mark, so that one which nobody got to see can be told.

    Attributes:
        written: Mark and prompt of each summary, oldest first.
    """

    watch: SkipValidation[Any] = None
    written: SkipValidation[list[tuple[str, str]]] = Field(default_factory=list)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        with self.watch.running(False):
            return super()._generate(*args, **kwargs)

    def _next_reply(self, messages: list[BaseMessage]) -> AIMessage:
        reply = super()._next_reply(messages)
        with self._lock:
            mark = f"[s{len(self.written):03d}]"
            self.written.append((mark, "\n".join(m.text for m in messages)))
        return reply.model_copy(update={"content": f"{reply.text}\n{mark}"})


@dataclass
class Stage:
    """One peer's turn on one conversation.

    Attributes:
        transcript: The conversation.
        sizes: The shared settings.
        line: How the provider bills.
        watch: Runs while a hook of the peer runs.
        faulty: The provider has the faults of `faults`, and the agent tries again.
        profile: Both models state the window in their profile.
        writer: The summary model; counts its calls and tokens.
        provider: The main model, without replies: a replay gives them.
        saver: Keeps the checkpoints.
        store: What is shared between processes, for whoever uses it.
        closing: Ends what a peer has opened.
    """

    transcript: Transcript
    sizes: Sizes = field(default_factory=Sizes)
    line: Line = field(default_factory=m20_line)
    watch: Stopwatch = field(default_factory=Stopwatch)
    faulty: bool = False
    profile: bool = False
    writer: TimedKeeper = field(init=False)
    provider: SimulatedChatModel = field(init=False)
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    store: InMemoryStore = field(default_factory=InMemoryStore)
    closing: ExitStack = field(default_factory=ExitStack)
    _schemas: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self._schemas = schemas(self.transcript)
        self.writer = TimedKeeper(
            self.transcript.facts,
            max_tokens=self.sizes.summary,
            language="zh" if self.transcript.language == "zh" else "en",
            watch=self.watch,
        )
        self.provider = SimulatedChatModel(
            context_window=self.sizes.window,
            fixed_overhead=self.line.overhead,
            scale=self.line.scale,
            with_profile=self.profile,
            usage=not self.faulty,
            failures=Faults(self.writer) if self.faulty else None,
            true_count=true_count(),
        )
        if self.profile:
            self.writer.profile = {"max_input_tokens": self.sizes.window}

    def exact(self, messages: Sequence[BaseMessage]) -> int:
        """Count as the provider bills: what the best counter would say, in tokens."""
        counted = self._prompt_tokens + exact_count()(messages)
        return math.ceil(self.line.overhead + self.line.scale * counted)

    @cached_property
    def _prompt_tokens(self) -> int:
        """Prompt and tools, counted once: they are the same in every request."""
        front = prompt(self.transcript)
        return exact_count()(front, tools=self._schemas or None)

    def visible(self, messages: Sequence[BaseMessage]) -> int:
        """Count as the provider bills, without what every request costs alike."""
        return math.ceil(self.line.scale * exact_count()(messages))

    @cached_property
    def folder(self) -> str:
        """A folder that is gone when the stage is closed."""
        return self.closing.enter_context(TemporaryDirectory())
