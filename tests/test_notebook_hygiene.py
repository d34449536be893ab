"""Committed notebooks keep every rule, and every rule notices its fault."""

import importlib.util
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tests import demo_lesson, notebook_text, refresh_notebooks, test_exercises
from tests.notebook_kernel import ROOT, kernel_environment
from tests.notebooks_anatomy import ANATOMY
from tests.notebooks_rules import RULES, Lesson
from tests.refresh_notebooks import BadOutput, as_json, executed, normalised

EVERY_RULE = {rule.__name__: rule for rule in (*RULES, *ANATOMY)}
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ALLOWED = tomllib.loads(
    (ROOT / "tests" / "notebooks_allowed.toml").read_text("utf-8")
).get("allowed", [])


def allowed(notebook: str) -> set[str]:
    return {entry["rule"] for entry in ALLOWED if entry["notebook"] == notebook}


# --- the tree -------------------------------------------------------------------


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_committed_notebook_keeps_every_rule(path):
    lesson = Lesson.read(path)
    found = [
        f"{name}: {fault}"
        for name, rule in EVERY_RULE.items()
        if name not in allowed(path.name)
        for fault in rule(lesson)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("entry", ALLOWED, ids=lambda e: f"{e['notebook']}-{e['rule']}")
def test_an_exception_has_a_reason_and_is_still_needed(entry):
    assert set(entry) == {"notebook", "rule", "reason"}
    assert len(entry["reason"].split()) >= 3, "say why"
    lesson = Lesson.read(ROOT / "notebooks" / entry["notebook"])
    assert list(EVERY_RULE[entry["rule"]](lesson)), "not needed any more"


def test_b95_b98_b102_the_notebook_run_has_timeouts_and_neither_coverage_nor_workers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    options = settings["tool"]["pytest"]["ini_options"]["addopts"]
    options = options.split() if isinstance(options, str) else options
    given = {option.partition("=")[0] for option in options}
    assert {
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout",
        "--nbval-kernel-startup-timeout",
    } <= given
    assert not given & {"--cov", "-n", "--numprocesses", "--nbval-lax", "-p"}
    assert not any("sanitize" in option for option in options)


# --- every rule notices its fault -----------------------------------------------


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demonstration lesson, executed."""
    folder = tmp_path_factory.mktemp("demo")
    text = demo_lesson.execute(demo_lesson.demo_text(), folder)
    path = folder / demo_lesson.NAME
    path.write_text(text, "utf-8")
    return Lesson.read(path)


@pytest.mark.parametrize("rule", EVERY_RULE.values(), ids=EVERY_RULE)
def test_a_good_lesson_keeps_the_rule(rule, demo):
    assert list(rule(demo)) == []


Spoil = Callable[[Any], None]


def code(notebook: Any, at: int = 0) -> Any:
    return [cell for cell in notebook.cells if cell.cell_type == "code"][at]


def source(text: str, at: int = 1) -> Spoil:
    """Replace the source of a code cell."""
    return lambda notebook: code(notebook, at).update(source=text)


def prose(text: str) -> Spoil:
    """Add to the second prose cell."""

    def spoil(notebook: Any) -> None:
        cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
        cells[1].source += "\n" + text

    return spoil


def opening(old: str, new: str) -> Spoil:
    def spoil(notebook: Any) -> None:
        assert old in notebook.cells[0].source
        notebook.cells[0].source = notebook.cells[0].source.replace(old, new)

    return spoil


def stream(text: str, name: str = "stdout", at: int = 1) -> Spoil:
    """Give a code cell one stream output."""
    output = nbformat.v4.new_output("stream", name=name, text=text)
    return lambda notebook: code(notebook, at).update(outputs=[output])


def data(kind: str, value: Any, at: int = 1) -> Spoil:
    output = nbformat.v4.new_output("display_data", data={kind: value})
    return lambda notebook: code(notebook, at).update(outputs=[output])


def count(value: int | None, at: int = 1) -> Spoil:
    return lambda notebook: code(notebook, at).update(execution_count=value)


def tags(*names: str) -> Spoil:
    return lambda notebook: code(notebook, 1).metadata.update(tags=list(names))


def metadata(**values: Any) -> Spoil:
    return lambda notebook: notebook.metadata.update(values)


def without(mark: str) -> Spoil:
    """Leave out the cells that hold a text."""

    def spoil(notebook: Any) -> None:
        kept = [cell for cell in notebook.cells if mark not in cell.source]
        assert len(kept) < len(notebook.cells), mark
        notebook.cells = kept

    return spoil


def more_cells(number: int) -> list[Any]:
    return [nbformat.v4.new_code_cell("x = 1") for _ in range(number)]


def error(notebook: Any) -> None:
    output = nbformat.v4.new_output(
        "error", ename="NameError", evalue="x", traceback=["x"]
    )
    code(notebook, 1).outputs = [output]


def answered(notebook: Any) -> None:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "○ 97.1" in output.get("text", ""):
                output.text = "✓ 97.1 all 4 cases pass\n"


def open_solutions(notebook: Any) -> None:
    for cell in notebook.cells:
        cell.metadata.pop("jupyter", None)


def unfolded_hints(notebook: Any) -> None:
    for cell in notebook.cells[:-2]:
        cell.source = cell.source.replace("details>", "div>")


SPOILS: dict[str, Iterable[Spoil]] = {
    "is_executed_and_counted": [count(None), count(9), count(None, -1)],
    "writes_no_error_or_stderr": [
        error,
        stream("warning", name="stderr"),
        source('import logging\nlogging.basicConfig(level="INFO")'),
        source('import warnings\nwarnings.warn("old")'),
    ],
    "runs_on_any_python3": [
        metadata(kernelspec={"name": "my-venv", "display_name": "mine"}),
        metadata(kernelspec={}),
        metadata(language_info={"name": "python", "version": "3.11.7"}),
    ],
    "stores_no_widget_state": [
        metadata(widgets={"state": {}}),
        data("application/vnd.jupyter.widget-view+json", {"model_id": "ab"}),
        data("text/plain", "FigureWidget({\n 'data': []})"),
        data("text/plain", "VBox(children=(IntSlider(value=0),))"),
    ],
    "keeps_text_out_of_output_widgets": [
        source("out = widgets.Output()"),
        source("interact(show, n=3)"),
        source("widgets.interactive_output(show, {})"),
        source("clear_output(wait=True)"),
    ],
    "ends_plots_with_show": [
        source("plt.plot([1, 2])"),
        source("plt.plot([1, 2]);"),
        source("figure, axes = plt.subplots()\naxes.plot([1])"),
    ],
    "shows_nothing_that_varies": [
        stream("<object object at 0x7fd1ef5a5b00>"),
        stream("run--0b0e7d1c-8a2d-4d7e-9a1b-5b6a7c8d9e0f"),
        data("text/plain", "'d41d8cd98f00b204e9800998ecf8427e'"),
        stream("12:03:44 done"),
        stream("PosixPath('data')"),
        source("print({'a', 'b'})"),
        source("x = 1\nset(texts)"),
    ],
    "names_no_place_or_key": [
        stream("/mnt/ada/data"),
        source('open("/tmp/x")'),
        source('open(r"D:\\data")'),
        prose("Set the key to sk-abcdefghijklmnop1234."),
    ],
    "asks_no_clock_or_chance": [
        source("import time"),
        source("from random import choice"),
        source("import numpy as np, uuid"),
        source("await asyncio.sleep(1)"),
        source("datetime.now()"),
        source('name = input("name? ")'),
        source("print(id(texts))"),
    ],
    "uses_no_magic": [
        source("%pip install ctxlab"),
        source("%%time\nx = 1"),
        source("!ls"),
        source("%notmagic\nx = 0"),
        source("len?"),
        source("x = get_ipython()"),
    ],
    "awaits_at_top_level": [
        source("import asyncio\nasyncio.run(agent())"),
        source("asyncio.get_event_loop().run_until_complete(agent())"),
        source("nest_asyncio.apply()"),
    ],
    "is_compared_strictly": [
        tags("nbval-ignore-output"),
        tags("nbval-skip"),
        tags("raises-exception"),
        source("# NBVAL_IGNORE_OUTPUT\nprint(1)"),
    ],
    "is_normalised": [
        lambda notebook: notebook.cells[3].update(id="a1b2c3"),
        lambda notebook: code(notebook).metadata.update(collapsed=True),
        metadata(title="mine"),
        stream("x", name="stderr"),
    ],
    "is_small": [stream("x" * 200_000)],
    "has_a_lessons_length": [
        lambda notebook: notebook.update(cells=notebook.cells[:19]),
        lambda notebook: notebook.update(cells=[*notebook.cells, *more_cells(9)]),
        prose("word " * 400),
        without("## Step"),
    ],
    "has_short_cells": [
        source("x = 1\n" * 21),
        source("x = 1" + "  # wide" * 12),
        lambda notebook: [
            code(notebook, at).update(source="x = 1\n" * 6) for at in range(12)
        ],
    ],
    "opens_like_a_lesson": [
        opening("# Try", "Try"),
        opening("5 min", "soon"),
        lambda notebook: notebook.cells.pop(0),
    ],
    "imports_first_and_silently": [
        source("import json\nprint(json)", at=0),
        stream("loaded", at=0),
    ],
    "asserts_at_the_end": [source("print(1)", at=-1), source("%x", at=-1)],
    "has_exercises": [
        without('check("97.2"'),
        without('check("97.p"'),
        answered,
        open_solutions,
        unfolded_hints,
        lambda notebook: [
            cell.update(source=cell.source.replace("97.1", "3.1"))
            for cell in notebook.cells
        ],
    ],
    "has_a_panel": [without("LiveChart(")],
    "says_what_is_simulated": [
        lambda notebook: (
            opening("simulated", "cheap")(notebook),
            source("model = SimulatedChatModel()")(notebook),
        ),
    ],
    "closes_like_a_lesson": [
        without("recap"),
        lambda notebook: notebook.cells[-2].update(source="## When, and recap"),
        lambda notebook: notebook.cells[-2].update(source="## Recap\n<details>"),
    ],
    "links_offline": [
        prose("[next](98_missing.ipynb)"),
        prose("[docs](https://example.com/x)"),
        prose("![picture](https://example.com/x.png)"),
        prose('<img src="http://example.com/x.png">'),
        data("text/html", '<script src="https://cdn.example.com/x.js"></script>'),
    ],
}


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        pytest.param(name, spoil, id=f"{name}-{number}")
        for name, spoils in SPOILS.items()
        for number, spoil in enumerate(spoils, 1)
    ],
)
def test_a_spoiled_lesson_breaks_the_rule(name, spoil, demo):
    notebook = nbformat.reads(demo.text, as_version=4)
    spoil(notebook)
    spoiled = Lesson(demo.path, as_json(notebook))
    found = list(EVERY_RULE[name](spoiled))
    assert found
    assert all(isinstance(fault, str) and fault for fault in found)


def test_every_rule_has_a_spoiled_copy_and_names_what_it_guards():
    assert set(SPOILS) == set(EVERY_RULE)
    guarded = " ".join(rule.__doc__ for rule in EVERY_RULE.values())
    for number in (89, 90, 91, 92, 93, 94, 95, 97, 100, 101, 102):
        assert f"B{number}" in guarded


def test_lessons_link_their_neighbours_and_the_index(demo, tmp_path):
    for name in ("96_before.ipynb", demo_lesson.NAME, "98_after.ipynb", "README.md"):
        (tmp_path / name).write_text(demo.text, "utf-8")
    (rule,) = [r for r in ANATOMY if r.__name__ == "opens_like_a_lesson"]
    found = " ".join(rule(Lesson.read(tmp_path / demo_lesson.NAME)))
    assert "96_before" in found
    assert "98_after" in found
    assert "README" in found


# --- execution ------------------------------------------------------------------


def run(text: str, folder: Path) -> Any:
    notebook = notebook_text.to_notebook(text)
    return executed(notebook, kernel_environment(folder / "kernel"), folder)


def printed(notebook: Any) -> str:
    return "".join(out.text for cell in notebook.cells for out in cell.outputs)


NETWORK = """\
# %%
import asyncio, socket, urllib.request

def tried(call):
    try:
        call()
    except OSError as error:
        print(error)

tried(lambda: socket.create_connection(("example.com", 443), 1))
tried(lambda: socket.create_connection(("93.184.216.34", 80), 1))
tried(lambda: urllib.request.urlopen("https://example.com", timeout=1))
tried(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53)))

# %%
try:
    await asyncio.open_connection("example.com", 443)
except OSError as error:
    print(error)

# %%
server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
print("loopback", await reader.read())
"""


def test_b99_a_lesson_reaches_this_machine_and_no_other(tmp_path):
    lines = printed(run(NETWORK, tmp_path)).splitlines()
    assert len(lines) == 6
    assert all("lessons run without a network" in line for line in lines[:5])
    assert lines[5] == "loopback b''"


def test_b96_a_kernel_inherits_no_warnings_as_errors(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    assert "PYTHONWARNINGS" not in kernel_environment(tmp_path)


@pytest.mark.parametrize(
    ("cell", "refused", "said"),
    [
        ("%notmagic", CellExecutionError, "UsageError"),
        ("import sys; print('x', file=sys.stderr)", BadOutput, "stderr: x"),
    ],
)
def test_b97_b101_an_error_or_stderr_is_never_written(cell, refused, said, tmp_path):
    with pytest.raises(refused, match=said):
        run(f"# %%\n{cell}\n", tmp_path)


def test_b93_two_runs_with_other_hash_seeds_are_equal(demo, tmp_path):
    again = demo_lesson.execute(
        demo_lesson.demo_text(), tmp_path, PYTHONHASHSEED="12345", LC_ALL="C"
    )
    assert again == demo.text


def test_b93_a_set_that_is_shown_differs_between_hash_seeds():
    """What the test above guards against does change a text."""
    shown = {
        subprocess.check_output(
            [sys.executable, "-c", "print(set('abcdefgh'))"],
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2", "3")
    }
    assert len(shown) > 1


PLACE = """\
# %%
import os, time
print(hash("a word"), time.timezone, os.environ["LC_ALL"])
"""


@pytest.mark.skipif(os.name != "posix", reason="TZ is read by the C library")
def test_b93_kernels_of_lessons_live_elsewhere_than_the_tests(tmp_path, request):
    """Cells run there by nbval and here by test_exercises: both show the same."""
    spec = importlib.util.spec_from_file_location(
        "c", LESSONS[0].parent / "conftest.py"
    )
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    environment = conftest._environment(request.config)
    notebook = notebook_text.to_notebook(PLACE)
    there = printed(executed(notebook, environment, tmp_path)).split()

    assert int(there[0]) != hash("a word")
    assert int(there[1]) == -(12 * 60 + 45) * 60 != time.timezone
    assert there[2] == "de_DE.UTF-8" != os.environ.get("LC_ALL")
    assert test_exercises.LESSONS == LESSONS


@pytest.mark.skipif(not LESSONS, reason="no notebook yet")
def test_b93_the_smallest_notebook_is_the_same_with_another_hash_seed(tmp_path):
    path = min(LESSONS, key=lambda path: path.stat().st_size)
    settings = kernel_environment(tmp_path, PYTHONHASHSEED="4321")
    again = executed(nbformat.read(path, as_version=4), settings, path.parent)
    assert as_json(again) == path.read_text("utf-8")


# --- refresh and text form ------------------------------------------------------


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder with one unexecuted notebook, as the course."""
    monkeypatch.setattr(refresh_notebooks, "NOTEBOOKS", tmp_path)
    text = as_json(normalised(notebook_text.to_notebook("# %%\nprint(1 + 1)\n")))
    (tmp_path / "05_count.ipynb").write_text(text, "utf-8")
    return tmp_path


def test_refresh_writes_outputs_once_and_check_writes_nothing(course, capsys):
    path = course / "05_count.ipynb"
    before = path.read_text("utf-8")
    assert refresh_notebooks.main(["--check"]) == 1
    assert path.read_text("utf-8") == before
    assert refresh_notebooks.main(["05"]) == 0
    assert printed(nbformat.read(path, as_version=4)) == "2\n"
    assert refresh_notebooks.main(["--check"]) == 0
    said = capsys.readouterr().out.split("\n")[:3]
    assert [line.split(": ")[1] for line in said] == [
        "differs",
        "rewritten",
        "unchanged",
    ]


def test_an_unknown_name_is_refused_with_the_known_ones(course):
    with pytest.raises(
        SystemExit, match="no notebook begins with '07'; there are: 05_"
    ):
        refresh_notebooks.main(["07"])


def test_b100_normalising_does_not_count_a_cell_that_never_ran():
    notebook = normalised(notebook_text.to_notebook("# %%\nx = 1\n"))
    assert notebook.cells[0].execution_count is None


def test_pieces_of_one_stream_are_joined():
    notebook = notebook_text.to_notebook("# %%\nx = 1\n")
    notebook.cells[0].execution_count = 7
    notebook.cells[0].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=text) for text in "ab"
    ]
    cell = normalised(notebook).cells[0]
    assert [out.text for out in cell.outputs] == ["ab"]
    assert cell.execution_count == 1


def test_normalised_files_are_valid_and_normalising_twice_changes_nothing(demo):
    nbformat.validate(demo.node)
    assert as_json(normalised(demo.node)) == demo.text


def test_text_to_notebook_and_back_is_the_same_text(demo):
    text = demo_lesson.demo_text()
    notebook = notebook_text.to_notebook(text)
    once = notebook_text.to_text(notebook)
    assert notebook_text.to_text(notebook_text.to_notebook(once)) == once
    assert notebook_text.to_text(demo.node) == once, "outputs do not matter"


def test_solutions_are_folded_and_tags_are_kept():
    notebook = notebook_text.to_notebook(
        "# %% [solution]\nx = 1\n# %% [tags: a, b]\ny = 1\n"
        "# %% [markdown]\n# # T\n#\n# p"
    )
    solution, tagged, words = notebook.cells
    assert solution.metadata == {"jupyter": {"source_hidden": True}}
    assert tagged.metadata["tags"] == ["a", "b"]
    assert words.source == "# T\n\np"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n# %%\n", "line 1 stands before the first"),
        ("# %% [markdown]\nwords\n", "line 2 is prose without"),
        ("# %% [python]\nx\n", "none of markdown, solution"),
    ],
)
def test_text_that_is_no_lesson_is_refused_with_its_line(text, said):
    with pytest.raises(ValueError, match=said):
        notebook_text.to_notebook(text)


def test_the_command_converts_both_ways(tmp_path):
    text, book, back = (tmp_path / name for name in ("a.py", "a.ipynb", "b.py"))
    text.write_text("# %% [markdown]\n# # T\n\n# %%\nx = 1\n", "utf-8")
    notebook_text.main(["to-ipynb", str(text), str(book)])
    notebook_text.main(["to-text", str(book), str(back)])
    assert back.read_text("utf-8") == text.read_text("utf-8")
    assert json.loads(book.read_text("utf-8"))["nbformat_minor"] == 5
