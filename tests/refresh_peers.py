"""Write the README's table of peers from the committed run.

    python -m tests.benchmarks.peers --json data/benchmarks/peers.json
    python -m tests.refresh_peers

`tests/test_peers.py` compares the two. Lesson 14 shows the same rows.
"""

from collections.abc import Iterable
from typing import Any

from ctxlab.lab.side_by_side import side_by_side
from ctxlab.panels.tables import shown
from tests.test_layout import ROOT

README = ROOT / "README.md"
BEGIN, END = "<!--peers-->\n", "<!--/peers-->\n"
CONVERSATION = "engineering_tools"


def block(rows: Iterable[dict[str, Any]]) -> str:
    """Return the Markdown table of the README, without a space where none is needed."""
    bare = [dict(row) for row in rows]
    heads = [head for head in bare[0] if head != "peer"]
    lines = [["", *heads], ["-", *("-:" for _ in heads)]]
    lines += [[row["peer"], *(shown(row[head], 1) for head in heads)] for row in bare]
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
    new = written(old, block(side_by_side(CONVERSATION)))
    README.write_text(new, "utf-8", newline="\n")
    print("README.md: unchanged" if old == new else "README.md: rewritten")


if __name__ == "__main__":
    main()
