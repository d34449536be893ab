"""The loop of an agent, without an agent: turns, replies and results as recorded.

It goes where LangGraph would go with this recording, call by call; who answers a call
is left to the one who builds it.

>>> from ctxlab.lab.transcripts import load_transcript
>>> loop = AgentLoop(lambda step: step.reply)
>>> for number, turn in enumerate(load_transcript("order_desk").turns(), start=1):
...     loop.live(number, turn)
>>> len(loop.state), loop.failed_turns
(6, [])

Left out: what a replay notes about gaps in a recording. Lesson:
12_tune_on_a_transcript.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ctxlab.lab.recorded import RecordingEnds, no_result
from ctxlab.lab.replay_results import FailedTurn
from ctxlab.lab.turns import Step, Turn

Results = Callable[[Step, bool], Sequence[BaseMessage] | None]


class AgentLoop:
    """Turns, lived one after another.

    Args:
        call: Answers a model call, given its recorded step; None stands for a call
            that was never recorded, which is refused or raises `RecordingEnds`.
        results: Gives the results of a step's calls; see `results_of`.

    Attributes:
        state: The messages so far, as the checkpoint would have them; only ever grows.
        failed_turns: Turns that got no answer.
        turn: Number of the turn that is lived, from 1.
    """

    def __init__(
        self,
        call: Callable[[Step | None], AIMessage],
        results: Results | None = None,
    ) -> None:
        self.call, self.results = call, results or results_of
        self.state: list[BaseMessage] = []
        self.failed_turns: list[FailedTurn] = []
        self.turn = 0
        self._carried: list[BaseMessage] = []
        self._looked_through = 0

    def live(self, number: int, turn: Turn) -> None:
        """Live one turn, as `replay` would."""
        inputs = [*self._carried, *turn.inputs]
        if not turn.steps:
            self._carried = [*inputs, *turn.rest]
            return
        self.turn = number
        self.state += inputs
        failed: str | None = None
        try:
            failed = self._steps(turn)
        except RecordingEnds:
            pass
        except Exception as error:  # the user sees it and goes on
            failed = f"{type(error).__name__}: {error}"
        if failed:
            self.failed_turns.append(FailedTurn(number, failed))
        kinds = HumanMessage | SystemMessage
        others: list[BaseMessage] = [m for m in turn.rest if isinstance(m, kinds)]
        self._carried = others if failed else list(turn.rest)

    def _steps(self, turn: Turn) -> str | None:
        """Call the model and the tools in turn; return why the turn was refused."""
        for place, step in enumerate([*turn.steps, None], start=1):
            self._answer_invalid_calls()
            answer = self.call(step)
            self.state.append(answer)
            if refused := refusal(answer):
                return f"refused: {refused}"
            if step is None or not answer.tool_calls:
                return None
            results = self.results(step, place == len(turn.steps))
            if results is None:  # the graph waits, and the user goes on
                return None
            self.state += results
        return None

    def _answer_invalid_calls(self) -> None:
        """Put in what `create_agent` says of a call whose arguments are no JSON."""
        fresh = self.state[self._looked_through :]
        if any(isinstance(m, AIMessage) and m.invalid_tool_calls for m in fresh):
            answered = {
                m.tool_call_id for m in self.state if isinstance(m, ToolMessage)
            }
            del self.state[self._looked_through :]
            for message in fresh:
                self.state.append(message)
                invalid = getattr(message, "invalid_tool_calls", ())
                for name, given in ((call["name"], call["id"]) for call in invalid):
                    if given is not None and given not in answered:
                        answered.add(given)
                        self.state.append(not_executed(name or "unknown", given))
        self._looked_through = len(self.state)


@lru_cache(maxsize=1_000)  # always the same object, as recorded results are
def not_executed(name: str, call_id: str) -> ToolMessage:
    """Return the result that LangChain gives a call with broken arguments."""
    return ToolMessage(
        f"Tool call {name} with id {call_id} could not be executed - "
        "arguments were malformed or truncated.",
        name=name,
        tool_call_id=call_id,
        status="error",
    )


def refusal(answer: AIMessage) -> str | None:
    """Return why a visible answer stands here instead of a model's, if one does."""
    reason = answer.response_metadata.get("ctxlab", {}).get("refused")
    return str(reason) if reason else None


def results_of(step: Step, is_last: bool) -> Sequence[BaseMessage] | None:
    """Return the recorded results of a step's calls, in their order.

    None: a call was never answered, and the recorded agent did not go on without it.
    """
    calls = step.reply.tool_calls
    found = [step.results.get(str(call["id"])) for call in calls]
    if is_last and None in found:
        return None
    return [
        result or no_result(step, call["name"], str(call["id"]))
        for result, call in zip(found, calls, strict=True)
    ]
