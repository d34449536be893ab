"""Step 2: LangChain's own middleware, with the settings of row H1.

It cuts more carefully than step 1, hides its call from the stream, marks its summary
and asks a failing model again. It still rewrites the checkpoint.

>>> from langchain_core.language_models import FakeListChatModel
>>> writer = FakeListChatModel(responses=["..."])
>>> middleware = builtin_summarization(writer)
>>> middleware.trigger, middleware.keep
([('tokens', 18000), ('messages', 60)], ('messages', 8))

The class has changed its names (row D1); older texts write the left column:

| until langchain 1.0                | today                                   |
|------------------------------------|-----------------------------------------|
| `max_tokens_before_summary=4000`   | `trigger=("tokens", 4000)`              |
| `messages_to_keep=20`              | `keep=("messages", 20)`                 |
| `summary_prefix="..."`             | gone: the summary is a marked message   |

A trigger may now be a list (any) or a dict (all), in tokens, messages or a fraction of
the window, and keep one size of the same kinds.

>>> builtin_summarization(writer, messages_to_keep=20)
Traceback (most recent call last):
TypeError: messages_to_keep=20 is written keep=('messages', 20) today

Left out here: where it loses history or stalls (`tests/test_ladder.py` measures it).
Lesson: 03_use_the_builtin.
"""

from inspect import signature
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware

from ctxlab.middleware.sizes import DEFAULT_KEEP, DEFAULT_TRIGGER
from ctxlab.settings import Size, Trigger

NEW_NAMES = {
    "max_tokens_before_summary": ("trigger", "tokens"),
    "messages_to_keep": ("keep", "messages"),
}


def builtin_summarization(
    model: Any,
    *,
    trigger: Trigger = DEFAULT_TRIGGER,
    keep: Size = DEFAULT_KEEP,
    trim_tokens_to_summarize: int | None = 20_000,
    **more: Any,
) -> SummarizationMiddleware[Any, Any]:
    """Return LangChain's `SummarizationMiddleware`, set as row H1 sets it.

    Args:
        model: Writes the summaries: a chat model, or a name for `init_chat_model`.
        trigger: When to compact; a list means any, a dict means all.
        keep: What stays verbatim.
        trim_tokens_to_summarize: Newest tokens of the old part that the summary model
            gets to see; None for all. What is older is lost unread.
        **more: Further arguments of LangChain's class.

    Raises:
        TypeError: An argument is unknown, or has the name it had before langchain 1.0:
            LangChain's class would ignore it without a word.
        ValueError: LangChain refuses a size.
    """
    for old, (new, unit) in NEW_NAMES.items():
        if old in more:
            size = (unit, more[old])
            raise TypeError(f"{old}={more[old]!r} is written {new}={size!r} today")
    known = signature(SummarizationMiddleware).parameters
    if unknown := sorted(set(more) - set(known)):
        raise TypeError(f"unknown: {', '.join(unknown)}; known are {', '.join(known)}")
    settings: dict[str, Any] = {"trigger": trigger, "keep": keep, **more}
    return SummarizationMiddleware(
        model, trim_tokens_to_summarize=trim_tokens_to_summarize, **settings
    )
