"""`notebooks/README.md` says of the lessons what the lessons say themselves."""

import ast
import re
from itertools import accumulate, pairwise

import pytest

from ctxlab.lab.doctor import Finding, summary_line
from tests.notebook_cells import checked, committed, single_spaced
from tests.refresh_index import (
    COURSE,
    GLOSSARY,
    NOTEBOOKS,
    README,
    after,
    lesson,
    minutes,
    refreshed,
    rows,
    words,
)

TEXT = README.read_text("utf-8")
AGENDAS = re.findall(r"^### (\d+) minutes: .*$", TEXT, re.MULTILINE)
NUMBERS = [path.name[:2] for path in COURSE]


# --- index and glossary ---------------------------------------------------------


def test_index_and_glossary_are_as_the_lessons_say():
    assert refreshed(TEXT) == TEXT, "python -m tests.refresh_index writes them"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_lesson_comes_after_earlier_ones_only(number):
    assert all(earlier < number for earlier in after(number))


def glossary_forms() -> list[str]:
    return [form for row in rows(TEXT, GLOSSARY) for form in row[0].split(", ")]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_word_of_a_recap_is_in_the_glossary(number):
    assert words(number), "the recap names no word in emphasis: *Cut*: …"
    missing = set(words(number)) - set(glossary_forms())
    assert not missing, "write what they mean under 'Words'"


def test_the_glossary_has_a_word_once_in_alphabetical_order():
    forms = [row[0].split(", ")[0].casefold() for row in rows(TEXT, GLOSSARY)]
    assert forms == sorted(forms)
    assert len(set(glossary_forms())) == len(glossary_forms())
    assert all(row[1] for row in rows(TEXT, GLOSSARY))


def test_the_glossary_has_the_words_of_the_field():
    field = "turn message call result window budget trigger keep summary view limit"
    assert set(field.split()) <= set(glossary_forms())
    assert {"cut", "tail", "unit", "overhead"} <= set(glossary_forms())


# --- agendas --------------------------------------------------------------------


def blocks(agenda: str) -> list[list[str]]:
    (heading,) = re.findall(rf"^### {agenda} minutes: .*$", TEXT, re.MULTILINE)
    return rows(TEXT, heading)


def lesson_blocks(agenda: str) -> list[tuple[str, list[str]]]:
    """Return (lesson's number, cells) for each block that is a lesson."""
    found = [(re.match(r"lesson (\d\d)", row[1]), row) for row in blocks(agenda)]
    return [(match[1], row) for match, row in found if match]


def test_there_are_three_agendas():
    assert AGENDAS == ["60", "90", "180"]


@pytest.mark.parametrize("agenda", AGENDAS)
def test_the_minutes_of_an_agenda_add_up(agenda):
    spent = [int(row[2]) for row in blocks(agenda)]
    assert [int(row[0]) for row in blocks(agenda)] == list(accumulate(spent))
    assert sum(spent) == int(agenda)


@pytest.mark.parametrize("agenda", AGENDAS)
def test_no_one_sits_for_more_than_100_minutes_without_a_break(agenda):
    breaks = [int(row[0]) for row in blocks(agenda) if row[1] == "break"]
    ends = [0, *breaks, int(agenda)]
    assert max(b - a for a, b in pairwise(ends)) <= 100


@pytest.mark.parametrize("agenda", AGENDAS)
def test_a_lesson_has_its_minutes_or_says_what_is_left_out(agenda):
    for number, (_, _, given, _, leave_out) in lesson_blocks(agenda):
        assert int(given) <= minutes(number)
        assert int(given) == minutes(number) or leave_out


@pytest.mark.parametrize("agenda", AGENDAS)
def test_what_a_lesson_needs_came_before_or_is_said_instead(agenda):
    held: list[str] = []
    for number, row in lesson_blocks(agenda):
        for needed in after(number):
            assert needed in held or f"what lesson {needed} shows" in row[4]
        held.append(number)
    assert held == sorted(held)


@pytest.mark.parametrize("agenda", AGENDAS)
def test_what_everybody_has_seen_is_shown_by_the_lesson(agenda):
    for number, row in lesson_blocks(agenda):
        shown = " ".join(committed(lesson(number).path))
        quoted = re.findall(r"`([^`]+)`", row[3])
        assert quoted, "a checkpoint is text that the lesson prints"
        for text in quoted:
            assert single_spaced(text) in shown, (number, text)


@pytest.mark.parametrize("agenda", AGENDAS)
def test_an_exercise_that_is_left_out_exists(agenda):
    for number, row in lesson_blocks(agenda):
        known = {n for cell in lesson(number).code for n in checked(cell.source)}
        assert set(re.findall(r"\b\d+\.\d\b", row[4])) <= known


# --- the rest -------------------------------------------------------------------


def test_a_mistake_leads_to_a_lesson_or_to_an_answer_known_as_wrong():
    (heading,) = re.findall(r"^## Mistakes.*$", TEXT, re.MULTILINE)
    for mistake, cost, met in rows(TEXT, heading):
        assert mistake.startswith("to ")
        assert cost
        named = re.findall(r"^lesson (\d\d)$", met)
        assert bool(named) != ("](" in met)
        assert set(named) <= set(NUMBERS)
        for label, target in re.findall(r"\[([^]]+)\]\(([^)]+)\)", met):
            assert f"solutions/{label}/wrong_" in target
            assert (NOTEBOOKS / target).exists(), target


def test_every_link_leads_to_something():
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        name, _, anchor = target.partition("#")
        assert (NOTEBOOKS / name).exists() if name else anchor in anchors, target


def test_the_line_to_send_in_looks_like_the_doctors():
    (shown,) = re.findall(r"^ *(doctor: .*)$", TEXT, re.MULTILINE)
    said = summary_line([Finding("python", True, "fine")])
    kind = re.compile(r"doctor: ok, ctxlab [\d.]+, python \d\.\d+, \w+ \w+")
    assert kind.fullmatch(shown)
    assert kind.fullmatch(said)
    assert re.findall("ctxlab [^,]+", shown) == re.findall("ctxlab [^,]+", said)


def test_the_commands_are_those_of_start_py():
    tree = ast.parse((NOTEBOOKS.parent / "start.py").read_text("utf-8"))
    (known,) = [
        {key.value for key in node.value.keys}
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMMANDS"
    ]
    named = set(re.findall(r"`python start\.py ([\w-]+)", TEXT))
    assert {"doctor", "bundle", "lab", "test", "local-model"} == named <= known
