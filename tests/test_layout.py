"""The rules of the code, held by a machine: order, size, style, types, no traces."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "ctxlab"

# The ground floor: each imports nothing of ctxlab; counters are handed in.
GROUND_FLOOR = [
    *("_data", "_lazy"),
    *("tokens", "history", "boundaries", "summaries", "calibration"),
    *("views", "overflow"),
]
# Each may import those before it. A name stands for a module, a whole package, and the
# tables beside it (`overflow_table` belongs to `overflow`).
READING_ORDER = [
    *GROUND_FLOOR,
    *("estimates", "tool_results", "settings", "budgets", "records", "chain"),
    *("middleware", "retrieval", "lab", "panels", "__main__"),
]
LONGEST_MODULE = 300  # lines
LONGEST_FUNCTION = 40  # lines, its docstring aside

MODULES = sorted(PACKAGE.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def module_name(file: Path) -> str:
    """Return the dotted name below ctxlab: `chain`, `lab.replays`, "" for itself."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_name(file): file for file in MODULES}


def place(name: str) -> str:
    """Return the entry of the reading order that a module belongs to."""
    top = name.split(".")[0]
    return top if top in READING_ORDER else top.removesuffix("_table")


def imports(file: Path) -> set[str]:
    """Return the modules of ctxlab that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}:{node.lineno}: import absolutely"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_module = whole.removeprefix("ctxlab.") in NAMES
                found.add(whole if is_module else str(node.module))
    return {
        name.removeprefix("ctxlab").removeprefix(".")
        for name in found
        if name.split(".")[0] == "ctxlab"
    }


def is_facade(name: str) -> bool:
    """Tell whether a module only hands on, lazily, the names of others."""
    return name in ("", "lab")


@pytest.mark.parametrize("name", [name for name in NAMES if not is_facade(name)])
def test_a_module_imports_only_what_is_read_before_it(name: str) -> None:
    assert place(name) in READING_ORDER, f"give {place(name)} its place in the order"
    rank = READING_ORDER.index(place(name))
    for imported in imports(NAMES[name]):
        assert imported, f"{name}: import from the module, not from ctxlab itself"
        if place(imported) == place(name):
            continue  # inside a package: see the next test
        assert READING_ORDER.index(place(imported)) < rank, f"{name} <- {imported}"
        on_ground_floor = place(name) in GROUND_FLOOR
        assert not on_ground_floor, f"{name} is of the ground floor: no {imported}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        name: imports(file) - {name}
        for name, file in NAMES.items()
        if not is_facade(name)
    }
    order = list(TopologicalSorter(graph).static_order())
    assert set(graph) <= set(order)


@pytest.mark.parametrize("file", MODULES, ids=module_name)
def test_a_module_can_be_read_at_one_go(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    lines = len(file.read_text("utf-8").splitlines())
    assert lines <= LONGEST_MODULE
    assert ast.get_docstring(tree), "a module says its idea first"
    long = [
        f"{node.name}: {length(node)} lines"
        for node in ast.walk(tree)
        if isinstance(node, Function) and length(node) > LONGEST_FUNCTION
    ]
    assert not long


def length(function: Function) -> int:
    """Return the lines of a function, signature included, docstring aside."""
    assert function.end_lineno
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) and first.end_lineno:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def run(*command: str) -> str:
    """Run a tool of this environment; return what it found, "" when nothing."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_ruff_finds_nothing() -> None:
    assert not run("ruff", "check", "--no-cache", "--output-format=concise", ".")


def test_ruff_would_format_nothing() -> None:
    assert not run("ruff", "format", "--no-cache", "--check", ".")


def test_mypy_strict_finds_nothing(tmp_path: Path) -> None:
    assert not run("mypy", "--cache-dir", str(tmp_path))


def tracked_files() -> Iterator[Path]:
    """Yield the files that belong to the project, as git knows them."""
    git = shutil.which("git")
    if not git or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        [git, "-c", "core.quotePath=off", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            yield ROOT / name


# Each is written so that it does not find itself.
TRACES = {
    "a path of somebody's machine": "/(ro[o]t|home/[a-z]+|wor[k]|works[p]ace)/"
    "|/Us[e]rs/[A-Za-z]|[A-Z]:[\\\\/]+Us[e]rs",
    "the host of a package registry": "pyp[i][.]org|pythonh[o]sted|npmj[s][.]",
    "a key": "\\bs[k]-[A-Za-z0-9_-]{24}|\\bAKI[A][0-9A-Z]{16}|\\bgh[ps]_[A-Za-z0-9]{30}"
    "|BEGIN [A-Z ]*PRIVATE KE[Y]",
}


@pytest.mark.parametrize("what", TRACES)
def test_no_file_of_the_project_holds(what: str) -> None:
    here = "|".join(re.escape(str(path)) for path in (ROOT, Path(sys.prefix)))
    trace = re.compile(f"{TRACES[what]}|{here}")
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in tracked_files()
        if (match := trace.search(file.read_bytes().decode("utf-8", "replace")))
    ]
    assert not found
