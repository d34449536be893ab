"""A fault in the library, a chart or a panel turns a notebook red.

Each mutation changes one line in a copy of the package; the cells of a notebook that
shows what the line decides run on the copy and must show something else than before.
They run in this process (a kernel would take seconds to import); what is compared is
the text that nbval compares.
"""

import ast
import contextlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import demo_lesson
from tests.notebook_cells import (
    NOTEBOOKS,
    ROOT,
    code_cells,
    committed,
    run_cells,
    single_spaced,
)
from tests.notebook_text import to_notebook

LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"), key=lambda path: path.stat().st_size)
DEMO = [cell.source for cell in to_notebook(demo_lesson.small_text()).cells]


@dataclass(frozen=True)
class Mutation:
    """One changed line, and the code by which a notebook shows its effect."""

    what: str
    module: str
    line: str
    spoiled: str
    shown_by: str


MUTATIONS = [
    Mutation(
        "a library constant",
        "tokens/cjk.py",
        "cjk_chars_per_token: float = 1.7",
        "cjk_chars_per_token: float = 1.6",
        "CjkAwareCounter()",
    ),
    Mutation(
        "a chart's data",
        "panels/charts.py",
        "_rounded(of_call.get(kind.name, 0))",
        "_rounded(of_call.get(kind.name, 0) * 1.01)",
        "timeline(",
    ),
    Mutation(
        "a table's rendering",
        "panels/tables.py",
        '            "  ".join(',
        '            " | ".join(',
        "table(",
    ),
    Mutation(
        "a panel's rendering",
        "panels/fitted.py",
        "        return self._sentence",
        "        return self._sentence[:-1]",
        "LiveChart(",
    ),
]
each_mutation = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.what)


@contextlib.contextmanager
def package_from(folder: Path) -> Iterator[None]:
    """Import `ctxlab` from another folder; put this process's own back afterwards."""

    def loaded() -> dict[str, object]:
        return {k: v for k, v in sys.modules.items() if k.partition(".")[0] == "ctxlab"}

    own = loaded()
    for name in own:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in loaded():
            del sys.modules[name]
        sys.modules.update(own)


def copied(folder: Path, mutation: Mutation | None = None) -> Path:
    """Copy package, data and the files beside them, change one line; return where."""
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "ctxlab", folder / "ctxlab", ignore=without)
    shutil.copytree(ROOT / "data", folder / "data")
    for file in ROOT.iterdir():  # pyproject.toml says where the data is
        if file.is_file():
            shutil.copy(file, folder)
    if mutation:
        module = folder / "ctxlab" / mutation.module
        text = module.read_text("utf-8")
        assert text.count(mutation.line) == 1, f"{mutation.module} changed: adapt this"
        module.write_text(text.replace(mutation.line, mutation.spoiled), "utf-8")
    return folder


def shown(cells: list[str], folder: Path) -> list[str]:
    """What the cells show when they run on the package in a folder."""
    with package_from(folder):
        return run_cells(cells)[1]


@pytest.fixture(scope="module")
def faithful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy without any change: copying alone must make no difference."""
    return copied(tmp_path_factory.mktemp("faithful"))


def test_the_cells_run_on_the_copy_and_the_process_gets_its_own_package_back(faithful):
    import ctxlab.tokens

    where = shown(["import ctxlab.tokens\nprint(ctxlab.tokens.__file__)"], faithful)
    assert where == [f"{faithful / 'ctxlab' / 'tokens' / '__init__.py'}\n"]
    assert sys.modules["ctxlab.tokens"] is ctxlab.tokens


@each_mutation
def test_a_mutation_changes_what_a_small_notebook_shows(mutation, faithful, tmp_path):
    before = shown(DEMO, faithful)
    after = shown(DEMO, copied(tmp_path, mutation))
    changed = [
        at
        for at, pair in enumerate(zip(before, after, strict=True))
        if pair[0] != pair[1]
    ]
    assert changed, f"{mutation.what} can change unseen"
    assert len(changed) < len(DEMO) - 1, "only the cells that show it change"
    assert shown(DEMO, faithful) == before


@each_mutation
def test_a_mutation_turns_a_lesson_red(mutation, tmp_path):
    """The smallest lessons that show it are tried; one must notice.

    That cells show here what is committed when nothing is changed, `test_exercises`
    holds for every lesson.
    """
    lessons = [path for path in LESSONS if uses(path, mutation.shown_by)][:2]
    if not lessons:
        pytest.skip(f"no lesson shows {mutation.what} yet")
    copy = copied(tmp_path, mutation)
    assert any(turns_red(path, copy) for path in lessons), (
        f"{mutation.what} can change unseen by {[path.stem for path in lessons]}"
    )


def uses(path: Path, call: str) -> bool:
    """Does a notebook's code call this?"""
    return call.rstrip("()") in {
        ast.unparse(node.func)
        for source in code_cells(path)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
    }


def turns_red(path: Path, copy: Path) -> bool:
    """Does a cell of a lesson show something else than is committed?"""
    old = committed(path)

    def differs(shown: list[str]) -> bool:
        return single_spaced(shown[-1]) != old[len(shown) - 1]

    with package_from(copy):
        try:
            return differs(run_cells(code_cells(path), stop=differs)[1])
        except AssertionError:
            return True  # the lesson's own last cell noticed
