"""A recorded conversation, lived once more under a window and middlewares.

A replay runs a real agent (`create_agent`) on a real checkpointer: the user's
messages are given turn by turn, the model answers with the recorded replies, the
tools with the recorded results. What changes is what the requests carry, what they
cost, and which of them the window refuses.

>>> from ctxlab.lab.transcripts import load_transcript
>>> lived = replay(load_transcript("order_desk"), window=8_000)
>>> lived.failed_turns, len(lived.requests)
([], 3)
>>> replay(load_transcript("order_desk"), window=90).failed_turns[0].turn
1

After a failed turn the user goes on, as in life; the next turn must work on the
state as LangGraph left it. Left out: replies that depend on the request; the tuner
replays without an agent (`what_if`). Lesson: 00_start_here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab.recorded import Recording, RecordingEnds
from ctxlab.lab.sent import as_json
from ctxlab.lab.simulated import Exchange, SimulatedChatModel
from ctxlab.lab.transcripts import Fact, Transcript
from ctxlab.lab.turns import Turn

Progress = Callable[[int, int], None]


class FailedTurn(NamedTuple):
    """A turn (1 is the first) that got no answer, and why."""

    turn: int
    reason: str


def state_fingerprint(messages: Sequence[BaseMessage]) -> list[tuple[Any, ...]]:
    """Return what must be equal in two checkpoints: usage and metadata left out.

    A tuple per message: id, type, content, tool calls, call id, name, status.
    """
    return [
        (
            message.id,
            message.type,
            as_json(message.content),
            as_json(getattr(message, "tool_calls", [])),
            getattr(message, "tool_call_id", None),
            message.name,
            getattr(message, "status", None),
        )
        for message in messages
    ]


@dataclass
class Replay:
    """What happened: requests, bills, failures and the messages in the end.

    Attributes:
        calls: One `CallRecord` per model call, from middlewares that keep them.
        failed_turns: Turns that ended in an exception or in a visible refusal.
        state_messages: The messages of the checkpoint after the last turn.
        notes: What could not be replayed as recorded, and why.
    """

    transcript: Transcript
    model: SimulatedChatModel
    summary_model: Any = None
    calls: list[Any] = field(default_factory=list)
    failed_turns: list[FailedTurn] = field(default_factory=list)
    state_messages: list[BaseMessage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _summaries_before: int = 0

    @property
    def exchanges(self) -> list[Exchange]:
        """Every request that reached the provider, with its bill, oldest first."""
        return self.model.log

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """Messages of every request that reached the provider, refused ones too."""
        return [exchange.messages for exchange in self.exchanges]

    @property
    def answered(self) -> list[list[BaseMessage]]:
        """Messages of the requests that the provider answered."""
        return [each.messages for each in self.exchanges if each.error is None]

    @property
    def summary_calls(self) -> list[Any]:
        """Requests that reached `summary_model` during the replay."""
        requests = getattr(self.summary_model, "requests", [])
        return list(requests[self._summaries_before :])

    def facts_in(self, request: Sequence[BaseMessage]) -> list[Fact]:
        """Return the planted facts whose text stands in a request."""
        return self.transcript.facts_in(request)

    @property
    def facts_in_last_request(self) -> list[Fact]:
        """The planted facts that stand in the newest request; [] without any."""
        return self.facts_in(self.requests[-1]) if self.requests else []

    def rows(self) -> list[dict[str, Any]]:
        """Return one plain row per turn; token figures are what the provider bills."""
        return [dict(row) for row in self._rows]

    def table(self) -> Any:
        """Return the rows as a pandas DataFrame (needs the extra `lab`)."""
        import pandas as pd

        return pd.DataFrame(self._rows).set_index("turn")


def _refusal(messages: Sequence[BaseMessage]) -> str | None:
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage):
        return None
    refused = last.response_metadata.get("ctxlab", {}).get("refused")
    return f"refused: {refused}" if refused else None


class _Run:
    """One replay in progress: everything but the calls that block or are awaited."""

    def __init__(
        self,
        transcript: Transcript,
        middleware: Sequence[Any],
        model: SimulatedChatModel,
        summary_model: Any,
        progress: Progress | None,
    ) -> None:
        self.recording = Recording()
        self.middleware, self.progress = middleware, progress
        model = model.fresh(replies=self.recording.reply)
        self.replay = Replay(transcript, model, summary_model)
        self.replay._summaries_before = len(self.replay.summary_calls)
        self.carried: list[BaseMessage] = []

    def agent(self, checkpointer: Any) -> Any:
        transcript = self.replay.transcript
        return create_agent(
            self.replay.model,
            self.recording.tools(transcript.tools),
            system_prompt=transcript.system or None,
            middleware=list(self.middleware),
            checkpointer=checkpointer,
        )

    def turns(self) -> Iterator[tuple[int, Turn, list[BaseMessage]]]:
        """Yield number, turn and inputs of each turn that can be replayed."""
        turns = self.replay.transcript.turns()
        for number, turn in enumerate(turns, start=1):
            inputs = [*self.carried, *turn.inputs]
            if turn.steps:
                self.recording.go_to(turn)
                yield number, turn, inputs
            else:
                self.carried = [*inputs, *turn.rest]
                self._note(number, "no reply recorded; given with the next turn")
            if self.progress:
                self.progress(number, len(turns))
        if self.carried:
            self._note(len(turns), f"last {len(self.carried)} messages not given")

    def finish(
        self,
        number: int,
        turn: Turn,
        error: Exception | None,
        messages: list[BaseMessage],
    ) -> None:
        """Take down how a turn ended, given the state after it."""
        reason = self._reason(number, error) or _refusal(messages)
        self.carried = list(turn.rest)
        if reason:
            self.replay.failed_turns.append(FailedTurn(number, reason))
            # What followed an answer that never came would stand there alone.
            kinds = (HumanMessage, SystemMessage)
            self.carried = [m for m in turn.rest if isinstance(m, kinds)]
        elif self.recording.unused:
            self._note(number, f"{self.recording.unused} recorded replies not used")
        self.replay.state_messages = messages
        self._add_row(number, reason)

    def _reason(self, number: int, error: Exception | None) -> str | None:
        if isinstance(error, RecordingEnds):
            self._note(number, str(error))
            return None
        return f"{type(error).__name__}: {error}" if error else None

    def _note(self, number: int, text: str) -> None:
        self.replay.notes.append(f"turn {number}: {text}")

    def _add_row(self, number: int, reason: str | None) -> None:
        replay, rows = self.replay, self.replay._rows
        before = {
            key: sum(row[key] for row in rows) for key in ("requests", "summaries")
        }
        spent = replay.exchanges[before["requests"] :]
        paid = [exchange for exchange in spent if exchange.error is None]
        rows.append(
            {
                "turn": number,
                "messages": len(replay.state_messages),
                "requests": len(spent),
                "largest": max((each.input_tokens for each in spent), default=0),
                "billed": sum(each.input_tokens for each in paid),
                "cached": sum(each.cached_tokens for each in paid),
                "written": sum(each.output_tokens for each in paid),
                "summaries": len(replay.summary_calls) - before["summaries"],
                "failed": reason,
            }
        )


def _begin(
    transcript: Transcript,
    middleware: Sequence[Any],
    model: SimulatedChatModel | None,
    checkpointer: Any,
    thread_id: str | None,
    window: int | None,
    overhead: float,
    summary_model: Any,
    progress: Progress | None,
) -> tuple[_Run, Any, dict[str, Any]]:
    if model is not None and (window is not None or overhead):
        raise ValueError("give window and overhead, or a model that has them: not both")
    if model is not None and getattr(model, "replies", None) is not None:
        raise ValueError("a replay answers from the recording: give a model no replies")
    if model is None:
        model = SimulatedChatModel(context_window=window, fixed_overhead=overhead)
    run = _Run(transcript, middleware, model, summary_model, progress)
    agent = run.agent(checkpointer or InMemorySaver())
    config = {"configurable": {"thread_id": thread_id or transcript.name}}
    return run, agent, config


class _Listening:
    """Middlewares that keep call records hand them to the replay while it runs."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.stops: list[Any] = []

    def __enter__(self) -> None:
        for each in self.run.middleware:
            if hasattr(each, "add_listener"):
                self.stops.append(each.add_listener(self.run.replay.calls.append))

    def __exit__(self, *_: object) -> None:
        for stop in self.stops:
            if callable(stop):
                stop()


def replay(
    transcript: Transcript,
    middleware: Sequence[Any] = (),
    model: SimulatedChatModel | None = None,
    checkpointer: Any = None,
    *,
    window: int | None = None,
    overhead: float = 0,
    thread_id: str | None = None,
    summary_model: Any = None,
    progress: Progress | None = None,
) -> Replay:
    """Replay a transcript through a real agent and return what happened.

    Args:
        transcript: The recorded conversation.
        middleware: Agent middlewares, outermost first. One with an
            `add_listener(callback)` hands its call records to `Replay.calls`.
        model: A simulated model without replies, instead of window and overhead.
        checkpointer: Any LangGraph checkpointer; in memory by default.
        window: Most input tokens of a request; None takes everything.
        overhead: Tokens billed on every request for what is not in it.
        thread_id: Thread on the checkpointer; the transcript's name by default.
        summary_model: A model whose `.requests` count as summary calls.
        progress: Called with (turn, number of turns) after each turn.

    Raises:
        ValueError: Window and model both given, or no room beside the overhead.
    """
    run, agent, config = _begin(
        transcript,
        middleware,
        model,
        checkpointer,
        thread_id,
        window,
        overhead,
        summary_model,
        progress,
    )
    with _Listening(run):
        for number, turn, inputs in run.turns():
            error = None
            try:
                agent.invoke({"messages": inputs}, config)
            except Exception as caught:  # the user sees it and goes on
                error = caught
            state = agent.get_state(config).values
            run.finish(number, turn, error, state.get("messages", []))
    return run.replay


async def areplay(
    transcript: Transcript,
    middleware: Sequence[Any] = (),
    model: SimulatedChatModel | None = None,
    checkpointer: Any = None,
    *,
    window: int | None = None,
    overhead: float = 0,
    thread_id: str | None = None,
    summary_model: Any = None,
    progress: Progress | None = None,
) -> Replay:
    """Do what `replay` does through the agent's async methods."""
    run, agent, config = _begin(
        transcript,
        middleware,
        model,
        checkpointer,
        thread_id,
        window,
        overhead,
        summary_model,
        progress,
    )
    with _Listening(run):
        for number, turn, inputs in run.turns():
            error = None
            try:
                await agent.ainvoke({"messages": inputs}, config)
            except Exception as caught:  # the user sees it and goes on
                error = caught
            state = (await agent.aget_state(config)).values
            run.finish(number, turn, error, state.get("messages", []))
    return run.replay
