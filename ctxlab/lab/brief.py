"""Values in one short line, the same on every run.

A learner reads the case that failed, so a message shows as its type and text, a
long list by its ends, and no address, set order or line break gets through.

>>> from langchain_core.messages import HumanMessage
>>> brief([HumanMessage("cancel order 7"), {"b", "a"}, 0.1 + 0.2])
"[human('cancel order 7'), {'a', 'b'}, 0.3]"
>>> difference([1, 2, 3], [1, 2, 4])
'expected [1, 2, 3], got [1, 2, 4]'

Left out: tables (`panels/tables.py`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-fA-F]+")


def brief(value: Any, most: int = 60) -> str:
    """Return a value in one line of at most `most` characters, its middle left out."""
    text = " ".join(_ADDRESS.sub("", _shown(value)).split())
    if len(text) <= most:
        return text
    head = max(1, most * 2 // 3)
    return f"{text[:head]}…{text[len(text) - max(1, most - head - 1) :]}"


def brief_all(values: Sequence[Any], most: int = 70) -> list[str]:
    """Return values in one line together: only the longest are cut.

    >>> brief_all(["a" * 90, 7], most=20)
    ["'aaaaaaaaaaa…aaaaa'", '7']
    """
    shown = [brief(value, 10 * most) for value in values]
    cap = most
    while cap > 8 and sum(min(len(text), cap) for text in shown) > most:
        cap -= 1
    return [brief(value, cap) for value in values]


def difference(expected: Any, got: Any) -> str:
    """Say how a value differs from the expected one: in kind, length or content."""
    if expected is None or got is None:
        return f"expected {brief(expected)}, got {brief(got)}"
    if type(got) is not type(expected) and not _both_numbers(expected, got):
        return (
            f"expected {brief(expected)} ({type(expected).__name__}), "
            f"got {brief(got)} ({type(got).__name__})"
        )
    shown = brief(expected), brief(got)
    if isinstance(expected, list | tuple) and max(map(len, shown)) > 40:
        return _first_difference(list(expected), list(got))
    if shown[0] == shown[1]:  # the difference is in the middle that is left out
        return f"expected {brief(expected, 200)}, got {brief(got, 200)}"
    return f"expected {shown[0]}, got {shown[1]}"


def _first_difference(expected: list[Any], got: list[Any]) -> str:
    if len(expected) != len(got):
        plural = "" if len(expected) == 1 else "s"
        return f"expected {len(expected)} item{plural}, got {len(got)}: {brief(got)}"
    for at, (one, other) in enumerate(zip(expected, got, strict=True)):
        if one != other:
            return f"item {at}: expected {brief(one)}, got {brief(other)}"
    return f"expected {brief(expected)}, got {brief(got)}"


def _both_numbers(*values: Any) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _shown(value: Any) -> str:
    if isinstance(value, BaseMessage):
        return _message(value)
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_shown(k)}: {_shown(v)}' for k, v in value.items())}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_shown, value)))}}}" if value else "set()"
    if isinstance(value, tuple):
        items = ", ".join(map(_shown, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, type) or callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, BaseException):
        return str(value)
    return repr(value)


def _message(message: BaseMessage) -> str:
    """Type and text; a call shows its tools, since its text is mostly empty."""
    if isinstance(message, AIMessage) and message.tool_calls:
        called = ", ".join(call["name"] for call in message.tool_calls)
        return f"ai({message.text!r} calls {called})"
    return f"{message.type}({message.text!r})"
