r"""Step 3: a handoff. The summary leaves the chat and gets a place of its own.

Over the trigger the old part becomes a checked four-section summary in `summary_text`,
a private field of the state; the kept part stays in `messages`, no pair split, the
newest request in it. Every request then carries the summary as one labelled message
behind the leading system messages.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> handoff = HandoffSummarizationMiddleware(
...     lambda messages: "## SUMMARY\nA7 is shipped.",
...     trigger=("messages", 3), keep=("messages", 1),
... )
>>> asked = HumanMessage("Where is A7? " * 40)
>>> chat = [asked, AIMessage("Shipped."), HumanMessage("Since when?")]
>>> update = handoff.before_model({"messages": chat}, None)
>>> update["summary_text"], [message.type for message in update["messages"]]
('## SUMMARY\nA7 is shipped.', ['remove', 'human'])

What it breaks: the originals are still removed from the checkpoint, and only messages
are counted: no system prompt, no tool schemas (step 4 and on).

Left out here: how a summary is asked for and checked (`ctxlab.summaries`), where a
conversation may be cut (`ctxlab.boundaries`). Lesson: 04_write_a_handoff.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
from langchain.agents.middleware.internal_call_transformer import (
    InternalCallTransformer,
)
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import (
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ctxlab.boundaries import partition_history
from ctxlab.middleware.drivers import AsyncHandler, Handler
from ctxlab.middleware.sizes import DEFAULT_KEEP, DEFAULT_TRIGGER, message_budget
from ctxlab.settings import Size, Trigger
from ctxlab.summaries import (
    Summary,
    SummaryError,
    SummaryWriter,
    is_summary,
    language_of,
    summary_message,
)
from ctxlab.summaries.contract import Wishes
from ctxlab.tokens import ScriptCounter, TokenCounter

INPUT_BUDGET, OUTPUT_BUDGET = 26_000, 2_000  # tokens (row H7)


class HandoffState(AgentState[Any]):
    """The agent's state and the summary, which no caller of the agent sees."""

    summary_text: Annotated[NotRequired[str], PrivateStateAttr]


@dataclass(frozen=True)
class Handoff:
    """A compaction that is due: what to fold, what to keep, what was known before."""

    old: list[BaseMessage]
    kept: list[BaseMessage]
    previous: str
    current_request: str
    before: int  # tokens, the previous summary included


class HandoffSummarizationMiddleware(AgentMiddleware[Any, Any, Any]):
    """Fold old messages into a handoff summary beside the conversation (row H9).

    Args:
        model: Writes the summaries: a chat model, a name for `init_chat_model`, a
            Runnable, or a callable from messages to text.
        fallback: Asked when `model` writes no usable summary: the main model.
        trigger: When to compact, in tokens (the summary counts) or messages; a list
            means any.
        keep: Newest messages to keep, as `("messages", n)`; more where a pair asks it.
        counter: Counts tokens; default `ScriptCounter()`.
        redact: Sees every text that goes to or comes from a summary model.

    Raises:
        ValueError: A size is not above 0, or keep is not in messages.

    A compaction that cannot help raises `SummaryError`, which names the way out; one
    that would keep a result without a call raises `ValueError`.
    """

    state_schema = HandoffState
    transformers = (InternalCallTransformer,)

    def __init__(
        self,
        model: Any,
        fallback: Any = None,
        *,
        trigger: Trigger = DEFAULT_TRIGGER,
        keep: Size = DEFAULT_KEEP,
        counter: TokenCounter | None = None,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__()
        self.budget, self.keep = message_budget(trigger, keep)
        self.counter = counter or ScriptCounter()
        self.writer = SummaryWriter(
            model,
            fallback_models=() if fallback is None else (fallback,),
            counter=self.counter,
            chunk_tokens=INPUT_BUDGET,
            max_summary_tokens=OUTPUT_BUDGET,
            redact=redact,
        )

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Compact when it is due; raises `SummaryError` when that does not help."""
        handoff = self._due(state)
        if handoff is None:
            return None
        wishes = self._wishes(handoff)
        return self._update(handoff, self.writer.write(handoff.old, **wishes))

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do what `before_model` does, without blocking the running loop."""
        handoff = self._due(state)
        if handoff is None:
            return None
        wishes = self._wishes(handoff)
        return self._update(handoff, await self.writer.awrite(handoff.old, **wishes))

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Any:
        """Send the summary along."""
        return handler(_with_summary_in(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: AsyncHandler
    ) -> Any:
        """Send the summary along."""
        return await handler(_with_summary_in(request))

    def _due(self, state: Any) -> Handoff | None:
        messages, previous = state["messages"], state.get("summary_text", "")
        before = self.counter(with_summary(messages, previous))
        if not self.budget.due(before, len(messages)):
            return None
        old, kept = partition_history(messages, self.keep)
        if not old:
            raise SummaryError(
                f"{before:,} tokens in {len(messages)} messages are over the trigger, "
                f"but all of them are to be kept (keep is {self.keep}): lower keep, "
                "or shorten the newest messages and tool results"
            )
        return Handoff(old, kept, previous, _newest_request(messages), before)

    def _wishes(self, handoff: Handoff) -> Wishes:
        """Return what the writer is told, after a look at what that would cost."""
        wishes: Wishes = {
            "previous": handoff.previous,
            "current_request": handoff.current_request,
        }
        first = next(self.writer.writing(handoff.old, **wishes))
        tokens = sum(self.counter(prompt) for prompt in first.prompts)
        if tokens > INPUT_BUDGET:
            raise SummaryError(
                f"the summary input is {tokens:,} tokens, the budget {INPUT_BUDGET:,}: "
                "lower the trigger so that less is folded at a time, shorten large "
                "tool results, or summarize in chunks "
                "(RequestOnlySummarizationMiddleware does)"
            )
        return wishes

    def _update(self, handoff: Handoff, summary: Summary) -> dict[str, Any]:
        after = self.counter(with_summary(handoff.kept, summary.text))
        limit = self.budget.trigger_tokens or after + 1
        if after >= handoff.before or after >= limit:
            raise SummaryError(
                f"still {after:,} tokens after the compaction (before: "
                f"{handoff.before:,}, trigger: {limit:,}): lower keep, or shorten "
                "the newest messages and tool results"
            )
        return {
            "summary_text": summary.text,
            "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *handoff.kept],
        }


def with_summary(messages: Sequence[BaseMessage], summary: str) -> list[Any]:
    """Return the messages with the summary behind the leading system messages."""
    if not summary:
        return list(messages)
    systems = [isinstance(message, SystemMessage) for message in messages]
    place = [*systems, False].index(False)
    # By the summary, not the messages: the label stays while the summary does, and
    # with it the prefix that a provider caches.
    label = summary_message(summary, language_of([summary]))
    return [*messages[:place], label, *messages[place:]]


def _with_summary_in(request: ModelRequest[Any]) -> ModelRequest[Any]:
    summary = str(request.state.get("summary_text", ""))
    return request.override(messages=with_summary(request.messages, summary))


def _newest_request(messages: Sequence[BaseMessage]) -> str:
    users = (m for m in reversed(messages) if isinstance(m, HumanMessage))
    return next((m.text for m in users if not is_summary(m)), "")
