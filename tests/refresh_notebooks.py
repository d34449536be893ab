"""Execute notebooks and write them normalised: the one way their outputs change.

    python -m tests.refresh_notebooks              every notebook
    python -m tests.refresh_notebooks 05 06        those whose names begin so
    python -m tests.refresh_notebooks --check      write nothing, say what differs

Each notebook runs in a new kernel, offline, from its own folder. What varies between
machines is left out (versions, timings, widget ids); text on stderr or an error is
refused, since a reader would see it.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests.notebook_kernel import kernel_environment

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}


class BadOutput(Exception):
    """A cell wrote something that a committed notebook may not carry."""


def executed(
    notebook: NotebookNode, environment: dict[str, str], folder: Path
) -> NotebookNode:
    """Run all cells in a new kernel; return a normalised copy.

    Raises:
        CellExecutionError: A cell raised.
        BadOutput: A cell wrote to stderr.
    """
    copy = nbformat.from_dict(notebook)
    client = NotebookClient(
        copy,
        kernel_name="python3",
        timeout=120,
        startup_timeout=120,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=environment)
    return normalised(copy)


def normalised(notebook: NotebookNode) -> NotebookNode:
    """Return a copy in the form that is committed; doing it twice changes nothing."""
    copy = nbformat.from_dict(notebook)
    copy.metadata = nbformat.from_dict(METADATA)
    copy.nbformat, copy.nbformat_minor = 4, 5
    counted = 0
    for number, cell in enumerate(copy.cells, 1):
        cell.id = f"cell-{number:02d}"
        cell.metadata = _kept(cell.metadata)
        if cell.cell_type == "code":
            # An unexecuted cell stays uncounted: strict tests must see it (B100).
            counted += cell.execution_count is not None
            cell.execution_count = cell.execution_count and counted
            cell.outputs = [_output(o, counted, number) for o in _joined(cell.outputs)]
    return copy


def as_json(notebook: NotebookNode) -> str:
    """Return the text of the file: sorted keys, one line per source line."""
    return nbformat.writes(notebook, indent=1, sort_keys=True).rstrip("\n") + "\n"


def refreshed(path: Path, folder: Path) -> str:
    """Execute a notebook file; return the text it should have."""
    notebook = nbformat.read(path, as_version=4)
    return as_json(executed(notebook, kernel_environment(folder), path.parent))


def _kept(metadata: Any) -> NotebookNode:
    """Keep tags and folding; drop timings, editor state and the rest."""
    kept: dict[str, Any] = {}
    if metadata.get("tags"):
        kept["tags"] = sorted(metadata["tags"])
    if metadata.get("jupyter", {}).get("source_hidden"):
        kept["jupyter"] = {"source_hidden": True}
    return nbformat.from_dict(kept)


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring pieces of one stream: their split depends on timing."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            joined.append(nbformat.from_dict(output))
    return joined


def _output(output: NotebookNode, counted: int, cell: int) -> NotebookNode:
    if output.output_type == "stream" and output.name == "stderr":
        raise BadOutput(f"cell {cell} writes to stderr: {output.text.strip()}")
    if output.output_type == "execute_result":
        output.execution_count = counted
    if "data" in output:
        output.data.pop(WIDGET_VIEW, None)
        output.metadata = nbformat.from_dict({})
    return output


def chosen(names: list[str]) -> list[Path]:
    """Return the notebooks whose file names begin with one of the names; all for none.

    Raises:
        SystemExit: A name fits no notebook.
    """
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    for name in names:
        if not any(path.name.startswith(name) for path in paths):
            sys.exit(f"no notebook begins with {name!r}; there are: {_listed(paths)}")
    return [p for p in paths if not names or p.name.startswith(tuple(names))]


def _listed(paths: list[Path]) -> str:
    return ", ".join(path.stem for path in paths) or "none"


def main(arguments: list[str] | None = None) -> int:
    """Refresh or check the chosen notebooks; return 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="first letters of file names")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    different = 0
    for path in chosen(options.names):
        with tempfile.TemporaryDirectory() as folder:
            text = refreshed(path, Path(folder))
        changed = text != path.read_text("utf-8")
        different += changed
        if changed and not options.check:
            path.write_text(text, "utf-8", newline="\n")
        verb = "differs" if options.check else "rewritten"
        print(f"{path.stem}: {verb if changed else 'unchanged'}", flush=True)
    return int(options.check and different > 0)


if __name__ == "__main__":
    if sys.platform == "win32":  # the kernel's sockets need a selector loop (B96)
        asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())
    sys.exit(main())
