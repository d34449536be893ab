"""Two tools for the model, opt-in: ask for a compaction, and look things up again.

    RequestOnlySummarizationMiddleware(
        model, tools=("compact_conversation", "recall_history")
    )

`compact_conversation` only says so: the next model call sees its result and compacts.
`recall_history` searches the untouched checkpoint for what a summary stands for, and
for results that a request carries shortened.

Lesson: 10_protect_the_call.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain.tools import BaseTool, ToolRuntime, tool
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ctxlab.chain import COMPACT_TOOL
from ctxlab.chain.samples import entry_of
from ctxlab.middleware.history_search import CountText, found

ToolName = Literal["compact_conversation", "recall_history"]
RECALL_TOOL = "recall_history"
RECALL_TOKENS = 2_000


def compaction_tool() -> BaseTool:
    """Return the tool by which the model asks for a compaction."""

    @tool(COMPACT_TOOL)
    def compact_conversation() -> str:
        """Summarize the older part of this conversation before your next step.

        Use it when a task is finished and the details are no longer needed.
        """
        return "The older part will be summarized before your next step."

    return compact_conversation


def recall_tool(count_text: CountText, budget: int = RECALL_TOKENS) -> BaseTool:
    """Return the tool that finds messages which are not carried any more.

    Args:
        count_text: Tokens of a text.
        budget: Tokens that an answer may have.
    """

    @tool(RECALL_TOOL)
    def recall_history(query: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Search earlier messages that were summarized or shortened.

        Args:
            query: Words that stand in the message: names, numbers, identifiers.
            runtime: Given by the agent.
        """
        messages = runtime.state["messages"]
        return found(
            messages,
            query,
            count_text=count_text,
            budget=budget,
            among=not_carried(messages),
        )

    return recall_history


def not_carried(messages: Sequence[BaseMessage]) -> list[int]:
    """Return the messages that the newest answer did not see, or not whole.

    Those before the tail of its view, and all results, for they may be shortened;
    but no earlier finds of this tool.
    """
    newest = len(messages) - 1
    while newest > 0 and not isinstance(messages[newest], AIMessage):
        newest -= 1
    tail = entry_of(messages[newest]).get("tail", 0) if messages else 0
    return [
        place
        for place, message in enumerate(messages[:newest])
        if (place < tail or isinstance(message, ToolMessage))
        and message.name not in (RECALL_TOOL, COMPACT_TOOL)
    ]


def chosen_tools(
    names: Sequence[ToolName], count_text: Callable[[str], float]
) -> list[BaseTool]:
    """Return the tools of these names.

    Raises:
        ValueError: A name is none of the two.
    """
    makers: dict[str, Callable[[], BaseTool]] = {
        COMPACT_TOOL: compaction_tool,
        RECALL_TOOL: lambda: recall_tool(count_text),
    }
    for name in names:
        if name not in makers:
            known = ", ".join(makers)
            raise ValueError(f"unknown tool {name!r}; known are {known}")
    return [makers[name]() for name in names]
