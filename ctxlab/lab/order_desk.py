"""The order desk: the smallest agent that has to remember (row H1).

A customer asks about an order and then about "that one". The second question can only
be answered from the conversation, which the checkpointer keeps and a middleware keeps
short: LangChain's own by default, any step of the ladder through `build`.

>>> desk = build()
>>> desk.ask("Where is order A123?")
'Order A123 has left the warehouse and arrives on Friday.'
>>> desk.ask("And when does that one arrive?")
'As looked up before: Order A123 has left the warehouse and arrives on Friday.'
>>> desk.lookups
['A123']

The models are simulated unless `MAIN_MODEL` and `SUMMARY_MODEL` name real ones. Left
out: a conversation with facts planted in it (`data/transcripts`). Lessons:
00_start_here, 03_use_the_builtin, 13_run_real_models.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.middleware import builtin_summarization
from ctxlab.summaries import SECTIONS

SYSTEM = "You answer for the order desk. Look an order up before you speak about it."
_ORDER = re.compile(r"\b[A-Z]\d{3}\b")
_STATUS = re.compile(r"Order ([A-Z]\d{3}) has left the warehouse and arrives on \w+\.")


class OrderDesk:
    """An agent with one tool, one thread and a middleware.

    Args:
        main_model: Answers: a chat model, or a name for `init_chat_model`; default
            that of `main_model()`.
        summary_model: Writes the summaries of the default middleware; default that of
            `summary_model()`.
        middleware: Middlewares, outermost first; default `builtin_summarization`.

    Attributes:
        agent: The compiled agent.
        lookups: The orders that the tool was asked for, oldest first.
    """

    def __init__(
        self,
        main_model: Any = None,
        summary_model: Any = None,
        middleware: Sequence[Any] | None = None,
    ) -> None:
        self.lookups: list[str] = []
        self.thread = {"configurable": {"thread_id": "order-desk"}}
        main = main_model or model_from("MAIN_MODEL") or simulated_clerk()
        if middleware is None:
            writer = summary_model or model_from("SUMMARY_MODEL") or simulated_writer()
            middleware = [builtin_summarization(writer)]
        self.agent: Any = create_agent(
            main,
            [self.lookup_order],
            system_prompt=SYSTEM,
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )

    def lookup_order(self, order_id: str) -> str:
        """Look up where an order is."""
        self.lookups.append(order_id)
        return f"Order {order_id} has left the warehouse and arrives on Friday."

    def ask(self, question: str) -> str:
        """Return the desk's answer; all questions belong to one conversation."""
        state = self.agent.invoke({"messages": [HumanMessage(question)]}, self.thread)
        return str(state["messages"][-1].text)

    async def aask(self, question: str) -> str:
        """Do what `ask` does, with the agent's async methods."""
        given = {"messages": [HumanMessage(question)]}
        state = await self.agent.ainvoke(given, self.thread)
        return str(state["messages"][-1].text)

    @property
    def state(self) -> dict[str, Any]:
        """What the checkpoint holds; `["messages"]` is the conversation."""
        values: dict[str, Any] = self.agent.get_state(self.thread).values
        return values


def build(middleware: Sequence[Any] | None = None, **models: Any) -> OrderDesk:
    """Return an order desk on any step of the ladder.

    Args:
        middleware: Middlewares, outermost first; default LangChain's, set as row H1
            sets it. Give a step `summary_model()`, so that it follows the environment.
        **models: `main_model` and `summary_model` of `OrderDesk`.

    >>> from ctxlab.middleware import RequestOnlySummarizationMiddleware
    >>> desk = build([RequestOnlySummarizationMiddleware(summary_model())])
    >>> desk.ask("Where is order A123?"), len(desk.state["messages"])
    ('Order A123 has left the warehouse and arrives on Friday.', 4)
    """
    return OrderDesk(middleware=middleware, **models)


def main_model() -> Any:
    """Return the model that `MAIN_MODEL` names, or a simulated clerk."""
    return model_from("MAIN_MODEL") or simulated_clerk()


def summary_model() -> Any:
    """Return the model that `SUMMARY_MODEL` names, or a simulated writer."""
    return model_from("SUMMARY_MODEL") or simulated_writer()


def model_from(variable: str) -> Any:
    """Return the chat model that an environment variable names; None when unset.

    `anthropic:claude-sonnet-4-5` names a provider; any other name is OpenAI's, or that
    of the server at `OPENAI_BASE_URL`.

    Raises:
        RuntimeError: The provider's package or its key is missing.
    """
    name = os.environ.get(variable)
    if not name:
        return None
    try:
        return _named(name)
    except ImportError as error:
        raise RuntimeError(
            f"{variable} is {name!r}, but its package is missing: install ctxlab[lab] "
            f"for OpenAI's and compatible servers, or unset {variable} ({error})"
        ) from error
    except Exception as error:
        raise RuntimeError(
            f"{variable} is {name!r}, but the model cannot be set up: set its key "
            f"(OPENAI_API_KEY), or unset {variable} to go on simulated ({error})"
        ) from error


def _named(name: str) -> Any:
    if os.environ.get("OPENAI_BASE_URL") and ":" not in name:
        return init_chat_model(name, model_provider="openai")
    try:
        return init_chat_model(name)
    except ValueError as error:
        if "Unable to infer" not in str(error):
            raise
        return init_chat_model(name, model_provider="openai")


def simulated_clerk(**settings: Any) -> SimulatedChatModel:
    """Return a simulated model that looks up, and remembers only what it is sent."""
    return SimulatedChatModel(replies=_clerk, **settings)


def simulated_writer(**settings: Any) -> SimulatedChatModel:
    """Return a simulated summary model that keeps every order it is shown."""
    settings.setdefault("model_name", "simulated-writer")
    return SimulatedChatModel(replies=_handoff, **settings)


def _clerk(messages: Sequence[BaseMessage]) -> AIMessage:
    """Answer from what the request says; look a named order up; else ask for one."""
    known = _statuses(messages)
    if isinstance(messages[-1], ToolMessage):
        return AIMessage(messages[-1].text)
    named = _ORDER.search(messages[-1].text)
    if named and named[0] not in known:
        call = {"name": "lookup_order", "args": {"order_id": named[0]}}
        return AIMessage("", tool_calls=[{**call, "id": f"call_{named[0]}"}])
    if known:
        order = named[0] if named else list(known)[-1]
        return AIMessage(f"As looked up before: {known[order]}")
    return AIMessage("Which order do you mean?")


def _handoff(messages: Sequence[BaseMessage]) -> str:
    bodies = dict.fromkeys(SECTIONS, "None")
    bodies["ARTIFACTS"] = "\n".join(_statuses(messages).values()) or "None"
    return "\n\n".join(f"## {name}\n{body}" for name, body in bodies.items())


def _statuses(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Return what the messages say of each order, the one spoken of last at the end."""
    known: dict[str, str] = {}
    for message in messages:
        for status in _STATUS.finditer(message.text):
            known.pop(status[1], None)
            known[status[1]] = status[0]
    return known
