"""The reference: summaries live in the request, never in the checkpoint.

    agent = create_agent(
        model, tools, middleware=[RequestOnlySummarizationMiddleware("openai:...")]
    )

Put it inside (after) middlewares that add to prompt, memory or tools, for it counts
what they add. The steps 4 to 8 of the ladder are this class with other settings.

Left out here: every decision (`ctxlab.chain`). Lessons: 09_summarize_the_request_only,
10_protect_the_call.
"""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.internal_call_transformer import (
    InternalCallTransformer,
)
from langgraph.types import TracePolicy, omit_payload

from ctxlab.calibration import AnchoredCalibration, Calibration
from ctxlab.chain import Policy, Rules, protect
from ctxlab.middleware.drivers import AsyncHandler, Handler, adrive, drive
from ctxlab.middleware.shelves import DEFAULT_NAMESPACE, Shelf, shelf_for
from ctxlab.records import CallRecord
from ctxlab.settings import Settings, Size, Trigger
from ctxlab.summaries import HANDOFF_PROMPT, SummaryWriter
from ctxlab.tokens import (
    ApproximateCounter,
    CjkAwareCounter,
    ScriptCounter,
    TokenCounter,
)


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
        calibration: From counted to billed tokens; default `AnchoredCalibration()`.
        fallback_models: Tried in order when `model` writes no usable summary.
        summary_prompt: Own instructions for the summary model.
        redact: Sees every text that goes to or comes from a summary model.
        namespace: Where views live in the agent's store.
        ttl: Minutes until an unused view expires from the store.
        enabled: False lets every request through untouched.
        **rules: `remember`, `on_failure`, `pin`, `on_call` and the others of
            `ctxlab.chain.Rules`.

    Raises:
        ValueError: Settings contradict each other; the message says what to change.

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
        calibration: Calibration | None = None,
        fallback_models: Sequence[Any] = (),
        summary_prompt: str | None = None,
        redact: Callable[[str], str] | None = None,
        namespace: tuple[str, ...] = DEFAULT_NAMESPACE,
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
        self.namespace, self.ttl = namespace, ttl
        counter = counter or ScriptCounter()
        self.policy = Policy(
            settings=self.settings,
            counter=counter,
            calibration=calibration or AnchoredCalibration(),
            writer=writer_from(model, self.settings, counter, fallback_models, redact),
            **rules,
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
        flow = protect(self.policy, request)
        return drive(flow, handler, self.policy.writer, self._shelf(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: AsyncHandler,
    ) -> ModelResponse[Any] | Any:
        """Send what fits; see `ctxlab.chain`."""
        if not self.settings.enabled:
            return await handler(request)
        flow = protect(self.policy, request)
        return await adrive(flow, handler, self.policy.writer, self._shelf(request))

    def _shelf(self, request: ModelRequest[Any]) -> Shelf | None:
        return shelf_for(request.runtime, self.namespace, self.ttl)


COUNTER_FIELDS = {"counter", "profile", "cjk_chars_per_token", "latin_chars_per_token"}


def counter_from(settings: Settings) -> TokenCounter:
    """Return the counter that the settings name."""
    if settings.counter == "cjk":
        return CjkAwareCounter(
            cjk_chars_per_token=settings.cjk_chars_per_token,
            latin_chars_per_token=settings.latin_chars_per_token,
        )
    if settings.counter == "approximate":
        return ApproximateCounter()
    return ScriptCounter(profile=settings.profile)


def writer_from(
    model: Any,
    settings: Settings,
    counter: TokenCounter,
    fallback_models: Sequence[Any],
    redact: Callable[[str], str] | None,
) -> SummaryWriter:
    """Return the writer that the arguments describe; a given one is used as it is."""
    if isinstance(model, SummaryWriter):
        return model
    return SummaryWriter(
        model,
        fallback_models=tuple(fallback_models),
        prompt=settings.summary_prompt or HANDOFF_PROMPT,
        counter=counter,
        chunk_tokens=settings.summary_chunk_tokens,
        redact=redact,
    )
