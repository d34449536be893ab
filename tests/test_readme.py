"""The README shows what its own code prints, and names what is there."""

import ast
import re

import pytest

from ctxlab.__main__ import main
from tests.refresh_readme import blocks, figures
from tests.test_layout import READING_ORDER, ROOT

README = (ROOT / "README.md").read_text("utf-8")
LINKS = [link for link in re.findall(r"\]\(([^)]+)\)", README) if link[0] != "#"]


def test_the_figures_are_those_that_the_code_prints():
    (shown,) = blocks("text")

    assert figures() == shown, "python -m tests.refresh_readme writes them"


def test_the_four_lines_make_an_agent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none is used")
    namespace = {"tools": []}
    exec(compile(blocks("python")[0], "README.md", "exec"), namespace)

    agent, rescue = namespace["agent"], namespace["rescue"]
    assert "model" in agent.get_graph().nodes
    assert rescue.settings.trigger == ("tokens", 49_152)
    assert rescue.settings.keep == ("tokens", 24_000)


def test_it_is_short():
    assert len(README.split()) < 700
    assert len(blocks("text")[0].splitlines()) <= 15
    assert all(
        len(line) <= 88 for text in blocks("python") for line in text.split("\n")
    )
    assert "://" not in README, "every link leads to a file that is here"


@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_to_something(link):
    assert (ROOT / link).exists()


def test_every_lesson_is_listed_in_order_and_no_other():
    lessons = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    index = (ROOT / "notebooks" / "README.md").read_text("utf-8")
    assert "notebooks/README.md" in LINKS
    in_index = re.findall(r"\(([^)]+\.ipynb)\)", index)
    assert in_index == [lesson.name for lesson in lessons]


def test_the_modules_are_listed_in_reading_order():
    named = [link.split("/")[1] for link in LINKS if link.startswith("ctxlab/")]
    places = [READING_ORDER.index(name.removesuffix(".py")) for name in named]

    assert places == sorted(places)


@pytest.mark.parametrize("command", ["replay", "doctor"])
def test_the_commands_it_names_exist(command, capsys):
    assert f"python -m ctxlab {command}" in README
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert command in capsys.readouterr().out


def test_the_two_commands_are_those_of_start_py():
    tree = ast.parse((ROOT / "start.py").read_text("utf-8"))
    known = next(
        {key.value for key in node.value.keys}
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMMANDS"
    )
    named = set(re.findall(r"^python start\.py (\w+)", README, re.MULTILINE))

    assert named <= known
    assert re.search(r"^python start\.py +#", README, re.MULTILINE)


def test_the_chinese_readme_has_the_same_figures():
    def figures(name: str) -> list[list[str]]:
        text = (ROOT / name).read_text("utf-8")
        rows = text.split("```text\n")[1].split("```")[0].splitlines()[1:]
        return [re.findall(r"[\d,]+", row) for row in rows]

    assert figures("README.zh-CN.md") == figures("README.md")


def test_the_chinese_readme_links_to_something():
    text = (ROOT / "README.zh-CN.md").read_text("utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / link).exists(), link
