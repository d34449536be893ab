"""Lessons as text: percent-format Python ⇄ notebook.

    python -m tests.notebook_text to-ipynb lesson.py notebooks/05_count.ipynb
    python -m tests.notebook_text to-text notebooks/05_count.ipynb lesson.py

A cell begins at a line `# %%`; `# %% [markdown]` begins prose (every line after it
starts with `# `), `# %% [solution]` a code cell that a reader opens with a click. A
cell may carry other tags: `# %% [tags: a, b]`. The notebook is the source that is
kept; outputs are written by `python -m tests.refresh_notebooks`.
"""

import argparse
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

_MARK = re.compile(r"^# %%(?: \[(?P<kind>[^\]]+)\])?\s*$")
SOLUTION = {"jupyter": {"source_hidden": True}}


def to_notebook(text: str) -> NotebookNode:
    """Build an unexecuted notebook from percent-format text.

    Raises:
        ValueError: Text before the first `# %%`, or prose without `# `.
    """
    cells: list[NotebookNode] = []
    kind, lines = None, []
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.match(line)
        if mark:
            cells += _cell(kind, lines)
            kind, lines = mark["kind"] or "code", []
        elif kind is None and line.strip():
            raise ValueError(f"line {number} stands before the first '# %%': {line!r}")
        elif kind == "markdown" and line and not line.startswith("#"):
            raise ValueError(f"line {number} is prose without '# ': {line!r}")
        else:
            lines.append(line)
    cells += _cell(kind, lines)
    for number, cell in enumerate(cells, 1):
        cell.id = f"cell-{number:02d}"
    return new_notebook(cells=cells)


def to_text(notebook: NotebookNode) -> str:
    """Write a notebook as percent-format text; outputs are left out."""
    return "\n\n".join(_text(cell) for cell in notebook.cells) + "\n"


def _cell(kind: str | None, lines: list[str]) -> list[NotebookNode]:
    source = "\n".join(lines).strip("\n")
    if kind is None:
        return []
    if kind == "markdown":
        prose = [
            line.removeprefix("#").removeprefix(" ") for line in source.split("\n")
        ]
        return [new_markdown_cell("\n".join(prose))]
    cell = new_code_cell(source)
    if kind == "solution":
        cell.metadata.update(SOLUTION)
    elif kind.startswith("tags:"):
        cell.metadata["tags"] = [t.strip() for t in kind[len("tags:") :].split(",")]
    elif kind != "code":
        raise ValueError(f"'# %% [{kind}]' is none of markdown, solution, tags: …")
    return [cell]


def _text(cell: NotebookNode) -> str:
    if cell.cell_type == "markdown":
        prose = (f"# {line}".rstrip() for line in cell.source.split("\n"))
        return "\n".join(["# %% [markdown]", *prose])
    kind = ""
    if cell.metadata.get("jupyter", {}).get("source_hidden"):
        kind = " [solution]"
    elif cell.metadata.get("tags"):
        kind = f" [tags: {', '.join(cell.metadata['tags'])}]"
    return f"# %%{kind}\n{cell.source}"


def main(arguments: list[str] | None = None) -> None:
    """Convert one file, in the direction named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("direction", choices=["to-ipynb", "to-text"])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args(arguments)
    if options.direction == "to-ipynb":
        from tests.refresh_notebooks import as_json, normalised

        notebook = to_notebook(options.source.read_text("utf-8"))
        text = as_json(normalised(notebook))
    else:
        text = to_text(nbformat.read(options.source, as_version=4))
    options.target.write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    main()
