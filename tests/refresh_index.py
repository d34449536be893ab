"""Write what `notebooks/README.md` says of the lessons from the lessons themselves.

    python -m tests.refresh_index

Minutes, what a lesson comes after, the modules it explains and its exercises go into
the index; the lessons whose recap names a word go into the glossary. Titles, promises
and meanings are written by hand. `tests/test_course_readme.py` compares.
"""

import functools
import re
from pathlib import Path

from ctxlab.lab.exercises import exercises
from tests.notebook_cells import checked
from tests.notebooks_rules import Lesson

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
README = NOTEBOOKS / "README.md"
COURSE = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
INDEX, GLOSSARY = "# The lessons", "## Words"


@functools.cache
def lesson(number: str) -> Lesson:
    """Return the lesson with this two-digit number."""
    (path,) = (path for path in COURSE if path.name.startswith(number))
    return Lesson.read(path)


def opening(number: str) -> str:
    """Return the first cell of a lesson as one line."""
    return " ".join(lesson(number).prose[0].split())


def minutes(number: str) -> int:
    """Return how long a lesson says it takes."""
    found = re.search(r"(\d+) min ·", opening(number))
    assert found, f"lesson {number} does not open with its minutes"
    return int(found[1])


def after(number: str) -> list[str]:
    """Return the numbers of the lessons that a lesson says it comes after."""
    found = re.search(r"· after (.*?) ·", opening(number))
    assert found, f"lesson {number} does not say what it comes after"
    return re.findall(r"\b\d\d\b(?!_)", found[1])


def modules(number: str) -> list[str]:
    """Return the links to the code that a lesson explains, in Markdown."""
    found = re.search(r"· explains (.*?) \*\*You", opening(number))
    assert found, f"lesson {number} does not say what it explains"
    return re.findall(r"\[`[^]]+\]\([^)]+\)", found[1])


def asked(number: str) -> list[str]:
    """Return number and task of what a lesson checks, guesses left out."""
    titles = {each.number: each.title for each in exercises(int(number))}
    found = [n for cell in lesson(number).code for n in checked(cell.source)]
    return [f"{n} {titles[n]}" for n in sorted(found) if not n.endswith(".p")]


def words(number: str) -> list[str]:
    """Return the words that a lesson's recap emphasises, in small letters."""
    prose = "\n".join(lesson(number).prose)
    recap = re.split(r"^## Recap.*$", prose, flags=re.MULTILINE)[-1]
    recap = " ".join(recap.partition("<details>")[0].split())
    found = re.findall(r"(?<![*\w])\*([^*]+)\*(?![*\w])", recap)
    return [word if word.isupper() else word.lower() for word in found]


def lessons_with(forms: str) -> list[str]:
    """Return the lessons whose recap names one of the forms: "bill, billed"."""
    names = set(forms.split(", "))
    return [p.name[:2] for p in COURSE if names & set(words(p.name[:2]))]


def index_row(cells: list[str]) -> list[str]:
    """Return a line of the index: title and promise as they are, the rest anew."""
    found = re.match(r"\[(\d\d) ", cells[0])
    assert found, f"the index has a line without a lesson: {cells[0]}"
    number = found[1]
    return [
        *cells[:2],
        str(minutes(number)),
        ", ".join(after(number)) or "–",
        ", ".join(modules(number)),
        "; ".join(asked(number)),
    ]


def word_row(cells: list[str]) -> list[str]:
    """Return a line of the glossary: word and meaning as they are, lessons anew."""
    return [*cells[:2], ", ".join(lessons_with(cells[0])) or "–"]


def rows(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, its own two lines left out."""
    return [_cells(line) for line in _table(text, heading).splitlines()[2:]]


def refreshed(text: str) -> str:
    """Return the README with index and glossary as the lessons have it."""
    for heading, renewed in ((INDEX, index_row), (GLOSSARY, word_row)):
        old = _table(text, heading)
        head = old.splitlines()[:2]
        lines = [f"| {' | '.join(renewed(row))} |" for row in rows(text, heading)]
        text = text.replace(old, "\n".join([*head, *lines, ""]))
    return text


def _table(text: str, heading: str) -> str:
    _, _, below = text.partition(f"{heading}\n")
    found = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert found, f"{README.name} has no table under {heading!r}"
    return found[0]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def main() -> None:
    """Write index and glossary, and say whether they changed."""
    text = README.read_text("utf-8")
    new = refreshed(text)
    README.write_text(new, "utf-8", newline="\n")
    print(f"{README.name}: {'unchanged' if new == text else 'rewritten'}")


if __name__ == "__main__":
    main()
