"""Climb the ladder and write its map, the table in `notebooks/README.md`.

    python -m tests.refresh_ladder

Figures come from the replays of `tests/ladder.py`; what a step breaks is asserted in
`tests/test_ladder.py`, which compares this table, too.
"""

import ast
import logging
import re
from pathlib import Path

from ctxlab.lab import Replay
from tests.ladder import climbed, malformed, originals, stage

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "notebooks" / "README.md"
CHAT, LOOP = "chinese_support", "tool_loop"
HEADING = "## The map of the ladder"
COLUMNS = (
    *("step", "what breaks", "lesson", "failed turns", "messages kept"),
    *("split requests", "summary calls", "tokens an answer", "lines"),
)
# Name, what breaks on it, lesson, and the files that hold what the step adds.
STEPS = (
    ("0 nothing", "the window", "01", []),
    ("1 naive", "checkpoint, pairs, stream, chat", "02", ["middleware/naive.py"]),
    (
        "2 LangChain's",
        "Chinese with keep in tokens, tool loops, a trimmed input; still a rewrite",
        "03",
        ["middleware/builtin.py"],
    ),
    (
        "3 handoff",
        "originals still go; messages are not tokens",
        "04",
        ["middleware/handoff.py", "summaries"],
    ),
    (
        "4 request only, by a ratio",
        "ordinary requests are taken for overflows",
        "06",
        ["middleware/request_only.py", "chain"],
    ),
    ("5 ratio with a cap", "still a rule of thumb", "06", []),
    ("6 line", "messages are not tokens", "07", ["calibration"]),
    ("7 keep in tokens", "a summary for every call", "08", ["boundaries.py"]),
    ("8 remembered", "what its summary leaves out", "09", ["views.py"]),
)


def code_lines(name: str) -> int:
    """Return the lines of code of a module or package: no blanks, comments, docs."""
    path = ROOT / "ctxlab" / name
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return sum(len(_lines(file)) for file in files)


def _lines(file: Path) -> set[int]:
    """Number the lines on which something other than a comment or a docstring is."""
    text = file.read_text("utf-8")
    holders = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    documented = [
        node.body[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, holders) and ast.get_docstring(node, clean=False)
    ]
    docs = {n for doc in documented for n in range(doc.lineno, doc.end_lineno + 1)}
    lines = enumerate(text.splitlines(), 1)
    code = {
        n for n, line in lines if line.strip() and not line.lstrip().startswith("#")
    }
    return code - docs


def row(step: int) -> list[str]:
    """Return a line of the map: words, then figures of both conversations together."""
    name, breaks, lesson, files = STEPS[step]
    runs = [climbed(step, CHAT), climbed(step, LOOP)]
    added = sum(map(code_lines, files))
    whole = sum(len(stage(each).transcript.messages) for each in (CHAT, LOOP))
    return [
        name,
        breaks,
        lesson,
        str(sum(len(run.failed_turns) for run in runs)),
        f"{sum(map(originals, runs))} of {whole}",
        str(sum(map(malformed, runs))),
        str(sum(len(run.summary_calls) for run in runs)),
        f"{_billed(runs):,}",
        f"+ {_round(added):,}" if added else "",
    ]


def _billed(runs: list[Replay]) -> int:
    """Return tokens billed, summary calls included, for one answered request."""
    logs = [run.summary_model.log for run in runs] + [run.exchanges for run in runs]
    billed = sum(e.input_tokens for log in logs for e in log if e.error is None)
    return round(billed / sum(len(run.answered) for run in runs))


def _round(lines: int) -> int:
    """Two digits: an edit elsewhere should not change the map."""
    return round(lines, 2 - len(str(lines)))


def table() -> str:
    """Return the map in Markdown."""
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(row(n) for n in range(len(STEPS)))]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def written(text: str) -> str:
    """Return the table that stands under the heading."""
    _, found, after = text.partition(HEADING)
    match = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    if not found or not match:
        raise ValueError(f"{INDEX.name} has no table under {HEADING!r}")
    return match[0]


def main() -> None:
    """Write the map, and say whether it changed."""
    logging.disable(logging.WARNING)
    text = INDEX.read_text("utf-8")
    old, new = written(text), table()
    INDEX.write_text(text.replace(old, new), "utf-8", newline="\n")
    print(f"{INDEX.name}: {'unchanged' if old == new else 'rewritten'}")


if __name__ == "__main__":
    main()
