"""The reference: summaries live in the request, never in the checkpoint.

    agent = create_agent(
        model, tools, middleware=[RequestOnlySummarizationMiddleware("openai:...")]
    )

Put it inside (after) middlewares that add to prompt, memory or tools, for it counts
what they add. The steps 4 to 8 of the ladder are this class with other settings.

Left out here: every decision (`ctxlab.chain`), the parts (`building`), the store
(`shelves`), the tools (`tools`). Lessons: 09_summarize_the_request_only,
10_protect_the_call.
"""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.internal_call_transformer import (
    InternalCallTransformer,
)
from langchain_core.messages import BaseMessage
from langgraph.store.base import BaseStore
from langgraph.types import TracePolicy, omit_payload

from ctxlab.chain import Call, Policy, Rules, compact_on_demand
from ctxlab.middleware.building import (
    COUNTER_FIELDS,
    counter_from,
    known_rules,
    writer_from,
)
from ctxlab.middleware.drivers import (
    AsyncHandler,
    Handler,
    aanswer,
    adrive,
    answer,
    drive,
)
from ctxlab.middleware.on_demand import AgentParts, no_model, request_of
from ctxlab.middleware.shelves import (
    DEFAULT_NAMESPACE,
    Namespace,
    Shelves,
    thread_runtime,
)
from ctxlab.middleware.tools import ToolName, chosen_tools
from ctxlab.records import CallRecord
from ctxlab.settings import Settings, Size, Trigger
from ctxlab.tokens import ScriptCounter, TokenCounter


class RequestOnlySummarizationMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keep every model call within its budget; leave the checkpoint alone.

    Args:
        model: Writes the summaries: a chat model, a name for `init_chat_model`, a
            `SummaryWriter`, a Runnable, or a callable from messages to text.
        trigger: When to compact; default `("tokens", 49_152)`. A list means any, a
            dict means all.
        keep: Size of the whole request after a compaction; default 24,000 tokens,
            or half of a smaller trigger.
        summary_chunk_tokens: Largest piece of history in one summary call.
        overhead_tokens: Assumed for what cannot be counted, until the first bill;
            default 4,000 tokens, or a sixth of a smaller keep.
        max_input_tokens: The model's input window; default from its profile.
        use_reported_usage: Learn from the provider's bills.
        counter: Counts tokens; default `ScriptCounter()`.
        fallback_models: Tried in order when `model` writes no usable summary.
        summary_prompt: Own instructions for the summary model.
        redact: Sees every text that goes to or comes from a summary model.
        tools: Tools for the model: `"compact_conversation"`, `"recall_history"`.
        namespace: Where views live in the agent's store; or a function of the
            runtime that says so, for instance by tenant.
        ttl: Minutes until an unused view expires from the store.
        enabled: False lets every request through untouched.
        **rules: `calibration`, `remember`, `on_failure`, `pin`, `on_call` and the
            others of `ctxlab.chain.Rules`.

    Raises:
        ValueError: Settings contradict each other; the message says what to change.
        TypeError: An argument has none of these names; the message says which is near.

    One instance may serve many agents, threads and event loops at once.
    """

    # The conversation is logged by the model call; not a second time by this hook.
    trace_policy = TracePolicy(process_inputs=omit_payload)
    transformers = (InternalCallTransformer,)

    def __init__(
        self,
        model: Any,
        *,
        trigger: Trigger | None = None,
        keep: Size | None = None,
        summary_chunk_tokens: int | None = None,
        overhead_tokens: int | None = None,
        max_input_tokens: int | None = None,
        use_reported_usage: bool = True,
        counter: TokenCounter | None = None,
        fallback_models: Sequence[Any] = (),
        summary_prompt: str | None = None,
        redact: Callable[[str], str] | None = None,
        tools: Sequence[ToolName] = (),
        namespace: Namespace = DEFAULT_NAMESPACE,
        ttl: float | None = None,
        enabled: bool = True,
        **rules: Unpack[Rules],
    ) -> None:
        super().__init__()
        self.settings = Settings(
            enabled=enabled,
            trigger=trigger,
            keep=keep,
            summary_chunk_tokens=summary_chunk_tokens,
            overhead_tokens=overhead_tokens,
            use_reported_usage=use_reported_usage,
            max_input_tokens=max_input_tokens,
            summary_prompt=summary_prompt,
        )
        self.shelves = Shelves(namespace, ttl)
        counter = counter or ScriptCounter()
        self.tools = chosen_tools(tools, counter.text)
        self.policy = Policy(
            settings=self.settings,
            counter=counter,
            writer=writer_from(model, self.settings, counter, fallback_models, redact),
            **known_rules(rules, RequestOnlySummarizationMiddleware),
        )

    @classmethod
    def from_settings(
        cls, model: Any = None, settings: Settings | None = None, **more: Any
    ) -> "RequestOnlySummarizationMiddleware":
        """Build the middleware from settings; further arguments as above.

        Args:
            model: Writes the summaries; default `settings.model_name`.
            settings: Every knob.
            **more: Arguments of the constructor that are not settings.

        Raises:
            ValueError: No summary model is named.
        """
        settings = settings or Settings()
        if model is None and settings.model_name is None:
            raise ValueError("no summary model: give model, or set model_name")
        knobs = settings.model_dump(
            include=set(Settings.model_fields) - COUNTER_FIELDS - {"model_name"}
        )
        counter = more.pop("counter", None) or counter_from(settings)
        return cls(model or settings.model_name, counter=counter, **knobs, **more)

    def add_listener(self, listener: Callable[[CallRecord], Any]) -> None:
        """Have one more listener told about every call."""
        self.policy.listeners.append(listener)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Any:
        """Send what fits; see `ctxlab.chain`."""
        if not self.settings.enabled:
            return handler(request)
        return answer(Call(self.policy, request), handler, self.shelves)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: AsyncHandler,
    ) -> ModelResponse[Any] | Any:
        """Send what fits; see `ctxlab.chain`."""
        if not self.settings.enabled:
            return await handler(request)
        return await aanswer(Call(self.policy, request), handler, self.shelves)

    def compact(
        self,
        messages: Sequence[BaseMessage],
        *,
        keep_tokens: int | None = None,
        **agent: Unpack[AgentParts],
    ) -> CallRecord:
        """Compact a conversation now; its next call takes the view up.

        Args:
            messages: The whole history, as it stands in the checkpoint.
            keep_tokens: Size to come down to; default `keep`.
            **agent: `model`, `system_message` and `tools` of the agent, for a better
                estimate; `thread_id` and `store`, to keep the view beyond this
                process.

        Returns:
            The ledger of it; its action is `"compact"` if there was something to do.

        Raises:
            SummaryError: No summary could be written, with `on_failure="raise"`.
        """
        request = request_of(messages, agent)
        flow = compact_on_demand(self.policy, request, keep_tokens)
        shelf = self.shelves.of(request.runtime)
        record: CallRecord = drive(flow, no_model, self.policy.writer, shelf)
        return record

    async def acompact(
        self,
        messages: Sequence[BaseMessage],
        *,
        keep_tokens: int | None = None,
        **agent: Unpack[AgentParts],
    ) -> CallRecord:
        """Do what `compact` does, without blocking the event loop."""
        request = request_of(messages, agent)
        flow = compact_on_demand(self.policy, request, keep_tokens)
        shelf = self.shelves.of(request.runtime)
        record: CallRecord = await adrive(flow, no_model, self.policy.writer, shelf)
        return record

    def forget(self, thread_id: str, store: BaseStore | None = None) -> int:
        """Forget what is remembered of a thread, here and in the store.

        Caches of this process know contents, not threads: they are emptied as a
        whole, and what others need is measured or loaded once more.

        Args:
            thread_id: The thread; its checkpoints are yours to delete.
            store: The agent's store, if it has one.

        Returns:
            Number of views that were forgotten in the store.
        """
        self.policy.forget()
        shelf = self.shelves.of(thread_runtime(thread_id, store))
        return shelf.empty() if shelf else 0

    async def aforget(self, thread_id: str, store: BaseStore | None = None) -> int:
        """Do what `forget` does, without blocking the event loop."""
        self.policy.forget()
        shelf = self.shelves.of(thread_runtime(thread_id, store))
        return await shelf.aempty() if shelf else 0
