"""A transcript laid out for what-ifs: turns, replies, sizes, all of it made once.

>>> from ctxlab.lab.transcripts import load_transcript
>>> desk = load_transcript("order_desk")
>>> bench = bench_for(desk)
>>> len(bench.turns), len(bench.replies), bench_for(desk) is bench
(2, 3, True)

Lesson: 12_tune_on_a_transcript.
"""

import math
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from ctxlab.chain.asked import COMPACT_TOOL
from ctxlab.chain.recent import Recent
from ctxlab.chain.samples import METADATA_KEY
from ctxlab.lab.billing import bytes_over_three, reply_tokens
from ctxlab.lab.importers import tools_from_calls
from ctxlab.lab.recorded import Recording, RecordingEnds
from ctxlab.lab.replay_report import middleware_for
from ctxlab.lab.sent import as_json
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.turns import Step
from ctxlab.lab.what_ifs.bills import Fixed, Weights
from ctxlab.lab.what_ifs.counted import Counted
from ctxlab.lab.what_ifs.loop import AgentLoop, results_of
from ctxlab.lab.what_ifs.memory import RunBook
from ctxlab.lab.what_ifs.pieces import Lines
from ctxlab.lab.what_ifs.writer import QuickWriter
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.middleware.building import counter_from
from ctxlab.overflow import is_context_overflow
from ctxlab.settings import Settings
from ctxlab.summaries import HANDOFF_PROMPT
from ctxlab.summaries.labelled import letters_in

REMEMBERED = 4  # transcripts
REMEMBERED_RESULTS = 8
MOST_HELD = 20_000_000  # characters of summaries, prompts and clipped results


@dataclass
class Reply:
    """A recorded reply as a provider gives it, with its tokens at scale 1."""

    message: AIMessage
    tokens: float
    reasoning: float

    def billed(
        self, size: int, cached: int, scale: float, entry: Mapping[str, Any]
    ) -> AIMessage:
        """Return the reply with the usage of a request of this size, in tokens.

        Args:
            size: Tokens of the request.
            cached: How many of them were cached.
            scale: Billed tokens for each token of the true count.
            entry: What ctxlab writes into it, if anything.

        It belongs to who asks: no other run gets the same object.
        """
        written = math.ceil(scale * self.tokens)
        usage = {
            "input_tokens": size,
            "output_tokens": written,
            "total_tokens": size + written,
            "input_token_details": {"cache_read": cached},
            "output_token_details": {"reasoning": math.floor(scale * self.reasoning)},
        }
        told: dict[str, Any] = {"usage_metadata": usage}
        if entry:
            noted = {**self.message.response_metadata, METADATA_KEY: dict(entry)}
            told["response_metadata"] = noted
        return self.message.model_copy(update=told)


class Results:
    """The newest results by what was asked, so that a knob moved back costs nothing."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._known: OrderedDict[str, Any] = OrderedDict()

    def get(self, asked: str) -> Any:
        """Return what was found under these arguments, or None."""
        return self._known.get(asked)

    def put(self, asked: str, result: Any) -> None:
        """Remember a result."""
        self._known[asked] = result
        while len(self._known) > self.size:
            self._known.popitem(last=False)


class Bench:
    """A transcript, measured.

    Args:
        transcript: The conversation.

    Attributes:
        replies: Each recorded reply, by the `id()` of its step.
        course: The messages of the conversation as it goes when no turn fails.
        may_ask: Whether the model of the recording ever asks for a compaction.
        fixed: What stands in every request.
        weights: Bytes of every message.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.results = Results(REMEMBERED_RESULTS)
        self.turns = transcript.turns()
        self.system = SystemMessage(transcript.system) if transcript.system else None
        self.tools = Recording().tools(_schemas(transcript))
        self.model = SimulatedChatModel()  # only its name matters: the desk bills
        bound: Any = self.model.bind_tools(self.tools)
        schemas = as_json(list(bound.kwargs["tools"])) if self.tools else ""
        self.fixed = Fixed(self.system, len(schemas.encode()))
        self.replies = {
            id(step): _reply(step) for turn in self.turns for step in turn.steps
        }
        self._results: dict[tuple[int, bool], Sequence[BaseMessage] | None] = {}
        self.course = self._course()
        self.may_ask = any(each.name == COMPACT_TOOL for each in transcript.messages)
        self.weights = Weights()
        for message in self.course:
            self.weights.of(message)
        _, self.keeper = middleware_for(transcript, None)
        self.tracks = Recent()
        self._letters: dict[int, tuple[int, int]] = {}
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget the contents that runs have left."""
        keeping: Any = self.keeper.replies
        self.lines = Lines(keeping.facts)
        self._counting: dict[Hashable, Counted] = {}

    @property
    def held(self) -> int:
        """Characters that are held for runs to come."""
        counters = (counted.counter for counted in self._counting.values())
        return self.lines.held + sum(counter.held for counter in counters)

    def _course(self) -> list[BaseMessage]:
        loop = AgentLoop(self.recorded, self.results_of)
        for number, turn in enumerate(self.turns, start=1):
            loop.live(number, turn)
        return loop.state

    def recorded(self, step: Step | None) -> AIMessage:
        """Return the reply of a step, before it is billed.

        Raises:
            RecordingEnds: There is no step.
        """
        if step is None:
            raise RecordingEnds("the recording holds no further reply")
        return self.replies[id(step)].message

    def results_of(self, step: Step, is_last: bool) -> Sequence[BaseMessage] | None:
        """Return the recorded results of a step's calls, always the same objects."""
        key = id(step), is_last
        if key not in self._results:
            self._results[key] = results_of(step, is_last)
        return self._results[key]

    def middleware(
        self, settings: Settings, rules: Any
    ) -> tuple[RequestOnlySummarizationMiddleware, QuickWriter]:
        """Return the middleware that a replay would run, with all it needs counted."""
        if self.held > MOST_HELD:
            self._begin_anew()
        counted = self.counted(settings)
        counter = counted.counter
        made = RequestOnlySummarizationMiddleware.from_settings(
            self.keeper, settings, counter=counter, **rules
        )
        writer = QuickWriter(
            self.keeper,
            self.lines,
            counted.spans,
            prompt=settings.summary_prompt or HANDOFF_PROMPT,
            counter=counter,
            chunk_tokens=settings.summary_chunk_tokens,
            is_overflow=is_context_overflow,
        )
        made.policy.writer = writer
        # A trial warns nobody: what it has to say stands in its records.
        made.policy.warn_once = _say_nothing  # type: ignore[method-assign,assignment]
        made.policy.fits = RunBook(made.policy.fits.calibration, self.tracks)
        made.policy.letters = self.letters
        made.policy.fixed_parts = counted.fixed_parts
        made.policy.clipped = counted.clipped
        return made, writer

    def letters(self, message: BaseMessage) -> tuple[int, int]:
        """Return the letters in a user's message; see `letters_in`."""
        known = self._letters.get(id(message))
        if known is None:  # the course holds it: its id stays its own
            known = self._letters[id(message)] = letters_in(message.text)
        return known

    def counted(self, settings: Settings) -> Counted:
        """Return all that depends on the counter alone, made once for each."""
        counter = counter_from(settings)
        if counter.name not in self._counting:
            self._counting[counter.name] = Counted(counter, self.course)
        return self._counting[counter.name]


_benches: OrderedDict[int, Bench] = OrderedDict()


def bench_for(transcript: Transcript) -> Bench:
    """Return the bench of a transcript; the newest few are remembered."""
    known = _benches.get(id(transcript))
    if known is None or known.transcript is not transcript:
        known = _benches[id(transcript)] = Bench(transcript)
    _benches.move_to_end(id(transcript))
    while len(_benches) > REMEMBERED:
        _benches.popitem(last=False)
    return known


def _say_nothing(*_: str) -> None:
    pass


def _schemas(transcript: Transcript) -> list[dict[str, Any]]:
    known = {schema["name"] for schema in transcript.tools}
    called = tools_from_calls(transcript.messages)
    return [*transcript.tools, *(t for t in called if t["name"] not in known)]


def _reply(step: Step) -> Reply:
    """Return a reply as the simulated model gives it: metadata and all."""
    given = step.reply.model_copy(
        update={"usage_metadata": None, "response_metadata": {}}
    )
    answered = SimulatedChatModel(replies=[given]).invoke("")
    total, reasoning = reply_tokens(answered, bytes_over_three)
    return Reply(answered, total, reasoning)
