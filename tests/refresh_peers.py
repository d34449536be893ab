"""Write the README's table of peers from the committed run.

    python -m tests.benchmarks.peers --json data/benchmarks/peers.json
    python -m tests.refresh_peers

`tests/test_peers.py` compares the two. Lesson 14 reads the same file.
"""

import json
from collections.abc import Callable
from typing import Any

from ctxlab.panels.tables import shown
from tests.test_layout import ROOT

README = ROOT / "README.md"
COMMITTED = ROOT / "data" / "benchmarks" / "peers.json"
BEGIN, END = "<!--peers-->\n", "<!--/peers-->\n"
CONVERSATION = "engineering_tools"
#: Each peer with its best settings, under the name it has in the README.
PEERS = {
    "nothing": "nothing",
    "ctxlab": "ctxlab",
    "LangChain, exact counter": "LangChain",
    "clear tool uses, exact counter": "ContextEditing",
    "deepagents, exact counter": "deepagents",
    "langmem, exact counter": "langmem",
}
Cell = Callable[[dict[str, Any]], Any]
COLUMNS: dict[str, Cell] = {
    "failed turns": lambda row: row["failed"],
    "malformed": lambda row: row["malformed"],
    "facts": lambda row: f"{row['facts']:.0%}",
    "stored": lambda row: f"{row['originals']:.0%}",
    "wasted": lambda row: row["wasted"],
    "Mtokens": lambda row: (row["uncached"] + row["cached"] + row["summary"]) / 1e6,
    "µs": lambda row: row["CPU us/call"] and round(row["CPU us/call"]),
}


def report() -> dict[str, Any]:
    """Return the committed run."""
    found: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
    return found


def block(rows: list[dict[str, Any]]) -> str:
    """Return the Markdown table of the README, without a space where none is needed."""
    by_peer = {r["peer"]: r for r in rows if r["conversation"] == CONVERSATION}
    lines = [["", *COLUMNS], ["-", *("-:" for _ in COLUMNS)]]
    for peer, name in PEERS.items():
        if peer in by_peer:
            cells = [cell(by_peer[peer]) for cell in COLUMNS.values()]
            lines.append([name, *(shown(cell, 1) for cell in cells)])
    return "".join(f"|{'|'.join(line)}|\n" for line in lines)


def written(text: str, table: str) -> str:
    """Return the README's text with this table between the two marks.

    Raises:
        ValueError: A mark is missing.
    """
    if BEGIN not in text or END not in text:
        raise ValueError(f"README.md: give it the lines {BEGIN!r} and {END!r}")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> None:
    """Write the table, and say whether it changed."""
    old = README.read_text("utf-8")
    new = written(old, block(report()["rows"]))
    README.write_text(new, "utf-8", newline="\n")
    print("README.md: unchanged" if old == new else "README.md: rewritten")


if __name__ == "__main__":
    main()
