"""An agent behind HTTP, as a service would have it: one app, many conversations."""

import logging
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.store.memory import InMemoryStore
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import CallRecord

logger = logging.getLogger("desk")


def log_call(record: CallRecord) -> None:
    """Write the ledger of a call to the log, with the thread it belongs to."""
    thread = get_config()["configurable"]["thread_id"]
    fields = {"thread": thread, **record.to_attributes()}
    logger.info("model call", extra={"fields": fields})


def echo(messages: list[BaseMessage]) -> AIMessage:
    """Answer with all the customers that the request speaks of."""
    spoken = " ".join(message.text for message in messages).split()
    names = sorted({word for word in spoken if word.startswith("customer-")})
    return AIMessage(" ".join(["seen:", *names]))


class DeskService:
    """The app, and what a test wants to look into."""

    def __init__(self, facts: list[str] | None = None) -> None:
        self.model = SimulatedChatModel(replies=echo)
        self.writer = FactKeeper(facts or [])
        self.saver, self.store = InMemorySaver(), InMemoryStore()
        self.rescue = RequestOnlySummarizationMiddleware(
            self.writer,
            trigger=("tokens", 1_200),
            keep=("tokens", 500),
            overhead_tokens=50,
            on_call=log_call,
        )
        self.agent: Any = create_agent(
            self.model,
            system_prompt="You are an order desk.",
            middleware=[self.rescue],
            checkpointer=self.saver,
            store=self.store,
        )
        self.app = Starlette(routes=[Route("/ask", self.ask, methods=["POST"])])

    async def ask(self, request: Request) -> JSONResponse:
        asked = await request.json()
        state = await self.agent.ainvoke(
            {"messages": [HumanMessage(asked["text"])]},
            {"configurable": {"thread_id": asked["thread"]}},
        )
        return JSONResponse({"text": state["messages"][-1].text})
