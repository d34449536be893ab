"""The form of a lesson, as far as a machine can see it.

Lengths, the opening, the imports, exercises with folded help, links that resolve
without a network, and a last cell that asserts what the lesson made.
"""

import ast
import re
from pathlib import Path
from statistics import median

from tests.notebook_cells import checked
from tests.notebooks_rules import Found, Lesson, Rule, shown_text

MAX_BYTES = 200_000
CELLS = range(20, 31)
WORDS = range(500, 901)
_LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_HTML = re.compile(r"<(img|a|script|link|iframe)\b[^>]*?(?:src|href)=[\"']([^\"']+)")
_FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def words(lesson: Lesson) -> int:
    """Count the words of the prose that is open to the reader, code left out."""
    open_text = (_CODE.sub(" ", _FOLDED.sub(" ", prose)) for prose in lesson.prose)
    return sum(len(re.findall(r"\w[\w'’.,-]*", text)) for text in open_text)


def is_small(lesson: Lesson) -> Found:
    """A file under 200 KB opens at once and can be read in a diff."""
    size = len(lesson.text.encode())
    if size >= MAX_BYTES:
        yield f"the file has {size:,} bytes, the limit is {MAX_BYTES:,}"


def has_a_lessons_length(lesson: Lesson) -> Found:
    """20 to 30 cells and 500 to 900 words: one idea, twenty minutes."""
    cells = len(lesson.node.cells)
    if cells not in CELLS:
        yield f"it has {cells} cells, not {CELLS.start} to {CELLS.stop - 1}"
    if words(lesson) not in WORDS:
        yield f"it has {words(lesson)} words, not {WORDS.start} to {WORDS.stop - 1}"


def has_short_cells(lesson: Lesson) -> Found:
    """Median code cell of at most 5 lines, none over 20, no line over 78."""
    lines = [[x for x in cell.source.split("\n") if x.strip()] for cell in lesson.code]
    lengths = [len(cell) for cell in lines]
    if lengths and median(lengths) > 5:
        yield f"the median code cell has {median(lengths)} lines, the limit is 5"
    for number, cell in enumerate(lines, 1):
        if len(cell) > 20:
            yield f"code cell {number} has {len(cell)} lines, the limit is 20"
        widest = max(map(len, cell), default=0)
        if widest > 78:
            yield f"code cell {number} has a line of {widest} characters"


def opens_like_a_lesson(lesson: Lesson) -> Found:
    """Title, minutes, and links to the lessons before and after and to the index."""
    first = lesson.node.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        yield "it does not open with a title ('# …')"
    if not re.search(r"\b\d+ min", first.source):
        yield "its opening does not say how many minutes it takes"
    for path in [*neighbours(lesson.path), lesson.path.with_name("README.md")]:
        if path.exists() and path.name not in first.source:
            yield f"its opening does not link {path.name}"


def neighbours(path: Path) -> list[Path]:
    """The lessons just before and after this one, where they exist."""
    course = sorted(path.parent.glob("[0-9][0-9]_*.ipynb"))
    if path not in course:
        return []
    at = course.index(path)
    return course[max(0, at - 1) : at] + course[at + 1 : at + 2]


def imports_first_and_silently(lesson: Lesson) -> Found:
    """The first code cell imports and prints nothing (B97: it may filter warnings)."""
    if not lesson.code:
        yield "it has no code"
        return
    if lesson.code[0].outputs:
        yield "the imports print something"
    body = next((tree.body for number, tree in lesson.trees if number == 1), [])
    for node in body:
        text = ast.unparse(node)
        if (
            not isinstance(node, ast.Import | ast.ImportFrom)
            and "warnings." not in text
        ):
            yield f"the first code cell does more than import: {text[:40]}"


def asserts_at_the_end(lesson: Lesson) -> Found:
    """B101: the last code cell asserts what the lesson should have made."""
    last = lesson.trees[-1][1] if lesson.trees else ast.Module([], [])
    if not any(isinstance(node, ast.Assert) for node in last.body):
        yield "the last code cell asserts nothing"


def has_exercises(lesson: Lesson) -> Found:
    """Two exercises and a prediction, committed as stubs, help folded below."""
    number = str(int(lesson.path.name[:2]))
    cells = lesson.node.cells
    asked = {n: at for at, cell in enumerate(cells) for n in checked_in(cell)}
    written = [n for n in asked if n.rpartition(".")[2].isdecimal()]
    if len(written) < 2 or len(asked) - len(written) < 1:
        yield f"it checks {sorted(asked)}, not two exercises and a prediction"
    for name, at in asked.items():
        said = "".join(shown_text(out) for out in cells[at].outputs)
        if not name.startswith(f"{number}."):
            yield f"exercise {name} has another lesson's number"
        if f"○ {name} not attempted" not in said:
            yield f"exercise {name} is committed with an answer: {said.strip()!r}"
    for name in written:
        below = cells[asked[name] + 1 : asked[name] + 4]
        if not any("<details>" in cell.source for cell in below):
            yield f"exercise {name} has no folded hint below it"
        if not any(is_folded(cell) for cell in below):
            yield f"exercise {name} has no folded solution below it"


def checked_in(cell: object) -> list[str]:
    """The exercises that a cell checks; none in prose."""
    return checked(cell.source) if cell.cell_type == "code" else []  # type: ignore[attr-defined]


def is_folded(cell: object) -> bool:
    """A code cell that shows as one line until it is clicked."""
    jupyter = cell.metadata.get("jupyter", {})  # type: ignore[attr-defined]
    return bool(jupyter.get("source_hidden"))


def has_a_panel(lesson: Lesson) -> Found:
    """Something to move: a panel, the tuner, or a chart under the lesson's own knob."""
    called = {name.rpartition(".")[2] for _, name in lesson.calls()}
    panels = {name for name in called if name.endswith("_panel")}
    if not panels | (called & {"tuner", "LiveChart"}):
        yield "no cell makes a panel"


def says_what_is_simulated(lesson: Lesson) -> Found:
    """A simulated model is called simulated before or where it is first used."""
    seen = ""
    for cell in lesson.node.cells:
        seen += cell.source.lower() if cell.cell_type == "markdown" else ""
        uses = "SimulatedChatModel(" in cell.source and cell.cell_type == "code"
        if uses and "simulated" not in seen:
            yield "SimulatedChatModel is used before the prose says 'simulated'"
            return


def closes_like_a_lesson(lesson: Lesson) -> Found:
    """When it breaks, then a recap with recall questions and folded answers."""
    everything = "\n".join(lesson.prose)
    if not re.search(r"^#+ .*\bwhen\b", everything, re.MULTILINE | re.IGNORECASE):
        yield "no heading has the word 'when' (it breaks, or not to use it)"
    recap = re.search(r"^#+ .*\brecap\b", everything, re.MULTILINE | re.IGNORECASE)
    if not recap:
        yield "no heading has the word 'recap'"
    elif "<details>" not in everything[recap.start() :]:
        yield "the recap has no recall question with a folded answer"


def links_offline(lesson: Lesson) -> Found:
    """Links lead to files that are here; nothing is fetched (no remote image)."""
    for prose in lesson.prose:
        text = _CODE.sub(" ", prose)
        targets = [target for _, target in _LINK.findall(text)]
        targets += [target for _, target in _HTML.findall(text)]
        for target in targets:
            if re.match(r"[a-z]+:|//", target):
                if not target.startswith("attachment:"):
                    yield f"{target} needs a network"
                continue
            name = target.partition("#")[0]
            if name and not (lesson.path.parent / name).exists():
                yield f"{target} leads nowhere"
    for number, out in lesson.outputs:
        html = str(out.get("data", {}).get("text/html", ""))
        if re.search(r"(?:src|href)=[\"'](?:https?:)?//", html):
            yield f"code cell {number} shows HTML that needs a network"


ANATOMY: tuple[Rule, ...] = (
    is_small,
    has_a_lessons_length,
    has_short_cells,
    opens_like_a_lesson,
    imports_first_and_silently,
    asserts_at_the_end,
    has_exercises,
    has_a_panel,
    says_what_is_simulated,
    closes_like_a_lesson,
    links_offline,
)
