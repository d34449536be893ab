"""The recorded side of a replay: what the model says next, what a tool returned.

A `Recording` stands at one step of one turn. The model's next answer moves it one
step on; a request that fails does not, so a retry gets the same answer. The tools
are real `BaseTool`s that hand back the recorded result of the current step, which
keeps call ids apart that a thread uses twice.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> from ctxlab.lab.turns import split_turns
>>> recording = Recording()
>>> recording.go_to(split_turns([HumanMessage("a"), AIMessage("1")])[0])
>>> recording.reply([]).text
'1'

Where the recorded user did not wait for a result, the tool waits as well: the graph
is interrupted, and the next turn goes on from there. Left out: answers to requests
that were never recorded (`RecordingEnds`). Lesson: 00_start_here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.types import interrupt
from pydantic import SkipValidation

from ctxlab.lab.turns import Step, Turn


class RecordingEnds(RuntimeError):
    """The agent asked for more than was recorded in this turn."""


class Recording:
    """A place in a recorded turn: which step comes next.

    Attributes:
        made_up: Calls of this turn whose results were never recorded and had to be
            invented, because the recorded agent went on without them.
    """

    def __init__(self) -> None:
        self._steps: Sequence[Step] = ()
        self._next = 0
        self.made_up: list[str] = []

    def go_to(self, turn: Turn) -> None:
        """Stand before the first step of `turn`."""
        self._steps, self._next, self.made_up = turn.steps, 0, []

    @property
    def unused(self) -> int:
        """How many recorded replies of this turn nobody asked for."""
        return len(self._steps) - self._next

    @property
    def step_size(self) -> int:
        """How many calls the current step makes; 0 before the first step."""
        return len(self._steps[self._next - 1].reply.tool_calls) if self._next else 0

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Return the next recorded AI message, whatever the request was.

        Raises:
            RecordingEnds: The turn has no further reply.
        """
        if not self.unused:
            raise RecordingEnds("the recording holds no further reply in this turn")
        self._next += 1
        # Usage and metadata of another run would pass for figures of this one.
        return self._steps[self._next - 1].reply.model_copy(
            update={"usage_metadata": None, "response_metadata": {}}
        )

    def result(self, name: str, call_id: str) -> ToolMessage | None:
        """Return the recorded result of a call of the current step.

        None: the call was never answered, and the agent did not go on without it.
        """
        step = self._steps[self._next - 1]
        if call_id in step.results:
            return step.results[call_id].model_copy()
        if not self.unused:
            return None
        self.made_up.append(call_id)
        return no_result(step, name, call_id)

    def tools(self, schemas: Iterable[Mapping[str, Any]]) -> list[BaseTool]:
        """Return a tool for each schema (name, description, parameters)."""
        return [
            RecordedTool(
                name=schema["name"],
                description=schema.get("description", ""),
                args_schema=dict(schema["parameters"]),
                recording=self,
            )
            for schema in schemas
        ]


def no_result(step: Step, name: str, call_id: str) -> ToolMessage:
    """Return what stands for the result of a call that was never recorded."""
    return ToolMessage(
        "No result was recorded.",
        tool_call_id=call_id,
        name=name,
        status="error",
        id=f"{step.reply.id}-{call_id}",
    )


class RecordedTool(BaseTool):
    """A tool that returns what was recorded, with its id, name and status."""

    recording: SkipValidation[Any]

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """Return the recorded `ToolMessage` of a tool call, or wait for ever."""
        found = self.recording.result(self.name, input["id"])
        return found or interrupt(f"no result of call {input['id']!r} was recorded")

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """Return the recorded `ToolMessage` of a tool call, or wait for ever."""
        return self.invoke(input, config)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a recorded tool is called with a tool call")
