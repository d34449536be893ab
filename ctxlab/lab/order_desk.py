"""The order desk: the smallest agent that has to remember (row H1).

A customer asks about an order and then about "that one". The second question can only
be answered from the conversation, which the checkpointer kept and LangChain's own
`SummarizationMiddleware` keeps short.

>>> desk = OrderDesk(main_model=simulated_clerk())
>>> desk.ask("Where is order A123?")
'Order A123 has left the warehouse and arrives on Friday.'
>>> desk.ask("And when does that one arrive?")
'As looked up before: Order A123 has left the warehouse and arrives on Friday.'
>>> desk.lookups
['A123']

Left out: a conversation long enough to be summarised (`data/transcripts`). Lessons:
00_start_here, 03_use_the_builtin.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.writers import FactKeeper

SYSTEM = "You answer for the order desk. Look an order up before you speak about it."
_ORDER = re.compile(r"\b[A-Z]\d{3}\b")


class OrderDesk:
    """An agent with one tool, one thread and LangChain's summarization.

    Args:
        main_model: Answers: a chat model, or a name for `init_chat_model`; default the
            environment's `MAIN_MODEL`, or a simulated clerk when that is unset.
        summary_model: Writes summaries; default the environment's `SUMMARY_MODEL`, or
            a simulated model.

    Attributes:
        lookups: The orders that the tool was asked for, oldest first.
    """

    def __init__(self, main_model: Any = None, summary_model: Any = None) -> None:
        self.lookups: list[str] = []
        main = main_model or os.environ.get("MAIN_MODEL") or simulated_clerk()
        writer = summary_model or os.environ.get("SUMMARY_MODEL") or FactKeeper()
        self.agent: Any = create_agent(
            _model(main),
            [self.lookup_order],
            system_prompt=SYSTEM,
            middleware=[
                SummarizationMiddleware(
                    _model(writer),
                    trigger=[("tokens", 18_000), ("messages", 60)],
                    keep=("messages", 8),
                    trim_tokens_to_summarize=20_000,
                )
            ],
            checkpointer=InMemorySaver(),
        )

    def lookup_order(self, order_id: str) -> str:
        """Look up where an order is."""
        self.lookups.append(order_id)
        return f"Order {order_id} has left the warehouse and arrives on Friday."

    def ask(self, question: str) -> str:
        """Return the desk's answer; all questions belong to one conversation."""
        config = {"configurable": {"thread_id": "order-desk"}}
        state = self.agent.invoke({"messages": [HumanMessage(question)]}, config)
        return str(state["messages"][-1].text)


def simulated_clerk(**settings: Any) -> SimulatedChatModel:
    """Return a simulated model that looks up, and remembers only what it is sent."""
    return SimulatedChatModel(replies=_clerk, **settings)


def _clerk(messages: Sequence[BaseMessage]) -> AIMessage:
    """Answer from results in the request; look a named order up; else ask for one."""
    results = [m.text for m in messages if isinstance(m, ToolMessage)]
    if isinstance(messages[-1], ToolMessage):
        return AIMessage(results[-1])
    named = _ORDER.search(messages[-1].text)
    if named and not any(named[0] in result for result in results):
        call = {"name": "lookup_order", "args": {"order_id": named[0]}}
        return AIMessage("", tool_calls=[{**call, "id": f"call_{named[0]}"}])
    if results:
        return AIMessage(f"As looked up before: {results[-1]}")
    return AIMessage("Which order do you mean?")


def _model(model: Any) -> Any:
    return init_chat_model(model) if isinstance(model, str) else model
