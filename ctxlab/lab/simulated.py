"""A chat model on your machine that bills, refuses and caches like a provider.

It is a real `BaseChatModel`: agents, middlewares and streams cannot tell the
difference. Its replies are a script or a rule; its bill is
`fixed_overhead + scale * true_count(messages, tools)`, in tokens, with a count that
is none of ctxlab's counters. Over the window it raises a vendor's own words.

>>> model = SimulatedChatModel(context_window=30, replies=["Hello."])
>>> answer = model.invoke("Hi there")
>>> answer.text, answer.usage_metadata["input_tokens"]
('Hello.', 6)
>>> model.invoke("word " * 100)
Traceback (most recent call last):
    ...
ctxlab.lab.vendor_errors.VendorContextOverflow: Error code: 400 - {'error': ...

Left out: sampling and time. The bill is in `billing.py`, the vendors' words in
`vendor_errors.py`. Lessons: all; 01_fill_the_window opens the bill.
"""

import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr, SkipValidation, model_validator

from ctxlab.lab.billing import (
    Exchange,
    PrefixCache,
    TrueCount,
    bytes_over_three,
    reply_tokens,
)
from ctxlab.lab.pieces import reply_chunks
from ctxlab.lab.vendor_errors import STYLES, overflow_error

Reply = AIMessage | str
Replies = Sequence[Reply] | Callable[[list[BaseMessage]], Reply]
Failures = (
    Mapping[int, Exception] | Callable[[int, list[BaseMessage]], Exception | None]
)


class SimulatedChatModel(BaseChatModel):
    """A chat model with a window, a bill and replies that you decide.

    Args:
        context_window: Most input tokens it takes; None takes everything.
        fixed_overhead: Tokens billed on every request for what is not in it.
        scale: Billed tokens per token of `true_count`.
        replies: Replies in order (an error when they run out), or a function of
            the messages it got; without any it answers "Understood.".
        usage: False leaves `usage_metadata` out, as many endpoints do.
        error_style: Whose words an overflow has, one of `vendor_errors.STYLES`.
        true_count: `(messages, *, tools) -> tokens`, the truth it bills.
        failures: Errors by request index (0-based, all requests count), or a
            function `(index, messages) -> error | None`.
        max_tokens: Longest reply, in tokens; a longer text is cut off, with
            `finish_reason` "length".
        with_profile: True states the window in `profile["max_input_tokens"]`.

    Raises:
        ValueError: No room beside the overhead, or an unknown error style.
    """

    context_window: int | None = None
    fixed_overhead: float = 0
    scale: float = Field(default=1.0, gt=0)
    replies: SkipValidation[Replies | None] = None
    usage: bool = True
    error_style: str = "openai"
    true_count: SkipValidation[TrueCount] = bytes_over_three
    failures: SkipValidation[Failures | None] = None
    max_tokens: int | None = None
    with_profile: bool = False
    model_name: str = "simulated-1"

    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _log: list[Exchange] = PrivateAttr(default_factory=list)
    _received: int = PrivateAttr(default=0)
    _answered: int = PrivateAttr(default=0)
    _cache: PrefixCache = PrivateAttr(default_factory=PrefixCache)

    @model_validator(mode="after")
    def _settle(self) -> Self:
        window = self.context_window
        if window is not None and window <= self.fixed_overhead:
            raise ValueError(
                f"context_window {window:,} leaves no room beside fixed_overhead "
                f"{self.fixed_overhead:,}: give a larger window or a smaller overhead"
            )
        if self.error_style not in STYLES:
            known = ", ".join(sorted(STYLES))
            raise ValueError(f"error_style {self.error_style!r} is none of: {known}")
        if self.with_profile and window is not None:
            self.profile = {"max_input_tokens": window}
        return self

    @property
    def _llm_type(self) -> str:
        return "simulated"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        # LangChain uses a reported usage only if this equals `model_provider`.
        return LangSmithParams(
            ls_provider="simulated", ls_model_name=self.model_name, ls_model_type="chat"
        )

    @property
    def log(self) -> list[Exchange]:
        """Every request with its bill, refused ones included, oldest first."""
        return list(self._log)

    @property
    def requests(self) -> list[Sequence[BaseMessage]]:
        """The messages of every request, refused ones included, oldest first."""
        return [exchange.messages for exchange in self._log]

    def reset(self) -> None:
        """Forget all requests, the place in the replies, and the prompt cache."""
        with self._lock:
            self._log.clear()
            self._cache.clear()
            self._received = self._answered = 0

    def fresh(self, **changes: Any) -> Self:
        """Return a model with the same settings and nothing remembered."""
        settings = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**settings, **changes})

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tool schemas that travel, and are billed."""
        schemas = [
            tool
            if isinstance(tool, dict) and "type" in tool
            else convert_to_openai_tool(tool)
            for tool in tools
        ]
        choice = {} if tool_choice is None else {"tool_choice": tool_choice}
        return self.bind(tools=schemas, **choice, **kwargs)

    def bill(self, messages: Sequence[BaseMessage], tools: Sequence[Any] = ()) -> float:
        """Return the input tokens this request costs, not rounded."""
        counted = self.true_count(messages, tools=list(tools) or None)
        return self.fixed_overhead + self.scale * float(counted)

    def _failure(self, index: int, messages: list[BaseMessage]) -> Exception | None:
        if self.failures is None:
            return None
        if callable(self.failures):
            return self.failures(index, messages)
        return self.failures.get(index)

    def _check(self, index: int, messages: list[BaseMessage], billed: int) -> None:
        if failure := self._failure(index, messages):
            raise failure
        window = self.context_window
        if window is not None and billed > window:
            raise overflow_error(self.error_style, billed, window)

    def _next_reply(self, messages: list[BaseMessage]) -> AIMessage:
        if callable(self.replies):
            reply = self.replies(messages)
        elif self.replies is None:
            reply = "Understood."
        else:
            with self._lock:
                place, self._answered = self._answered, self._answered + 1
            if place >= len(self.replies):
                raise IndexError(
                    f"replies holds {len(self.replies)} and all are given: "
                    "add replies, or pass a function of the messages"
                )
            reply = self.replies[place]
        return AIMessage(reply) if isinstance(reply, str) else reply.model_copy()

    def _answer(self, messages: list[BaseMessage], tools: list[Any]) -> AIMessage:
        with self._lock:
            index, self._received = self._received, self._received + 1
        sent = list(messages)
        billed = math.ceil(self.bill(sent, tools))
        try:
            self._check(index, sent, billed)
            reply = self._finished(self._next_reply(sent))
        except Exception as error:
            self._log.append(Exchange(sent, tools, billed, error=error))
            raise
        shared = self._cache.shared(sent, tools)
        cached = math.floor(self.bill(sent[:shared], tools)) if shared else 0
        written, reasoning = self._written(reply)
        self._log.append(Exchange(sent, tools, billed, cached, written))
        if self.usage:
            reply.usage_metadata = {
                "input_tokens": billed,
                "output_tokens": written,
                "total_tokens": billed + written,
                "input_token_details": {"cache_read": cached},
                "output_token_details": {"reasoning": reasoning},
            }
        return reply

    def _written(self, reply: AIMessage) -> tuple[int, int]:
        """Return output tokens, reasoning included, and reasoning tokens."""
        total, reasoning = reply_tokens(reply, self.true_count)
        return math.ceil(self.scale * total), math.floor(self.scale * reasoning)

    def _finished(self, reply: AIMessage) -> AIMessage:
        """Return the reply with its metadata, cut off at `max_tokens`."""
        reason = "tool_calls" if reply.tool_calls else "stop"
        reason = reply.response_metadata.get("finish_reason", reason)
        content = self._cut_off(reply)
        metadata = {
            **reply.response_metadata,
            "finish_reason": reason if content == reply.content else "length",
            "model_name": self.model_name,
            "model_provider": "simulated",
        }
        changes = {"content": content, "response_metadata": metadata}
        return reply.model_copy(update={**changes, "usage_metadata": None})

    def _cut_off(self, reply: AIMessage) -> Any:
        content, most = reply.content, self.max_tokens
        size, _ = self._written(reply)
        if not most or size <= most or not isinstance(content, str):
            return content
        rest, _ = self._written(reply.model_copy(update={"content": ""}))
        share = max(0, most - rest) / max(1, size - rest)
        return content[: int(len(content) * share)]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._answer(messages, kwargs.get("tools") or [])
        return ChatResult(generations=[ChatGeneration(message=reply)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, None, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in reply_chunks(self._answer(messages, kwargs.get("tools") or [])):
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in reply_chunks(self._answer(messages, kwargs.get("tools") or [])):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
