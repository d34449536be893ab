"""Search a history for the messages that a summary stands for.

Nothing is stored a second time: the checkpoint still holds every message whole. A
query's words are looked up, rare ones weigh more, and the best messages come back in
the order of the conversation, within a budget of tokens.

>>> from langchain_core.messages import HumanMessage
>>> history = [HumanMessage("The door code is 7781."), HumanMessage("Thanks!")]
>>> print(found(history, "door code", count_text=len, budget=400))
[0] human: The door code is 7781.

Left out here: meaning; a paraphrase finds nothing. Lesson: 10_protect_the_call.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.tool_results import plain_text

WORD = re.compile(r"[^\W_]+(?:[-_.][^\W_]+)*")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
NOTHING = "Nothing in the earlier conversation matches; try other words."
SMALLEST_EXCERPT = 60  # tokens

CountText = Callable[[str], float]


def found(
    messages: Sequence[BaseMessage],
    query: str,
    *,
    count_text: CountText,
    budget: float,
    among: Collection[int] | None = None,
) -> str:
    """Return the messages that match a query best, word for word.

    Args:
        messages: The history, oldest first.
        query: What to look for.
        count_text: Tokens of a text.
        budget: Tokens of the answer; a larger message gives an excerpt.
        among: Indices to search; all by default.
    """
    places = range(len(messages)) if among is None else sorted(among)
    texts = {place: readable(messages[place]) for place in places}
    pieces: dict[int, str] = {}
    room = budget
    for place in best(texts, query):
        head = f"[{place}] {messages[place].type}: "
        piece = head + excerpt(texts[place], query, room - count_text(head), count_text)
        if pieces and count_text(piece) > room:
            break
        pieces[place] = piece
        room -= count_text(piece) + 2
        if room < SMALLEST_EXCERPT:
            break
    return "\n\n".join(pieces[place] for place in sorted(pieces)) or NOTHING


def best(texts: dict[int, str], query: str) -> list[int]:
    """Return the places whose texts match, best first, newer before older."""
    wanted = set(terms(query))
    held = {place: wanted & set(terms(text)) for place, text in texts.items()}
    spread = Counter(term for matched in held.values() for term in matched)
    weight = {term: math.log(1 + len(texts) / spread[term]) for term in spread}
    scores = {
        place: sum(sorted(weight[term] for term in matched))
        for place, matched in held.items()
        if matched
    }
    return sorted(scores, key=lambda place: (-scores[place], -place))


def terms(text: str) -> list[str]:
    """Return the words of a text, and pairs of characters where none are spaced.

    >>> terms("Order A-17 出库单")
    ['order', 'a-17', 'a', '17', '出库', '库单']
    """
    spaced = CJK.sub(" ", text.lower())
    words = []
    for word in WORD.findall(spaced):
        parts = re.split(r"[-_.]", word)
        words += [word, *parts] if len(parts) > 1 else parts
    for run in CJK.findall(text):
        words += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return words


def excerpt(text: str, query: str, tokens: float, count_text: CountText) -> str:
    """Return a text, or what stands around its first match, within so many tokens."""
    size = count_text(text)
    if size <= tokens:
        return text
    room = max(20, int(len(text) * max(0.0, tokens) / size) - 40)
    lowered = text.lower()
    hits = [lowered.find(term) for term in sorted(set(terms(query)), key=len)]
    hit = next((at for at in reversed(hits) if at >= 0), 0)
    start = max(0, min(hit - room // 3, len(text) - room))
    return f"[… from character {start:,} of {len(text):,}] {text[start : start + room]}"


def readable(message: BaseMessage) -> str:
    """Return content and calls of a message as one text."""
    parts = [plain_text(message)]
    if isinstance(message, AIMessage):
        parts += [
            f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})"
            for call in message.tool_calls
        ]
    return "\n".join(part for part in parts if part)
