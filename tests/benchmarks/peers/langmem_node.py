"""langmem's `SummarizationNode` before the model of a `create_agent` graph.

langmem's documentation puts the node before the model and hands the model what comes
out of it, apart from `messages`; `create_agent` has a hook at that place. Only the
`context` (the running summary) lasts, as there; what the model gets is forgotten after
the step.
"""

from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langgraph.channels.ephemeral_value import EphemeralValue


class NodeState(AgentState[Any]):
    """What the node reads and writes beside the messages."""

    context: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    summarized_messages: NotRequired[
        Annotated[list[Any] | None, EphemeralValue, PrivateStateAttr]
    ]


class NodeBeforeModel(AgentMiddleware[Any, Any, Any]):
    """Runs a node before the model, and gives the model what the node returns."""

    state_schema = NodeState

    def __init__(self, node: Any) -> None:
        super().__init__()
        self.node = node

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Return the node's update of the state."""
        given = {"messages": state["messages"], "context": state.get("context") or {}}
        update: dict[str, Any] = self.node.invoke(given)
        return update

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Ask the model with what the node has left."""
        messages = request.state.get("summarized_messages")
        return handler(request.override(messages=messages) if messages else request)
