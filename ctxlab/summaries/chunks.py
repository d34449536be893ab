"""Split a span into as few chunks as fit, losing nothing (row M14).

A span of `n` tokens makes exactly ⌈n ÷ chunk⌉ chunks. Their edges use what room is
left over to fall between messages, best not before a result; only where no message
edge is near enough is a message split, and its parts say so.

>>> span = [{"type": "human", "content": "a" * 9}, {"type": "ai", "content": "bbbb"}]
>>> for chunk in split(span, sizes=[9, 4], chunk_tokens=6):
...     print([(entry["content"], entry.get("part")) for entry in chunk])
[('aaaaaa', '1/2')]
[('aaa', '2/2')]
[('bbbb', None)]

Left out: the tokens that JSON adds to an entry; `plan` counts whole prompts.
"""

import json
import math
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from ctxlab.summaries.entries import Entry

_EPSILON = 1e-6  # tokens; sums of floats are compared
_REACH = 200  # characters an edge inside a message may go back to a better place
_ENDS = [re.compile(pattern) for pattern in (r"\n", r"[.!?。！？;；]\s*", r"\s")]


def split(
    entries: Sequence[Entry], sizes: Sequence[float], chunk_tokens: float
) -> list[list[Entry]]:
    """Return the entries in chunks, in order, each entry or its parts exactly once.

    Args:
        entries: What to split, oldest first.
        sizes: Tokens of each entry.
        chunk_tokens: Tokens that a chunk may hold, above 0. An edge inside a message
            goes back to the end of a line, sentence or word if one is near, so the
            chunk after it may be larger by those few characters.
    """
    shares: list[list[float]] = [[] for _ in entries]
    for index, share in _edges(entries, sizes, chunk_tokens):
        shares[index].append(share)
    chunks: list[list[Entry]] = [[]]
    for entry, places in zip(entries, shares, strict=True):
        inside = [share for share in places if share > 0]
        if len(inside) < len(places):
            chunks.append([])
        first, *rest = _parts(entry, inside)
        chunks[-1].append(first)
        chunks.extend([part] for part in rest)
    return chunks


def _edges(
    entries: Sequence[Entry], sizes: Sequence[float], chunk_tokens: float
) -> list[tuple[int, float]]:
    """Return where chunks begin: (entry index, share of that entry before the edge)."""
    starts = [0.0, *accumulate(sizes)]
    total = starts.pop()
    count = max(1, math.ceil(total / chunk_tokens - _EPSILON))
    edges: list[tuple[int, float]] = []
    begin, index = 0.0, 0
    for left in range(count - 1, 0, -1):
        latest = begin + chunk_tokens
        earliest = max(begin, total - left * chunk_tokens)
        near: list[int] = []
        while index < len(starts) and starts[index] <= latest + _EPSILON:
            if starts[index] > begin and starts[index] >= earliest - _EPSILON:
                near.append(index)
            index += 1
        if near:
            free = [i for i in near if entries[i]["type"] != "tool"]
            index = (free or near)[-1]
            begin = starts[index]
            edges.append((index, 0.0))
        else:
            index -= 1  # the message that reaches over the edge
            begin = latest
            edges.append((index, (latest - starts[index]) / sizes[index]))
    return edges


def _parts(entry: Entry, shares: Sequence[float]) -> list[Entry]:
    """Split one entry at shares of its text; parts keep type, name and call id."""
    if not shares:
        return [entry]
    text = entry["content"]
    rest = {key: value for key, value in entry.items() if key != "content"}
    calls = rest.pop("tool_calls", None)
    if calls:  # arguments may be the large part: split them as text, too
        text += "\ntool_calls: " + json.dumps(calls, ensure_ascii=False)
    places = [0]
    for share in shares:
        places.append(_good_place(text, places[-1], round(share * len(text))))
    places.append(len(text))
    return [
        {**rest, "content": text[start:stop], "part": f"{number}/{len(shares) + 1}"}
        for number, (start, stop) in enumerate(pairwise(places), start=1)
    ]


def _good_place(text: str, start: int, stop: int) -> int:
    """Return the last end of a line, sentence or word shortly before `stop`."""
    begin = max(start + 1, stop - _REACH)
    for pattern in _ENDS:
        ends = [found.end() for found in pattern.finditer(text, begin, stop)]
        if ends:
            return ends[-1]
    return stop
