"""A real agent on a real checkpointer, asked the same way sync and async.

>>> agent = Agent(replies=["Hello."])
>>> import asyncio
>>> asyncio.run(agent.ask("Hi")).text
'Hello.'
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import CallRecord

Way = Literal["sync", "async"]


class Agent:
    """An agent with the reference middleware, on one thread.

    Args:
        way: Which of the two hooks is used.
        model: The main model, or None for one of these settings.
        writer: Writes the summaries.
        tools: Tools of the agent.
        settings: Arguments of the middleware.
        replies, window: Settings of the simulated model.
    """

    def __init__(
        self,
        way: Way = "sync",
        *,
        model: SimulatedChatModel | None = None,
        writer: Any = None,
        tools: Sequence[Any] = (),
        replies: Any = None,
        window: int | None = None,
        response_format: Any = None,
        store: Any = None,
        tools_for_model: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.way = way
        self.model = model or SimulatedChatModel(context_window=window, replies=replies)
        self.writer = writer if writer is not None else FactKeeper()
        self.records: list[CallRecord] = []
        self.middleware = RequestOnlySummarizationMiddleware(
            self.writer,
            on_call=self.records.append,
            tools=tools_for_model,  # type: ignore[arg-type]
            **settings,
        )
        self.graph: Any = create_agent(
            self.model,
            tools=list(tools),
            system_prompt="You are an order desk.",
            middleware=[self.middleware],
            checkpointer=InMemorySaver(),
            response_format=response_format,
            store=store,
        )
        self.thread = {"configurable": {"thread_id": "t"}}

    async def ask(self, *messages: str | BaseMessage) -> AIMessage:
        """Give the agent new messages; return the answer that ends the turn."""
        given = [HumanMessage(m) if isinstance(m, str) else m for m in messages]
        state = {"messages": given}
        if self.way == "sync":
            result = self.graph.invoke(state, self.thread)
        else:
            result = await self.graph.ainvoke(state, self.thread)
        answer = result["messages"][-1]
        assert isinstance(answer, AIMessage)
        return answer

    @property
    def state(self) -> list[BaseMessage]:
        """The messages in the checkpoint."""
        messages: list[BaseMessage] = self.graph.get_state(self.thread).values[
            "messages"
        ]
        return messages

    @property
    def actions(self) -> list[str]:
        return [record.action for record in self.records]


def words(count: int, word: str = "parcel") -> str:
    """Return a text of so many words, each a little different."""
    return " ".join(f"{word}-{number}" for number in range(count))


def reply_with(text: Callable[[int], str]) -> Callable[[list[BaseMessage]], str]:
    """Return a rule that answers by the number of messages it got."""
    return lambda messages: text(len(messages))


def refusal(answer: AIMessage) -> str | None:
    """Return why an answer stands in for the model's; None for the model's own."""
    entry = answer.response_metadata.get("ctxlab") or {}
    reason: str | None = entry.get("refused")
    return reason
