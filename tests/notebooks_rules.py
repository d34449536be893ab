"""What a committed notebook may not carry: one rule for each known fault.

A rule takes a `Lesson` and yields a sentence for everything wrong with it. Rules of
form (length, opening, exercises) are in `notebooks_anatomy.py`; exceptions, each with
its reason, in `notebooks_allowed.toml`.
"""

import ast
import platform
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tests.refresh_notebooks import WIDGET_VIEW, as_json, normalised

Found = Iterator[str]


@dataclass(frozen=True)
class Lesson:
    """A notebook, with the views of it that rules ask for."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> "Lesson":
        return cls(path, path.read_text("utf-8"))

    @cached_property
    def node(self) -> NotebookNode:
        return nbformat.reads(self.text, as_version=4)

    @cached_property
    def code(self) -> list[NotebookNode]:
        return [cell for cell in self.node.cells if cell.cell_type == "code"]

    @cached_property
    def prose(self) -> list[str]:
        return [c.source for c in self.node.cells if c.cell_type == "markdown"]

    @cached_property
    def outputs(self) -> list[tuple[int, NotebookNode]]:
        return [(n, out) for n, cell in enumerate(self.code, 1) for out in cell.outputs]

    @cached_property
    def trees(self) -> list[tuple[int, ast.Module]]:
        """The parsed code cells, by number; those that are no Python are left out."""
        parsed = ((n, parse(cell.source)) for n, cell in enumerate(self.code, 1))
        return [(number, tree) for number, tree in parsed if tree]

    def calls(self) -> Iterator[tuple[int, str]]:
        """Every call in the code, as (cell number, dotted name)."""
        for number, tree in self.trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    yield number, ast.unparse(node.func)


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell (with top-level `await`), None if not Python."""
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        return compile(source, "<cell>", "exec", flags)  # type: ignore[return-value]
    except SyntaxError:
        return None


def shown_text(output: NotebookNode) -> str:
    """The text of an output that a reader sees and nbval compares."""
    if output.output_type == "stream":
        return str(output.text)
    data = output.get("data", {})
    return "\n".join(str(data[kind]) for kind in data if kind.startswith("text/"))


def is_executed_and_counted(lesson: Lesson) -> Found:
    """B100: nbval passes a cell without a count, whatever it prints."""
    counts = [cell.execution_count for cell in lesson.code]
    if counts != list(range(1, len(counts) + 1)):
        yield f"cells are counted {counts}, not 1 to {len(counts)}: refresh it"


def writes_no_error_or_stderr(lesson: Lesson) -> Found:
    """B97: text on stderr differs between machines; an error is never committed."""
    for number, out in lesson.outputs:
        if out.output_type == "error":
            yield f"code cell {number} shows an error: {out.ename}"
        if out.get("name") == "stderr":
            yield f"code cell {number} writes to stderr: {out.text[:60]!r}"
    for number, name in lesson.calls():
        if name in ("logging.basicConfig", "logging.warning", "warnings.warn"):
            yield f"code cell {number} calls {name}: its text has a place or time in it"


def runs_on_any_python3(lesson: Lesson) -> Found:
    """B94: a private kernel name cannot start elsewhere."""
    name = lesson.node.metadata.get("kernelspec", {}).get("name")
    if name != "python3":
        yield f"the kernel is {name!r}, not 'python3'"
    if "version" in lesson.node.metadata.get("language_info", {}):
        yield "the Python version is stored; refresh it"


def stores_no_widget_state(lesson: Lesson) -> Found:
    """B90: widget ids are random, their saved state is large and stale."""
    if "widgets" in lesson.node.metadata:
        yield "metadata.widgets is stored; refresh it"
    for number, out in lesson.outputs:
        if WIDGET_VIEW in out.get("data", {}):
            yield f"code cell {number} stores a widget view; refresh it"
        if re.search(r"\b(FigureWidget|[VH]Box|Tab|Accordion)\(", shown_text(out)):
            yield f"code cell {number} prints a widget's insides: give it a __repr__"


def keeps_text_out_of_output_widgets(lesson: Lesson) -> Found:
    """B90, B91: text in an Output widget is lost or misplaced without a browser."""
    banned = {"Output", "interact", "interactive_output", "clear_output", "interactive"}
    for number, name in lesson.calls():
        if name.rpartition(".")[2] in banned:
            yield f"code cell {number} calls {name}: update a widget's value instead"


def ends_plots_with_show(lesson: Lesson) -> Found:
    """B92: a plot's return value is text with sizes and addresses: plt.show()."""
    for number, tree in lesson.trees:
        names = {n.value.id for n in ast.walk(tree) if is_attribute_of_name(n)}
        last = ast.unparse(tree.body[-1]) if tree.body else ""
        if "plt" in names and last != "plt.show()":
            yield f"code cell {number} plots and ends with {last!r}, not plt.show()"
        if lesson.code[number - 1].source.rstrip().endswith(";"):
            yield f"code cell {number} ends with ';', which nbval does not obey"


def is_attribute_of_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


VOLATILE = {
    "an address": r"0x[0-9a-fA-F]{6,}",
    "a random id": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    "a hex id": r"\b[0-9a-f]{32}\b",
    "a clock time": r"\b\d{1,2}:\d{2}:\d{2}\b|Wall time|CPU times",
    "a kernel's file": r"ipykernel_\d+|<ipython-input",
    "an operating system's path": r"\b(?:Windows|Posix)Path\(",
}
PLACES = {
    "an absolute path": r"(?<![\w.])/(?:home|Users|root|tmp|var|mnt|opt)/\w",
    "a Windows path": r"\b[A-Z]:\\",
    "a key": r"\b(?:sk|ghp|hf)[-_][A-Za-z0-9_]{16,}",
}


def shows_nothing_that_varies(lesson: Lesson) -> Found:
    """B93: addresses, random ids, clock times and set order make good cells fail."""
    for number, out in lesson.outputs:
        for what, pattern in VOLATILE.items():
            if found := re.search(pattern, shown_text(out)):
                yield f"code cell {number} shows {what}: {found[0]!r}"
    for number, tree in lesson.trees:
        for node in ast.walk(tree):
            shown = node.args if is_print(node) else []
            if isinstance(node, ast.Expr) and node is tree.body[-1]:
                shown = [node.value]
            for value in shown:
                if isinstance(value, ast.Set | ast.SetComp) or is_set_call(value):
                    yield f"code cell {number} shows a set: show sorted(…)"


def is_print(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "print"


def is_set_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("set", "frozenset")


def names_no_place_or_key(lesson: Lesson) -> Found:
    """B93: a path, home folder, host name or key of the author's machine."""
    everything = [c.source for c in lesson.node.cells]
    everything += [shown_text(out) for _, out in lesson.outputs]
    host = platform.node()
    for text in everything:
        for what, pattern in PLACES.items():
            if found := re.search(pattern, text):
                yield f"{what} is in it: {found[0]!r}"
        if re.search(r"[\d.-]", host) and re.search(rf"\b{re.escape(host)}\b", text):
            yield f"the machine's name is in it: {host!r}"


def asks_no_clock_or_chance(lesson: Lesson) -> Found:
    """B93, B95: no clock, sleep, unseeded chance, input, process or network."""
    banned = {"time", "random", "uuid", "secrets", "socket", "subprocess", "requests"}
    for number, tree in lesson.trees:
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                if name.partition(".")[0] in banned:
                    yield f"code cell {number} imports {name}"
    for number, name in lesson.calls():
        if re.search(r"(^|\.)(sleep|input|now|today|uuid4|id)$", name):
            yield f"code cell {number} calls {name}"


def uses_no_magic(lesson: Lesson) -> Found:
    """B101: a magic or shell line stops a cell without failing it; no pip in a cell."""
    for number, cell in enumerate(lesson.code, 1):
        line = next(
            (x for x in cell.source.split("\n") if re.match(r"\s*[%!?]", x)), None
        )
        if line or parse(cell.source) is None:
            yield f"code cell {number} is not plain Python: {line or 'syntax error'}"
        if re.search(r"get_ipython|\bpip install\b", cell.source):
            yield f"code cell {number} installs or uses IPython's own calls"


def awaits_at_top_level(lesson: Lesson) -> Found:
    """B89: asyncio.run fails where a loop runs already; cells may simply await."""
    for number, name in lesson.calls():
        if name in ("asyncio.run", "nest_asyncio.apply", "asyncio.Runner"):
            yield f"code cell {number} calls {name}: use await"
        if name.endswith("run_until_complete"):
            yield f"code cell {number} calls {name}: use await"


def is_compared_strictly(lesson: Lesson) -> Found:
    """B90, B101: a tag or comment that tells nbval to skip or ignore hides faults."""
    for number, cell in enumerate(lesson.code, 1):
        tags = [
            *cell.metadata.get("tags", []),
            *re.findall(r"# *NBVAL_\w+", cell.source),
        ]
        for tag in tags:
            if tag.startswith(("nbval-", "raises-")) or "NBVAL" in tag:
                yield f"code cell {number} is tagged {tag}"


def is_normalised(lesson: Lesson) -> Found:
    """B93, B102: a refresh on a clean tree changes nothing, so a diff is a change."""
    try:
        if as_json(normalised(lesson.node)) != lesson.text:
            yield "it is not normalised: python -m tests.refresh_notebooks"
    except Exception as error:
        yield f"it cannot be normalised: {error}"


Rule = Callable[[Lesson], Found]
RULES: tuple[Rule, ...] = (
    is_executed_and_counted,
    writes_no_error_or_stderr,
    runs_on_any_python3,
    stores_no_widget_state,
    keeps_text_out_of_output_widgets,
    ends_plots_with_show,
    shows_nothing_that_varies,
    names_no_place_or_key,
    asks_no_clock_or_chance,
    uses_no_magic,
    awaits_at_top_level,
    is_compared_strictly,
    is_normalised,
)
