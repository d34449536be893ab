"""Drive the middleware over a conversation without a graph, and look at requests.

`Desk` calls the hooks as `create_agent` would, once for every message of the
conversation that a model has to answer, and keeps every request that reached it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from ctxlab.lab import SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import CallRecord


@dataclass
class Desk:
    """A middleware, a model behind it, and what passed between them.

    Attributes:
        middleware: The middleware under test.
        failures: By number of the call to the model: what it raises instead.
        bill: Turns the messages of a request into billed tokens; None for no usage.
        sent: Every request that reached the model, refused ones included.
        records: The ledger.
    """

    middleware: RequestOnlySummarizationMiddleware
    failures: dict[int, Exception] = field(default_factory=dict)
    bill: Callable[[Sequence[BaseMessage]], int] | None = None
    system: str = "You are an order desk."
    tools: list[Any] = field(default_factory=list)
    model: Any = field(default_factory=lambda: SimulatedChatModel(replies=["ok"]))
    sent: list[list[BaseMessage]] = field(default_factory=list)
    records: list[CallRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.middleware.add_listener(self.records.append)

    def request(self, messages: Sequence[BaseMessage]) -> ModelRequest[Any]:
        history = list(messages)
        return ModelRequest(
            model=self.model,
            messages=history,
            system_message=SystemMessage(self.system),
            tools=self.tools,
            state={"messages": history},
            runtime=None,
        )

    def answer(self, request: ModelRequest[Any]) -> ModelResponse[Any]:
        self.sent.append(list(request.messages))
        failure = self.failures.get(len(self.sent))
        if failure:
            raise failure
        usage = None
        if self.bill:
            billed = self.bill(request.messages)
            usage = {"input_tokens": billed, "output_tokens": 1}
            usage["total_tokens"] = billed + 1
        reply = AIMessage("ok", id=f"reply-{len(self.sent)}", usage_metadata=usage)
        return ModelResponse(result=[reply])

    async def aanswer(self, request: ModelRequest[Any]) -> ModelResponse[Any]:
        await asyncio.sleep(0)
        return self.answer(request)

    def call(self, messages: Sequence[BaseMessage]) -> AIMessage:
        response = self.middleware.wrap_model_call(self.request(messages), self.answer)
        return first_message(response)

    async def acall(self, messages: Sequence[BaseMessage]) -> AIMessage:
        request = self.request(messages)
        response = await self.middleware.awrap_model_call(request, self.aanswer)
        return first_message(response)


def first_message(response: Any) -> AIMessage:
    if isinstance(response, ExtendedModelResponse):
        response = response.model_response
    message = response.result[0]
    assert isinstance(message, AIMessage)
    return message


def refused(message: AIMessage) -> str | None:
    """Return the reason of a visible answer; None for a model's answer."""
    entry = message.response_metadata.get("ctxlab") or {}
    return entry.get("refused")
