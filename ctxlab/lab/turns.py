"""The turns of a recorded conversation: what is given, what the agent does with it.

A turn starts with user messages and ends where the agent loop ends: at an AI
message without calls. A step is one AI message with the results of its calls. A
replay gives the inputs of a turn and answers with its steps.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> chat = [HumanMessage("a"), AIMessage("1"), HumanMessage("b"), AIMessage("2")]
>>> [(turn.start, turn.stop, len(turn.steps)) for turn in split_turns(chat)]
[(0, 2, 1), (2, 4, 1)]

Real threads hold messages that no agent loop produces at their place: a second AI
message after the last, a system message between a result and the next answer.
Those are the turn's `rest`; a replay gives them with the next turn's inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage


@dataclass
class Step:
    """One AI message and the recorded results of its calls, by call id."""

    reply: AIMessage
    results: dict[str, ToolMessage] = field(default_factory=dict)

    @property
    def waiting(self) -> set[str]:
        """Call ids that have no result yet."""
        return {str(call["id"]) for call in self.reply.tool_calls} - set(self.results)


@dataclass
class Turn:
    """Messages `start..stop` (half-open indices) of a conversation, sorted by use."""

    start: int
    stop: int = 0
    inputs: list[BaseMessage] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    rest: list[BaseMessage] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """True when the last step answers the user, as a finished loop does."""
        return bool(self.steps) and not self.steps[-1].reply.tool_calls

    def add(self, message: BaseMessage) -> None:
        """Sort one more message in: an input, a step, a result, or the rest."""
        if isinstance(message, ToolMessage) and (step := self._asked(message)):
            step.results[message.tool_call_id] = message
        elif isinstance(message, AIMessage) and self.inputs and not self.complete:
            self.steps.append(Step(message))
        else:
            (self.rest if self.steps else self.inputs).append(message)

    def _asked(self, result: ToolMessage) -> Step | None:
        """Return the newest step with a call that waits for this result."""
        waiting = (s for s in reversed(self.steps) if result.tool_call_id in s.waiting)
        return next(waiting, None)


def _results_follow(messages: Sequence[BaseMessage], index: int, turn: Turn) -> bool:
    """Say whether an open call of `turn` is answered before the next AI message."""
    waiting = turn.steps[-1].waiting if turn.steps else set()
    for message in messages[index:] if waiting else ():
        if isinstance(message, AIMessage):
            return False
        if isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            return True
    return False


def split_turns(messages: Sequence[BaseMessage]) -> list[Turn]:
    """Return the turns of a conversation, oldest first; together they are all of it."""
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        opens = not turns or (
            isinstance(message, HumanMessage)
            and bool(turns[-1].steps)
            and not _results_follow(messages, index, turns[-1])
        )
        if opens:
            turns.append(Turn(start=index))
        turns[-1].add(message)
        turns[-1].stop = index + 1
    return turns
