"""What a step of the graph costs: a hook beside the model call is a node of its own.

LangGraph runs a `before_model` or `after_model` hook as a step, and saves a checkpoint
after it; `wrap_model_call` runs inside the model's step. So a middleware with such a
hook has its users pay for a step on every call, whatever the hook does. The price is
measured with a hook that does nothing, on one conversation, beside no hook at all.
"""

import time
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import median
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab import SimulatedChatModel

TURNS, ROUNDS = 20, 12
OWN_STEP = ("before_model", "after_model")  # once for each model call


class Empty(AgentMiddleware[Any, Any, Any]):
    """A hook before the model that does nothing."""

    def before_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


def steps(middlewares: Iterable[Any]) -> int:
    """Return how many steps these middlewares add to each model call."""
    return sum(
        getattr(type(each), name) is not getattr(AgentMiddleware, name)
        for each in middlewares
        for name in OWN_STEP
    )


def cost_of_steps(middlewares: Sequence[Any]) -> float:
    """Return what the steps of these middlewares cost a model call, in microseconds."""
    count = steps(middlewares)
    return count * step_price() if count else 0.0


def turns(middlewares: Sequence[Any]) -> list[int]:
    """Return the process's CPU time of each turn of a chat, in nanoseconds."""
    model = SimulatedChatModel()
    agent = create_agent(model, middleware=middlewares, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "steps"}}
    times = []
    for number in range(TURNS):
        start = time.process_time_ns()
        agent.invoke({"messages": f"Question {number}: go on."}, config)
        times.append(time.process_time_ns() - start)
    return times


@cache
def step_price() -> float:
    """Return the CPU time of a step, in microseconds: fastest turns, then the median.

    Rounds with the empty hook and without alternate, so that both meet the same noise.
    """
    without, with_hook = zip(
        *((turns([]), turns([Empty()])) for _ in range(ROUNDS)), strict=True
    )
    pairs = zip(zip(*without, strict=True), zip(*with_hook, strict=True), strict=True)
    return max(0.0, median(min(more) - min(less) for less, more in pairs) / 1_000)
