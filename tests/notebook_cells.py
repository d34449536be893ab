"""Run the cells of a notebook in this process, with answers swapped in.

Starting a kernel for every state of every exercise would take minutes; the cells
share one namespace and one event loop here as they do there.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import nbformat

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = ROOT / "tests" / "solutions"
CHECK = re.compile(r"""^check\(\s*["']([\w.]+)["']""", re.MULTILINE)


def code_cells(path: Path) -> list[str]:
    """Return the sources of a notebook's code cells."""
    notebook = nbformat.read(path, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def checked(source: str) -> list[str]:
    """Return the numbers of the exercises that a cell checks."""
    return CHECK.findall(source)


def swapped(sources: Iterable[str], answers: Mapping[str, str]) -> list[str]:
    """Put answers in place of what the exercise cells define and check.

    `check("4.1", keep)` is preceded by a definition of `keep`: that is replaced, and
    nothing else of the cell.
    """
    changed = []
    for source in sources:
        for number in checked(source):
            if number in answers:
                source = _answered(source, number, answers[number])
        changed.append(source)
    return changed


def _answered(source: str, number: str, answer: str) -> str:
    lines = source.split("\n")
    name, at = "", 0
    for node in ast.parse(source).body:
        call = getattr(node, "value", None)
        if isinstance(call, ast.Call) and checked(ast.unparse(call)) == [number]:
            name, at = ast.unparse(call.args[1]), node.lineno - 1
    start, end = at, at
    for node in ast.parse(source).body:
        if getattr(node, "name", "") == name and node.lineno <= at:
            start, end = node.lineno - 1, node.end_lineno or node.lineno
    return "\n".join([*lines[:start], answer, *lines[end:]])


def solution(number: str) -> str:
    """Return the reference answer to an exercise."""
    return (SOLUTIONS / number / "reference.py").read_text("utf-8")


def wrong_answers(number: str) -> dict[str, str]:
    """Return the known wrong answers to an exercise, by file name."""
    found = sorted((SOLUTIONS / number).glob("wrong_*.py"))
    return {path.stem: path.read_text("utf-8") for path in found}


def committed(path: Path) -> list[str]:
    """Return what each code cell of a notebook file shows, white space made single."""
    cells = nbformat.read(path, as_version=4).cells
    return [
        single_spaced("\n".join(map(_text, cell.outputs)))
        for cell in cells
        if cell.cell_type == "code"
    ]


def single_spaced(text: str) -> str:
    """A kernel breaks long values into lines, `repr` does not: compare the words."""
    return " ".join(text.split())


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.get("data", {}).get("text/plain", ""))


class _Printed(io.StringIO):
    encoding = "utf-8"  # what a kernel's stdout says of itself


def run_cells(
    sources: Iterable[str],
    namespace: dict[str, Any] | None = None,
    stop: Callable[[list[str]], bool] = lambda shown: False,
) -> tuple[dict[str, Any], list[str]]:
    """Run cells one after another; return their namespace and what each one showed.

    A cell may use top-level `await`; its last value shows as its `repr`. After each
    cell, `stop` may end the run.
    """
    shared = namespace or {"__name__": "notebook", "display": print}
    shown = []
    with (
        contextlib.chdir(NOTEBOOKS),
        warnings.catch_warnings(),
        asyncio.Runner() as runner,
    ):
        warnings.simplefilter("ignore")  # a kernel does not raise warnings either
        for at, source in enumerate(sources, 1):
            with contextlib.redirect_stdout(_Printed()) as printed:
                for code in _compiled(source, f"<cell {at}>"):
                    value = eval(code, shared)
                    if code.co_flags & inspect.CO_COROUTINE:
                        value = runner.run(value)
                    if value is not None:
                        print(repr(value))
            shown.append(printed.getvalue())
            if stop(shown):
                close_what_is_open(shared)
                break
    return shared, shown


def close_what_is_open(namespace: Mapping[str, Any]) -> None:
    """Do what the cells behind a stop would have done with files and folders."""
    for value in namespace.values():
        if isinstance(value, contextlib.ExitStack):
            value.close()


def _compiled(source: str, name: str) -> Iterator[CodeType]:
    """The statements of a cell, then its last expression, whose value is shown."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST)
    last = (
        tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    )
    yield compile(tree, name, "exec", flags)
    if last is not None:
        yield compile(ast.Expression(last.value), name, "eval", flags)
