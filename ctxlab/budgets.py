"""Limit, trigger and keep: what one request may cost, and what is left of it.

>>> budget = budget_for(Settings(), window=32_768, learned=None)
>>> budget.limit, budget.trigger_tokens, budget.keep_tokens
(32768, 27852, 24000)

A trigger in tokens never stands above 85 % of a known limit, whatever was set: the
estimate may err, and the answer needs room too.

Left out here: how large a request is (`ctxlab.estimates`).
Lesson: 08_keep_tokens.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxlab.settings import Settings, Unit, conditions

SAFE_SHARE = 0.85
MAX_SUMMARY_TOKENS = 2_000
OUTPUT_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens")


@dataclass(frozen=True)
class Budget:
    """The sizes that hold for one request; tokens unless a name says otherwise.

    Attributes:
        limit: Largest input the model takes; None when nobody knows.
        conditions: The trigger: any of these dicts, each with all its sizes.
        trigger_tokens: The smallest trigger in tokens; None without one.
        keep_tokens: Size of the whole request after a compaction.
        keep_messages: The same in messages, when it was set so.
    """

    limit: int | None
    conditions: tuple[dict[Unit, int | float], ...]
    trigger_tokens: int | None
    keep_tokens: int
    keep_messages: int | None = None

    @property
    def ceiling(self) -> int | None:
        """Size that a request must not reach after a compaction."""
        return self.limit or self.trigger_tokens

    @property
    def summary_tokens(self) -> int:
        """Largest summary: a quarter of what is kept, at most 2,000."""
        return max(1, min(MAX_SUMMARY_TOKENS, self.keep_tokens // 4))

    def due(self, tokens: float, messages: int) -> bool:
        """Return whether a request of this size must be compacted."""
        if self.limit and tokens >= SAFE_SHARE * self.limit:
            return True
        for needed in self.conditions:
            enough = tokens >= needed.get("tokens", 0)
            if enough and messages >= needed.get("messages", 0):
                return True
        return False


def budget_for(
    settings: Settings, *, window: int | None, learned: int | None, reserve: int = 0
) -> Budget:
    """Return the budget of one request.

    Args:
        settings: What was configured.
        window: The model's input window, for fractions; None when unknown.
        learned: A limit that an earlier error stated.
        reserve: Part of the window that is set aside for the answer.

    Raises:
        ValueError: A fraction is configured and the window is unknown.
    """
    known = [size for size in (window and window - reserve, learned) if size]
    limit = min(known) if known else None
    wanted = tuple(_in_tokens(one, window) for one in conditions(settings.trigger))
    amounts = [int(needed["tokens"]) for needed in wanted if "tokens" in needed]
    if limit:
        amounts.append(int(SAFE_SHARE * limit))
    trigger = min(amounts) if amounts else None
    unit, amount = settings.keep
    if unit == "messages":
        keep = min(24_000, trigger // 2 if trigger else 24_000)
        return Budget(limit, wanted, trigger, keep, keep_messages=int(amount))
    keep = int(_in_tokens({unit: amount}, window)["tokens"])
    return Budget(limit, wanted, trigger, _below(keep, trigger))


def input_window(
    profile: Mapping[str, Any] | None, given: int | None
) -> tuple[int | None, bool]:
    """Return the input window in tokens, and whether it comes from a profile.

    What was given wins over a profile: catalogues go by name and may be wrong.
    """
    if given:
        return given, False
    size = (profile or {}).get("max_input_tokens")
    return (size, True) if isinstance(size, int) and size > 0 else (None, False)


def output_reserve(window: int, *sources: Mapping[str, Any]) -> int:
    """Return the tokens to set aside for the answer: at most half of the window.

    >>> output_reserve(1_000, {"max_tokens": 800}), output_reserve(1_000, {})
    (500, 0)
    """
    sizes = [source.get(name) for source in sources for name in OUTPUT_NAMES]
    asked = next((size for size in sizes if isinstance(size, int) and size > 0), 0)
    return min(asked, window // 2)


def _below(keep: int, trigger: int | None) -> int:
    """A compaction must get below the trigger, also in a window smaller than keep."""
    return keep if trigger is None or keep < trigger else max(1, trigger // 2)


def _in_tokens(
    needed: Mapping[Unit, int | float], window: int | None
) -> dict[Unit, int | float]:
    sizes = dict(needed)
    if "fraction" in sizes:
        if window is None:
            raise ValueError(
                f"a fraction of {sizes['fraction']} needs the model's window: give "
                "max_input_tokens, or use a size in tokens"
            )
        share = math.floor(sizes.pop("fraction") * window)
        sizes["tokens"] = min(share, sizes.get("tokens", share))
    return sizes
