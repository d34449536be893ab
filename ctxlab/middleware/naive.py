r"""Step 1: what everyone writes first. Over the trigger, rewrite the conversation.

`before_model` returns an update of the state: remove all, then a summary and the tail.
Right for this request, and wrong for all that follows, which is why it is here:

- the summary is a user's message in the checkpoint, where the user finds it;
- the originals are gone: nothing can be read again, edited, or summed up better;
- `messages[-keep:]` cuts between a call and its result, and cuts off the very request
  that a long tool loop works on;
- the summary call streams into the user's answer, and whatever it returns counts as
  a summary: an empty text too.

>>> from langchain_core.language_models import FakeListChatModel
>>> from langchain_core.messages import AIMessage, HumanMessage
>>> writer = FakeListChatModel(responses=["A7 is shipped."])
>>> naive = NaiveSummarizationMiddleware(
...     writer, trigger=("messages", 3), keep=("messages", 1)
... )
>>> chat = [HumanMessage("Where is A7?"), AIMessage("Shipped."), HumanMessage("Thanks")]
>>> for message in naive.before_model({"messages": chat}, None)["messages"]:
...     print(message.type, repr(message.text))
remove ''
human 'Summary of the conversation so far:\nA7 is shipped.'
human 'Thanks'

Left out on purpose: every repair; the steps after it are the repairs.
Lesson: 02_summarize_naively.
"""

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    get_buffer_string,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ctxlab.middleware.sizes import DEFAULT_KEEP, DEFAULT_TRIGGER, message_budget
from ctxlab.settings import Size, Trigger
from ctxlab.tokens import ApproximateCounter, TokenCounter

PROMPT = "Summarize this conversation so that it can go on from your summary:\n\n"
LABEL = "Summary of the conversation so far:\n"


class NaiveSummarizationMiddleware(AgentMiddleware[Any, Any, Any]):
    """Replace the old part of the conversation by a summary, in the state.

    Args:
        model: Writes the summaries: a chat model, or a name for `init_chat_model`.
        trigger: When to compact, in tokens or messages; a list means any.
        keep: Newest messages to keep, as `("messages", n)`.
        counter: Counts tokens; default LangChain's rule.

    Raises:
        ValueError: A size is not above 0, or keep is not in messages.
    """

    def __init__(
        self,
        model: Any,
        *,
        trigger: Trigger = DEFAULT_TRIGGER,
        keep: Size = DEFAULT_KEEP,
        counter: TokenCounter | None = None,
    ) -> None:
        super().__init__()
        self.model = init_chat_model(model) if isinstance(model, str) else model
        self.budget, self.keep = message_budget(trigger, keep)
        self.counter = counter or ApproximateCounter()

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Rewrite the state when it is over the trigger."""
        messages = state["messages"]
        if not self._due(messages):
            return None
        return self._rewritten(messages, self.model.invoke(self._prompt(messages)))

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Do what `before_model` does, without blocking the running loop."""
        messages = state["messages"]
        if not self._due(messages):
            return None
        reply = await self.model.ainvoke(self._prompt(messages))
        return self._rewritten(messages, reply)

    def _due(self, messages: Sequence[BaseMessage]) -> bool:
        due = self.budget.due(self.counter(messages), len(messages))
        return due and len(messages) > self.keep

    def _prompt(self, messages: Sequence[BaseMessage]) -> str:
        return PROMPT + get_buffer_string(messages[: -self.keep])

    def _rewritten(
        self, messages: Sequence[BaseMessage], reply: AIMessage
    ) -> dict[str, Any]:
        summary = HumanMessage(LABEL + reply.text)
        tail = messages[-self.keep :]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *tail]}
