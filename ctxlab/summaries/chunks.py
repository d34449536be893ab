"""Split a span into as few chunks as fit, losing nothing (row M14).

A span of `n` tokens makes exactly ⌈n ÷ chunk⌉ chunks. Their edges use what room is
left over to fall between messages, best not before a result; only where no message
edge is near enough is a message split, and its parts say so.

>>> spans = [{"type": "human", "content": "a" * 10}, {"type": "ai", "content": "b" * 4}]
>>> for chunk in split(spans, [10.0, 4.0], 5.0):
...     print([(entry["content"], entry.get("part")) for entry in chunk])
[('aaaaa', '1/2')]
[('aaaaa', '2/2')]
[('bbbb', None)]
"""

import json
import math
from collections.abc import Sequence
from itertools import pairwise

from ctxlab.summaries.entries import Entry

_SLIVER = 1e-6  # token sums are floats


def split(
    entries: Sequence[Entry], sizes: Sequence[float], chunk_tokens: float
) -> list[list[Entry]]:
    """Return the entries in chunks, in order, each entry or its parts exactly once.

    Args:
        entries: What to split, oldest first.
        sizes: Tokens of each entry.
        chunk_tokens: Tokens a chunk may hold, above 0.
    """
    edges = _edges(entries, sizes, chunk_tokens)
    cuts_of: list[list[float]] = [[] for _ in entries]
    for index, share in edges:
        cuts_of[index].append(share)
    chunks: list[list[Entry]] = [[]]
    for entry, shares in zip(entries, cuts_of, strict=True):
        if shares and shares[0] == 0.0:
            chunks.append([])
            shares = shares[1:]
        first, *rest = _parts(entry, shares)
        chunks[-1].append(first)
        chunks.extend([part] for part in rest)
    return chunks


def _edges(
    entries: Sequence[Entry], sizes: Sequence[float], chunk_tokens: float
) -> list[tuple[int, float]]:
    """Return where chunks begin: (entry index, share of that entry before the edge)."""
    starts = [0.0]
    for size in sizes:
        starts.append(starts[-1] + size)
    total = starts[-1]
    count = max(1, math.ceil(total / chunk_tokens - _SLIVER))
    edges: list[tuple[int, float]] = []
    begin, index = 0.0, 0
    for left in range(count - 1, 0, -1):
        earliest = max(total - left * chunk_tokens, begin) - _SLIVER
        latest = begin + chunk_tokens + _SLIVER
        best = None
        while index < len(entries) and starts[index] <= latest:
            if starts[index] > begin and starts[index] >= earliest:
                is_result = entries[index]["type"] == "tool"
                if best is None or not is_result or entries[best]["type"] == "tool":
                    best = index
            index += 1
        if best is not None:
            edges.append((best, 0.0))
            begin, index = starts[best], best
        else:
            index -= 1
            share = (begin + chunk_tokens - starts[index]) / sizes[index]
            edges.append((index, share))
            begin += chunk_tokens
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
    places = [0, *(round(share * len(text)) for share in shares), len(text)]
    return [
        {**rest, "content": text[start:stop], "part": f"{number}/{len(shares) + 1}"}
        for number, (start, stop) in enumerate(pairwise(places), start=1)
    ]
