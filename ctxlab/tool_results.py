"""Shorten stale results and oversize arguments, for one request.

A result is *stale* when the model has answered it and newer results stand behind
it. Its head and its tail stay; the middle gives way to a marker that says how much
is missing. The message in the checkpoint stays whole: a shortened copy is made.

>>> from langchain_core.messages import ToolMessage
>>> log = ToolMessage("start " + "x" * 9_000 + " end", tool_call_id="c1")
>>> short = clip(log, 40, lambda text: len(text) / 4)
>>> print(short.text[:6], short.text[-3:], len(log.text), len(short.text))
start  end 9010 160

Left out here: when to shorten (`ctxlab.chain`), fetching the whole again
(`recall_history`). Lesson: 10_protect_the_call.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

STALE_TOKENS = 2_000
SHORT_TOKENS = 500
NEWEST_RESULTS = 3
SMALL_CHARACTERS = 120  # shorter arguments are names and paths: they stay whole

CountText = Callable[[str], float]
Message = TypeVar("Message", bound=BaseMessage)


def stale_results(
    messages: Sequence[BaseMessage],
    sizes: Callable[[int], float],
    *,
    over_tokens: int = STALE_TOKENS,
    newest: int = NEWEST_RESULTS,
    exclude: Collection[str] = (),
) -> list[int]:
    """Return the indices of stale results, and of calls with stale arguments.

    Args:
        messages: The history, oldest first.
        sizes: Tokens of the message at an index.
        over_tokens: Smaller messages stay.
        newest: This many of the newest results stay.
        exclude: Names of tools whose results stay.
    """
    old = _before_newest(messages, newest)
    large = [index for index in range(old) if sizes(index) > over_tokens]
    return [index for index in large if _may_shrink(messages[index], exclude)]


def _before_newest(messages: Sequence[BaseMessage], newest: int) -> int:
    """Return the index before which all is old: answered, with results behind it."""
    answered, results = False, 0
    for index in range(len(messages), 0, -1):
        if answered and results >= newest:
            return index
        message = messages[index - 1]
        if isinstance(message, AIMessage):
            answered = True
        elif isinstance(message, ToolMessage):
            results += 1
    return 0


def _may_shrink(message: BaseMessage, exclude: Collection[str]) -> bool:
    """Return whether a message is a result or a call that may be shortened."""
    if isinstance(message, AIMessage):
        return bool(message.tool_calls)
    return isinstance(message, ToolMessage) and message.name not in exclude


def shorten_stale(
    messages: Sequence[BaseMessage],
    count_text: CountText,
    *,
    sizes: Callable[[int], float] | None = None,
    to_tokens: int = SHORT_TOKENS,
    **rules: Any,
) -> list[BaseMessage]:
    """Return the messages with stale results shortened; the others are the same.

    Args:
        messages: The history, oldest first.
        count_text: Tokens of a text.
        sizes: Tokens of the message at an index; counted from its text if missing.
        to_tokens: What a stale result may keep.
        **rules: As for `stale_results`.
    """
    measured = sizes or (lambda index: count_text(plain_text(messages[index])))
    stale = set(stale_results(messages, measured, **rules))
    return [
        clip(message, to_tokens, count_text) if index in stale else message
        for index, message in enumerate(messages)
    ]


def clip(message: Message, tokens: float, count_text: CountText) -> Message:
    """Return a copy whose result or string arguments fit into so many tokens.

    Only results and string arguments are touched: calls keep their ids and names.
    """
    if isinstance(message, AIMessage):
        calls = [
            {**call, "args": _clip_values(call["args"], tokens, count_text)}
            for call in message.tool_calls
        ]
        content = _without_tool_use(message.content)
        return message.model_copy(update={"tool_calls": calls, "content": content})
    short = clip_text(plain_text(message), tokens, count_text)
    return message.model_copy(update={"content": short})


def clip_text(text: str, tokens: float, count_text: CountText) -> str:
    r"""Return head and tail of a text around a marker with its original size.

    >>> clip_text("abcdefgh" * 10, 50, len)
    'abcdefgh\n[… 66 of 80 characters left out …]\ncdefgh'
    """
    size = count_text(text)
    if size <= tokens:
        return text
    marker = f"\n[… {len(text):,} of {len(text):,} characters left out …]\n"
    free = max(0.0, tokens - count_text(marker))
    room = max(2, int(len(text) * free / size))
    head = max(1, room * 3 // 5)
    tail = room - head
    missing = f"{len(text) - room:,} of {len(text):,} characters left out"
    return f"{text[:head]}\n[… {missing} …]\n{text[-tail:]}"


def _clip_values(args: dict[str, Any], tokens: float, count: CountText) -> Any:
    large = [text for text in _strings(args) if len(text) > SMALL_CHARACTERS]
    share = tokens / max(1, len(large))

    def clipped(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clipped(item) for key, item in value.items()}
        if isinstance(value, list):
            return [clipped(item) for item in value]
        if isinstance(value, str) and len(value) > SMALL_CHARACTERS:
            return clip_text(value, share, count)
        return value

    return clipped(args)


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in call arguments, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _without_tool_use(content: Any) -> Any:
    """Drop copies of the calls in the content: they would still be sent whole."""
    if isinstance(content, str):
        return content
    kinds = ("tool_use", "tool_call", "function_call")
    return [
        block
        for block in content
        if not (isinstance(block, dict) and block.get("type") in kinds)
    ]


def plain_text(message: BaseMessage) -> str:
    """Return the text of a result: JSON as JSON, pictures and files as markers."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(_block_text(block) for block in message.content)


def _block_text(block: str | dict[str, Any]) -> str:
    if isinstance(block, str):
        return block
    if "text" in block:
        return str(block["text"])
    if "json" in block:
        return json.dumps(block["json"], ensure_ascii=False)
    return f"[{block.get('type', 'block')}]"
