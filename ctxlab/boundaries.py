"""Where a conversation may be cut.

A cut splits a history into an old part (to summarise) and a tail (to keep).
Providers refuse a result whose call is missing, so messages move in **units**: a
call with all its results, wherever they stand, and whatever stands between them.

>>> from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
>>> call = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}])
>>> history = [HumanMessage("q"), call, HumanMessage("wait, what?"),
...            ToolMessage("r", tool_call_id="c1"), AIMessage("done")]
>>> units(history)
[(0, 1), (1, 4), (4, 5)]
>>> safe_cut(history, 3)  # the result's call stands at 1, so the cut goes there
1

Every function reads the history once, O(messages); call them once per compaction.

Left out here: which messages stay although they stand before the cut (pins, leading
system messages) is the chain's decision; reasoning blocks bound to an open turn are
left as they are. Lessons: 04_write_a_handoff, 08_keep_tokens.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)


def units(messages: Sequence[BaseMessage], start: int = 0) -> list[tuple[int, int]]:
    """Return the index ranges that may only move together, oldest first.

    The ranges are half-open, cover `start..len(messages)` without gap and never
    overlap. Calls of the last AI message that still wait for a result tie it to
    everything behind it, for their results have yet to arrive there.

    Args:
        messages: The history, oldest first.
        start: Index of the first message to look at; a result whose call stands
            before it counts as a result without a call.

    >>> from langchain_core.messages import AIMessage, HumanMessage
    >>> pending = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}])
    >>> units([HumanMessage("q"), pending, HumanMessage("hello?")])
    [(0, 1), (1, 3)]
    """
    stop = len(messages)
    return [(first, min(last, stop)) for first, last in _ranges(messages, start)]


def boundaries_of(messages: Sequence[BaseMessage], start: int = 0) -> list[int]:
    """Return where units start: no cut at one of these indices splits any."""
    return [first for first, _ in _ranges(messages, start)]


def safe_cut(messages: Sequence[BaseMessage], index: int) -> int:
    """Return the nearest boundary at or before `index` that splits no unit.

    Args:
        messages: The history, oldest first.
        index: Wanted cut: messages before it are old, from it on are kept.

    Returns:
        A message index in `0..min(index, len(messages))`; 0 keeps everything.
    """
    cut = max(0, min(index, len(messages)))
    for first, last in _ranges(messages):
        if first < cut < last:
            return first
    return cut


def cut_for_tokens(
    messages: Sequence[BaseMessage],
    budget: float,
    *,
    tokens_from: Callable[[int], float],
    first: int = 0,
    boundaries: Sequence[int] | None = None,
) -> int:
    """Return the cut that keeps as many of the newest tokens as the budget allows.

    The wanted cut is found by binary search (row M12). On a unit it goes back to
    its start; if that breaks the budget it goes forward past the unit, unless
    nothing would remain: the newest unit always stays.

    Args:
        messages: The history, oldest first.
        budget: Tokens that the kept tail may have.
        tokens_from: Tokens of `messages[index:]`, falling as the index grows.
        first: The smallest cut to consider, itself a safe boundary.
        boundaries: Where units start from `first` on, if that is known already.

    Returns:
        A message index in `first..len(messages)`; `first` keeps all from there.

    >>> from langchain_core.messages import HumanMessage
    >>> history = [HumanMessage("x")] * 5  # say 10 tokens each
    >>> cut_for_tokens(history, 25, tokens_from=lambda index: 10 * (5 - index))
    3
    """
    if boundaries is None:
        boundaries = boundaries_of(messages, first)
    if not boundaries:
        return min(first, len(messages))
    wanted = bisect_left(
        range(first, len(messages)), -budget, key=lambda index: -tokens_from(index)
    )
    place = bisect_right(boundaries, first + wanted) - 1
    over = tokens_from(boundaries[place]) > budget
    return boundaries[min(place + over, len(boundaries) - 1)]


def partition_history(
    messages: Sequence[BaseMessage], keep: int = 8
) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Split a history into an old part and a kept part (rows H2 to H4).

    Kept are all messages from the cut on, every SystemMessage and the newest
    HumanMessage that is not a summary. Order stays, and each message is in exactly
    one part.

    Args:
        messages: The history, oldest first.
        keep: Number of newest messages to keep; more are kept where a unit asks it.

    Raises:
        ValueError: If `keep` is below 1, or a kept result has no call before it.
    """
    if keep < 1:
        raise ValueError(f"keep must be at least 1 message, got {keep}")
    cut = safe_cut(messages, len(messages) - keep)
    for index, call_at in _answered(messages):
        if call_at is None and index >= cut:
            raise ValueError(
                f"message {index} is the result of call {_id(messages[index])!r}, but "
                "no AI message before it makes that call: remove the result or put "
                "its call back"
            )
    newest = _newest_user(messages)
    old: list[BaseMessage] = []
    kept: list[BaseMessage] = []
    for index, message in enumerate(messages):
        stays = index >= cut or index == newest or isinstance(message, SystemMessage)
        (kept if stays else old).append(message)
    return old, kept


def _ranges(
    messages: Sequence[BaseMessage], start: int = 0
) -> Iterator[tuple[int, int]]:
    """Yield units; one that waits for results ends at `len(messages) + 1`.

    That end lies behind the last possible cut, so no cut can leave it open.
    """
    reach = _reach(messages, start)
    first, stop = start, len(messages)
    while first < stop:
        index = first + 1
        last = reach.get(first, index)
        while index < last and index < stop:
            index += 1
            last = max(last, reach.get(index - 1, index))
        yield first, last
        first = last


def _reach(messages: Sequence[BaseMessage], start: int) -> dict[int, int]:
    """Map messages to the end of what they are tied to by calls of their own."""
    reach: dict[int, int] = {}
    for index, call_at in _answered(messages, start):
        if call_at is not None:
            reach[call_at] = index + 1
    waiting = _waiting_call(messages, start)
    if waiting is not None:
        reach[waiting] = len(messages) + 1
    return reach


def _answered(
    messages: Sequence[BaseMessage], start: int = 0
) -> Iterator[tuple[int, int | None]]:
    """Yield (index of a result, index of its call or None), oldest result first.

    A call id may come again in a later step (small local models do that): a result
    belongs to the newest open call with its id; when all are answered it is a
    second answer to the newest of them.
    """
    made: dict[str | None, list[int]] = defaultdict(list)
    open_calls: dict[str | None, list[int]] = defaultdict(list)
    for index in range(start, len(messages)):
        message = messages[index]
        if isinstance(message, AIMessage):
            for call_id in _call_ids(message):
                made[call_id].append(index)
                open_calls[call_id].append(index)
        elif isinstance(message, ToolMessage):
            call_id = message.tool_call_id
            if open_calls[call_id]:
                yield index, open_calls[call_id].pop()
            else:
                yield index, made[call_id][-1] if made[call_id] else None


def _waiting_call(messages: Sequence[BaseMessage], start: int) -> int | None:
    """Return the index of the last AI message if a call of it has no result yet."""
    for index in range(len(messages) - 1, start - 1, -1):
        message = messages[index]
        if isinstance(message, AIMessage):
            results = [m for m in messages[index:] if isinstance(m, ToolMessage)]
            answered = {result.tool_call_id for result in results}
            return index if set(_call_ids(message)) - answered else None
    return None


def _call_ids(message: AIMessage) -> list[str | None]:
    """Ids of the calls a message makes; invalid ones are sent and answered too."""
    return [call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)]


def _newest_user(messages: Sequence[BaseMessage]) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        source = message.additional_kwargs.get("lc_source")
        if isinstance(message, HumanMessage) and source != "summarization":
            return index
    return None


def _id(message: BaseMessage) -> str:
    return getattr(message, "tool_call_id", "")
