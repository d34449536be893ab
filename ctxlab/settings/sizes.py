"""Sizes and triggers: in tokens, in messages, or as a share of the window.

>>> trigger_of([{"type": "tokens", "value": 30_000}, {"messages": 40}])
[('tokens', 30000), {'messages': 40}]
"""

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, Literal

Unit = Literal["tokens", "messages", "fraction"]
Size = tuple[Unit, int | float]
Trigger = Size | list[Size | dict[Unit, int | float]] | dict[Unit, int | float]


def size_of(value: Any) -> Any:
    """Accept `{type: tokens, value: 1}` as well as `("tokens", 1)`."""
    if isinstance(value, Mapping) and set(value) == {"type", "value"}:
        value = (value["type"], value["value"])
    if isinstance(value, (tuple, list)) and len(value) == 2:
        unit, amount = value
        number = isinstance(amount, (int, float)) and isfinite(amount)
        if isinstance(unit, str) and number:
            return unit, int(amount) if unit != "fraction" else float(amount)
    return value


def trigger_of(value: Any) -> Any:
    """Accept one size, a list of them (any), or a dict (all)."""
    one = size_of(value)
    if isinstance(one, list):
        return [size_of(item) for item in one]
    return one


def conditions(trigger: Trigger) -> list[dict[Unit, int | float]]:
    """Return a trigger as a list (any) of dicts (all).

    >>> conditions([("tokens", 100), {"messages": 4, "tokens": 50}])
    [{'tokens': 100}, {'messages': 4, 'tokens': 50}]
    """
    if isinstance(trigger, list):
        return [dict([item]) if isinstance(item, tuple) else item for item in trigger]
    return [dict([trigger]) if isinstance(trigger, tuple) else trigger]


def sizes_of(trigger: Trigger) -> list[Size]:
    """Return every size that a trigger names."""
    return [size for needed in conditions(trigger) for size in needed.items()]


def amount_in(size: Any, unit: Unit) -> float | None:
    """Return the amount of a size, or of a dict of sizes, in this unit."""
    if isinstance(size, tuple) and len(size) == 2 and size[0] == unit:
        return float(size[1]) if isinstance(size[1], (int, float)) else None
    return None


def smallest_tokens(trigger: Any) -> float | None:
    """Return the smallest size in tokens of a trigger, as far as it is one."""
    items = trigger if isinstance(trigger, list) else [trigger]
    found = [
        item.get("tokens") if isinstance(item, dict) else amount_in(item, "tokens")
        for item in items
    ]
    sizes = [
        size for size in found if isinstance(size, (int, float)) and 0 < size < inf
    ]
    return min(sizes, default=None)


def check_size(unit: Unit, amount: float) -> None:
    """Raise ValueError if a size cannot be meant."""
    if not 0 < amount < inf:
        raise ValueError(f"{unit} is {amount}; give a number above 0")
    if unit == "fraction" and amount > 1:
        raise ValueError(f"fraction is {amount}; give a share of the window, 0 to 1")
