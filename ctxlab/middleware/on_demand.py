"""A compaction from code: the request an agent would make, without the agent."""

from collections.abc import Sequence
from typing import Any, TypedDict

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.store.base import BaseStore

from ctxlab.middleware.shelves import thread_runtime


class AgentParts(TypedDict, total=False):
    """What `compact` may know of the agent whose conversation it compacts."""

    model: Any
    system_message: SystemMessage | None
    tools: Sequence[Any]
    thread_id: str
    store: BaseStore | None


def request_of(messages: Sequence[BaseMessage], agent: AgentParts) -> ModelRequest[Any]:
    """Return the request that the agent would make with these messages."""
    history: list[Any] = list(messages)
    runtime: Any = thread_runtime(agent.get("thread_id", ""), agent.get("store"))
    return ModelRequest(
        model=agent.get("model"),  # type: ignore[arg-type]
        messages=history,
        system_message=agent.get("system_message"),
        tools=list(agent.get("tools", ())),
        state={"messages": history},
        runtime=runtime,
    )


def no_model(request: ModelRequest[Any]) -> Any:
    """Refuse to call a model: a compaction on demand needs none."""
    raise AssertionError("a compaction on demand calls no main model")
