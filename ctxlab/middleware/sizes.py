"""Trigger and keep of the first steps, written as everywhere else.

The defaults are those of row H1. Steps 1 and 3 know no model and keep messages.

>>> budget, keep = message_budget(DEFAULT_TRIGGER, DEFAULT_KEEP)
>>> budget.due(tokens=17_999, messages=59), budget.due(tokens=0, messages=60), keep
(False, True, 8)

Left out here: keep in tokens, fractions of a window. Lesson: 08_keep_tokens.
"""

from ctxlab.budgets import Budget, budget_for
from ctxlab.settings import Settings, Size, Trigger

DEFAULT_TRIGGER: Trigger = [("tokens", 18_000), ("messages", 60)]  # row H1
DEFAULT_KEEP: Size = ("messages", 8)


def message_budget(trigger: Trigger, keep: Size) -> tuple[Budget, int]:
    """Return when to compact, and how many of the newest messages to keep.

    Raises:
        ValueError: A size is not above 0, keep is not in messages or not below the
            trigger, or the trigger is a fraction.
    """
    if keep[0] != "messages":
        raise ValueError(
            f'this step keeps messages, got keep={keep!r}: give ("messages", n), or '
            "keep tokens with RequestOnlySummarizationMiddleware"
        )
    budget = budget_for(Settings(trigger=trigger, keep=keep), window=None, learned=None)
    return budget, int(keep[1])
