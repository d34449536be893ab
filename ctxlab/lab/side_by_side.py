"""The committed run of the benchmark: ctxlab and its peers on one conversation.

`python -m tests.benchmarks.peers` runs seven conversations through every peer and
writes what came out; README and lesson 14 show it from there.

>>> rows = side_by_side("engineering_tools")
>>> [row["peer"] for row in rows][:2]
['nothing', 'ctxlab']
>>> [row["failed"] for row in rows][1]
0

Left out: running it, which needs the packages of the extra `peers`. Lesson:
14_ship_it.
"""

import json
from collections.abc import Callable
from typing import Any

from ctxlab._data import data_path

#: Each peer with the sizes of all and the provider's count -> its name in the table.
PEERS = {
    "nothing": "nothing",
    "ctxlab": "ctxlab",
    "LangChain, exact counter": "LangChain",
    "clear tool uses, exact counter": "ContextEditing",
    "deepagents, exact counter": "deepagents",
    "langmem, exact counter": "langmem",
}
PACKAGES = ("langchain", "deepagents", "langmem")
Cell = Callable[[dict[str, Any]], Any]
#: Heading -> figure. Turns that failed; shares of planted facts and of stored messages;
#: all tokens that were billed, in millions; CPU time of a model call: the median of the
#: hooks, and the steps that they add to the graph.
COLUMNS: dict[str, Cell] = {
    "failed": lambda row: row["failed"],
    "malformed": lambda row: row["malformed"],
    "facts": lambda row: f"{row['facts']:.0%}",
    "stored": lambda row: f"{row['originals']:.0%}",
    "wasted": lambda row: row["wasted"],
    "Mtokens": lambda row: (row["uncached"] + row["cached"] + row["summary"]) / 1e6,
    "µs": lambda row: row["CPU us/call"] and round(row["CPU us/call"]),
}


def committed_run() -> dict[str, Any]:
    """Return the committed run: `versions`, `sizes`, `rows` and how it was billed.

    Raises:
        FileNotFoundError: The data that ctxlab ships is not there.
    """
    file = data_path("benchmarks", "peers.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def measured_with() -> str:
    """Return the versions of the peers in the committed run, in one line.

    >>> measured_with().startswith("langchain ")
    True
    """
    versions = committed_run()["versions"]
    return ", ".join(f"{name} {versions[name]}" for name in PACKAGES)


def side_by_side(conversation: str) -> list[dict[str, Any]]:
    """Return a row for each peer on one conversation of the committed run.

    Raises:
        ValueError: The conversation is not one of the run's.
    """
    rows = committed_run()["rows"]
    names = sorted({row["conversation"] for row in rows})
    if conversation not in names:
        known = ", ".join(names)
        raise ValueError(f"{conversation!r} was not measured; choose one of: {known}")
    measured = {r["peer"]: r for r in rows if r["conversation"] == conversation}
    return [
        {"peer": name} | {head: cell(measured[peer]) for head, cell in COLUMNS.items()}
        for peer, name in PEERS.items()
        if peer in measured
    ]
