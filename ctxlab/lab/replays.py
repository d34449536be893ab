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

After a failed turn the user goes on, as in life; the next turn has to work on the
state as LangGraph left it. Left out: replies that depend on the request; the tuner
replays without an agent (`what_if`). Lesson: 00_start_here.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab.billing import Exchange
from ctxlab.lab.importers import tools_from_calls
from ctxlab.lab.real_models import RecordedAnswers
from ctxlab.lab.recorded import Recording, RecordingEnds
from ctxlab.lab.replay_results import FailedTurn, Replay, state_fingerprint
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.turns import Turn

__all__ = ["FailedTurn", "Progress", "Replay", "areplay", "replay", "state_fingerprint"]

Progress = Callable[[int, int], None]


def _refusal(messages: Sequence[BaseMessage]) -> str | None:
    last = messages[-1] if messages else None
    if not isinstance(last, AIMessage):
        return None
    refused = last.response_metadata.get("ctxlab", {}).get("refused")
    return f"refused: {refused}" if refused else None


def _unanswered(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the call ids of the last AI message that no result follows."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, AIMessage):
            waiting = [str(call["id"]) for call in message.tool_calls]
        elif (answer := getattr(message, "tool_call_id", None)) in waiting:
            waiting.remove(str(answer))
    return waiting


@dataclass
class _Asked:
    """The model that is asked, what must stand in front of it, and its bills."""

    model: Any
    middleware: list[Any]
    log: Callable[[], list[Exchange]]


def _asked_model(model: Any, recording: Recording) -> _Asked:
    if isinstance(model, SimulatedChatModel):
        simulated = model.fresh(replies=recording.reply)
        return _Asked(simulated, [], lambda: simulated.log)
    answers = RecordedAnswers(recording)
    return _Asked(model, [answers], lambda: list(answers.log))


class _Run:
    """A replay in progress: all of it but the calls that block or are awaited."""

    def __init__(
        self,
        transcript: Transcript,
        middleware: Sequence[Any],
        model: Any,
        checkpointer: Any,
        *,
        window: int | None,
        overhead: float,
        thread_id: str | None,
        summary_model: Any,
        progress: Progress | None,
    ) -> None:
        self.recording, self.progress = Recording(), progress
        self.middleware, self.carried = list(middleware), list[BaseMessage]()
        asked = _asked_model(_settle(model, window, overhead), self.recording)
        self.replay = Replay(transcript, asked.model, summary_model, asked.log)
        self.config: Any = {"configurable": {"thread_id": thread_id or transcript.name}}
        self.agent: Any = create_agent(
            asked.model,
            self.recording.tools(self._schemas()),
            system_prompt=transcript.system or None,
            middleware=[*self.middleware, *asked.middleware],
            checkpointer=checkpointer or InMemorySaver(),
        )

    def _schemas(self) -> list[dict[str, Any]]:
        """Return the tools of the transcript, and those that only its calls show."""
        schemas = list(self.replay.transcript.tools)
        given = [t.name for each in self.middleware for t in getattr(each, "tools", ())]
        known = {schema["name"] for schema in schemas} | set(given)
        called = tools_from_calls(self.replay.transcript.messages)
        unknown = [schema for schema in called if schema["name"] not in known]
        if unknown:
            names = ", ".join(schema["name"] for schema in unknown)
            self.replay.notes.append(f"schemas taken from the calls: {names}")
        return [*schemas, *unknown]

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have call records of the middlewares handed to the replay meanwhile."""
        stops = [
            each.add_listener(self.replay.calls.append)
            for each in self.middleware
            if hasattr(each, "add_listener")
        ]
        try:
            yield
        finally:
            for stop in stops:
                if callable(stop):
                    stop()

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
                self.note(number, "no reply recorded")
            if self.progress:
                self.progress(number, len(turns))
        if self.carried:
            self.note(len(turns), f"messages not given at the end: {len(self.carried)}")

    def finish(
        self, number: int, turn: Turn, error: Any, messages: list[BaseMessage]
    ) -> None:
        """Take down how a turn ended: the error, if any, and the state after it."""
        self.replay.state_messages = messages
        reason = self._failure(number, error) or _refusal(messages)
        if reason:
            self.replay.failed_turns.append(FailedTurn(number, reason))
        self._note_gaps(number, bool(reason), messages)
        self._carry(number, turn, bool(reason))
        self.replay.add_row(number, reason)

    def note(self, number: int, text: str) -> None:
        """Say what could not be replayed as recorded."""
        self.replay.notes.append(f"turn {number}: {text}")

    def _failure(self, number: int, error: Any) -> str | None:
        if isinstance(error, RecordingEnds):  # the recorded user broke off, too
            self.note(number, str(error))
            return None
        return f"{type(error).__name__}: {error}" if error else None

    def _note_gaps(
        self, number: int, failed: bool, messages: Sequence[BaseMessage]
    ) -> None:
        if self.recording.unused and not failed:
            self.note(number, f"replies not asked for: {self.recording.unused}")
        for call_id in self.recording.made_up:
            self.note(number, f"no result of call {call_id!r} recorded; told so")
        unanswered = _unanswered(messages)
        for call_id in unanswered:
            self.note(number, f"call {call_id!r} stays unanswered in the state")
        # LangGraph keeps them aside, and forgets them when new input comes.
        if unanswered and (beside := self.recording.step_size - len(unanswered)):
            self.note(number, f"results lost beside it when the user goes on: {beside}")

    def _carry(self, number: int, turn: Turn, failed: bool) -> None:
        """Keep for the next turn what no agent loop produces at its place."""
        kinds = HumanMessage | SystemMessage
        others: list[BaseMessage] = [m for m in turn.rest if isinstance(m, kinds)]
        # What followed an answer that never came would stand there alone.
        self.carried = others if failed else list(turn.rest)
        if left_out := len(turn.rest) - len(self.carried):
            self.note(number, f"messages left out after the lost answer: {left_out}")
        if others:
            self.note(number, f"messages moved to the next turn: {len(others)}")


def _settle(model: Any, window: int | None, overhead: float) -> Any:
    if model is None:
        return SimulatedChatModel(context_window=window, fixed_overhead=overhead)
    if window is not None or overhead:
        raise ValueError("give window and overhead, or a model that has them: not both")
    if isinstance(model, SimulatedChatModel) and model.replies is not None:
        raise ValueError("a replay answers from the recording: give a model no replies")
    return model


def replay(
    transcript: Transcript,
    middleware: Sequence[Any] = (),
    model: Any = None,
    checkpointer: Any = None,
    *,
    window: int | None = None,
    overhead: float = 0,
    thread_id: str | None = None,
    summary_model: Any = None,
    progress: Progress | None = None,
    records: bool = True,
) -> Replay:
    """Replay a transcript through a real agent and return what happened.

    Args:
        transcript: The recorded conversation.
        middleware: Agent middlewares, outermost first. One that has
            `add_listener(callback)` hands its call records to `Replay.calls`.
        model: Instead of window and overhead: a simulated model without replies
            (a copy is asked), or a real one, which bills but does not answer.
        checkpointer: A LangGraph checkpointer; in memory by default.
        window: Most input tokens of a request; None takes everything.
        overhead: Tokens billed on every request for what is not in it.
        thread_id: Thread on the checkpointer; the transcript's name by default.
        summary_model: A model whose `.requests` count as summary calls.
        progress: Called with (turn, number of turns) after each turn.
        records: False asks no middleware for call records, as in production without
            `on_call`: `Replay.calls` stays empty.

    Raises:
        ValueError: Window and model both given, or no room beside the overhead.
    """
    run = _Run(
        transcript,
        middleware,
        model,
        checkpointer,
        window=window,
        overhead=overhead,
        thread_id=thread_id,
        summary_model=summary_model,
        progress=progress,
    )
    with run.listening() if records else nullcontext():
        for number, turn, inputs in run.turns():
            error = None
            try:
                state = run.agent.invoke({"messages": inputs}, run.config)
            except Exception as caught:  # the user sees it and goes on
                error, state = caught, run.agent.get_state(run.config).values
            run.finish(number, turn, error, state.get("messages", []))
    return run.replay


async def areplay(
    transcript: Transcript,
    middleware: Sequence[Any] = (),
    model: Any = None,
    checkpointer: Any = None,
    *,
    window: int | None = None,
    overhead: float = 0,
    thread_id: str | None = None,
    summary_model: Any = None,
    progress: Progress | None = None,
    records: bool = True,
) -> Replay:
    """Do what `replay` does, with the agent's async methods."""
    run = _Run(
        transcript,
        middleware,
        model,
        checkpointer,
        window=window,
        overhead=overhead,
        thread_id=thread_id,
        summary_model=summary_model,
        progress=progress,
    )
    with run.listening() if records else nullcontext():
        for number, turn, inputs in run.turns():
            error = None
            try:
                state = await run.agent.ainvoke({"messages": inputs}, run.config)
            except Exception as caught:  # the user sees it and goes on
                error = caught
                state = (await run.agent.aget_state(run.config)).values
            run.finish(number, turn, error, state.get("messages", []))
    return run.replay
