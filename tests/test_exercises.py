"""`check` prints one line whatever an answer does; tables, answers, lessons agree."""

import ast
import functools
import itertools
import sys
import time
import types
import warnings

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from ctxlab.lab import attempts, exercises
from ctxlab.lab.brief import brief
from ctxlab.lab.exercises import Case, Exercise, Prediction, check, hint, verdict
from tests.notebook_cells import (
    NOTEBOOKS,
    checked,
    code_cells,
    committed,
    run_cells,
    single_spaced,
    solution,
    swapped,
    wrong_answers,
)

NEWEST = Exercise(
    "4.1",
    "keep the newest n messages, oldest first",
    hint="A slice can count from the end; what is items[-0:]?",
    cases=[
        Case((["a", "b", "c"], 2), lambda items, n: items[len(items) - n :]),
        Case((["a"], 0), []),
        Case(([], 0), []),
        Case((["a", "b"], 2), ["a", "b"]),
    ],
)
GUESS = Prediction("4.p", "how many tokens?", hint="Think big.", answer=11_136)
NAMED = Prediction("4.q", "which part?", hint="Look.", answer="Tools")


def right(items, n):
    return items[len(items) - n :]


@pytest.fixture
def lesson_4(monkeypatch):
    """The demonstration exercises as lesson 4's table."""
    table = types.ModuleType("table")
    table.EXERCISES = (NEWEST, GUESS)
    monkeypatch.setitem(sys.modules, "ctxlab.lab.exercise_cases.lesson_04", table)


# --- what the line says ---------------------------------------------------------


def test_a_right_answer_passes_every_case():
    assert verdict(NEWEST, right) == "✓ 4.1 all 4 cases pass"


def stub_dots(items, n): ...


async def stub_async(items, n): ...


def stub_docstring(items, n):
    """Keep the newest."""


def stub_pass(items, n):
    pass


def stub_half(items, n):
    start = ...
    return items[start:]


def stub_raises(items, n):
    raise NotImplementedError


class StubClass:
    def wrap(self, request): ...


@pytest.mark.parametrize(
    "blank",
    [
        None,
        ...,
        stub_dots,
        stub_docstring,
        stub_pass,
        stub_half,
        stub_raises,
        StubClass,
    ],
    ids=brief,
)
def test_a_blank_is_not_attempted(blank):
    assert verdict(NEWEST, blank) == "○ 4.1 not attempted"


@pytest.mark.parametrize("blank", [None, ...])
def test_a_blank_prediction_is_not_attempted(blank):
    assert verdict(GUESS, blank) == "○ 4.p not attempted"


def forgets_return(items, n):
    items[len(items) - n :]


def counts_from_zero(items, n):
    return items[-n:]


def is_lazy(items, n):
    return (item for item in items[len(items) - n :])


def makes_tuple(items, n):
    return tuple(items[len(items) - n :])


def pops(items, n):
    while len(items) > n:
        items.pop(0)
    return items


def raises(items, n):
    first = items[0]
    return [first]


def loops(items, n):
    while True:
        n = n + 1


def loops_through_except(items, n):
    while True:
        try:  # noqa: SIM105
            n = n + 1
        except Exception:
            pass


def recurses(items, n):
    return recurses(items, n)


def exits(items, n):
    sys.exit(3)


def interrupted(items, n):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (forgets_return, "([], 0): expected [], got None (nothing is returned)"),
        (counts_from_zero, "(['a'], 0): expected [], got ['a']"),
        (is_lazy, "([], 0): expected [] (list), got <generator"),
        (makes_tuple, "([], 0): expected [] (list), got () (tuple)"),
        (pops, "(['a'], 0): the answer is right, but it changes its argument ['a']"),
        (
            raises,
            "([], 0): raised IndexError: list index out of range (line 2 of raises)",
        ),
        (loops, "([], 0): does not end (stopped after 2,000,000 lines)"),
        (loops_through_except, "([], 0): does not end (stopped after"),
        (recurses, "([], 0): raised RecursionError: maximum recursion depth exceeded"),
        (exits, "([], 0): raised SystemExit: 3 (line 2 of exits)"),
        (interrupted, "([], 0): stopped by you"),
        (42, "answer([], 0): raised TypeError: 'int' object is not callable"),
        ("keep", "answer([], 0): raised TypeError: 'str' object is not callable"),
        (lambda items: items, "answer([], 0): raised TypeError: "),
        (itertools.count, "count([], 0): raised TypeError: a number is required"),
        (functools.partial(right, n=1), "answer([], 0): raised TypeError: right() got"),
    ],
    ids=brief,
)
def test_a_wrong_answer_gets_its_smallest_failing_case_and_the_hint(answer, said):
    line = verdict(NEWEST, answer)
    assert line.startswith("✗ 4.1 ")
    assert said in line
    assert line.endswith(' · hint("4.1")')


def test_the_smallest_failing_case_comes_first_whatever_the_order_of_the_table():
    backwards = Exercise("4.1", "t", hint="h", cases=NEWEST.cases[::-1])
    assert verdict(backwards, makes_tuple) == verdict(NEWEST, makes_tuple)


def test_b93_no_address_set_order_or_line_break_reaches_the_line():
    line = verdict(NEWEST, lambda items, n: [object(), {"b", "a"}, "x\ny"])
    assert "0x" not in line
    assert "\n" not in line
    assert "{'a', 'b'}" in line


def test_messages_show_as_type_and_text_and_ids_do_not_count():
    case = Case(([HumanMessage("hi", id="1")],), [HumanMessage("hi", id="1")])
    exercise = Exercise("4.3", "t", hint="h", cases=[case])
    assert verdict(exercise, lambda ms: [HumanMessage("hi")]).startswith("✓")
    line = verdict(exercise, lambda ms: [AIMessage("hi")])
    assert "expected [human('hi')], got [ai('hi')]" in line


def test_long_lists_name_the_first_item_that_differs():
    wanted = [f"message number {n}" for n in range(9)]
    exercise = Exercise("4.4", "t", hint="h", cases=[Case((), wanted)])
    got = [*wanted[:7], "another", wanted[8]]
    assert "item 7: expected 'message number 7', got 'another'" in verdict(
        exercise, lambda: got
    )
    assert "expected 9 items, got 8" in verdict(exercise, lambda: got[1:])


def test_floats_may_differ_by_rounding_and_true_is_not_one():
    exercise = Exercise("4.5", "t", hint="h", cases=[Case((), 0.3)])
    assert verdict(exercise, lambda: 0.1 + 0.2).startswith("✓")
    one = Exercise("4.5", "t", hint="h", cases=[Case((), 1)])
    assert verdict(one, lambda: True).startswith("✗")


def test_an_async_answer_that_waits_for_nothing_is_run():
    async def answer(items, n):
        return right(items, n)

    assert verdict(NEWEST, answer).startswith("✓")


def test_b89_an_answer_that_waits_for_a_loop_is_told_so():
    async def answer(items, n):
        import asyncio

        await asyncio.sleep(0)

    assert "`check` runs no event loop" in verdict(NEWEST, answer)


def test_a_class_is_tried_the_way_its_exercise_says():
    class Keeper:
        def __init__(self, n):
            self.n = n

        def keep(self, items):
            return items[len(items) - self.n :]

    exercise = Exercise(
        "4.6",
        "t",
        hint="h",
        cases=[Case((["a", "b"], 1), ["b"])],
        run=lambda cls, items, n: cls(n).keep(items),
    )
    assert verdict(exercise, Keeper) == "✓ 4.6 its case passes"


@pytest.mark.parametrize(
    ("prediction", "guess", "line"),
    [
        (GUESS, 11_136, "✓ 4.p it is 11,136"),
        (GUESS, 180, '✗ 4.p you said 180, it is 11,136 · hint("4.p")'),
        (GUESS, "many", "✗ 4.p you said 'many', it is 11,136 · hint(\"4.p\")"),
        (NAMED, " tools", "✓ 4.q it is 'Tools'"),
        (NAMED, 3, "✗ 4.q you said 3, it is 'Tools' · hint(\"4.q\")"),
    ],
)
def test_a_prediction_is_compared_with_what_the_library_computes(
    prediction, guess, line
):
    assert verdict(prediction, guess) == line


def test_a_prediction_may_be_close_and_its_answer_computed_late():
    close = Prediction("4.p", "t", hint="h", answer=lambda: 1_000, within=0.1)
    assert verdict(close, 920).startswith("✓")
    assert verdict(close, 880).startswith("✗")


# --- safety ---------------------------------------------------------------------


def test_an_endless_loop_ends_soon_and_always_after_the_same_lines():
    began = time.perf_counter()
    assert verdict(NEWEST, loops) == verdict(NEWEST, loops)
    assert time.perf_counter() - began < 20


def test_lines_of_the_library_are_not_counted(monkeypatch):
    monkeypatch.setattr(attempts, "MAX_LINES", 5)
    slow = Exercise("4.7", "t", hint="h", cases=[Case((), "'a'")])
    assert verdict(slow, lambda: brief("a")).startswith("✓")


def test_tracing_is_put_back_afterwards():
    def tracer(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        verdict(NEWEST, loops)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_cases_survive_an_answer_that_changes_its_arguments():
    verdict(NEWEST, pops)
    assert verdict(NEWEST, right) == "✓ 4.1 all 4 cases pass"


def test_an_object_that_cannot_be_copied_is_shared():
    import threading

    lock = threading.Lock()
    exercise = Exercise("4.8", "t", hint="h", cases=[Case((lock,), True)])
    assert verdict(exercise, lambda given: given is lock).startswith("✓")


# --- check and hint -------------------------------------------------------------


@pytest.mark.parametrize("answer", [..., right, raises, loops, 7], ids=brief)
def test_check_prints_exactly_one_line(answer, lesson_4, capsys):
    def noisy(*args):
        print("debug")
        print("more", file=sys.stderr)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return answer(*args)

    check("4.1", answer)
    check("4.1", noisy)
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2
    assert captured.err == ""


def test_hint_prints_the_hint(lesson_4, capsys):
    hint("4.1")
    assert capsys.readouterr().out == NEWEST.hint + "\n"


@pytest.mark.parametrize("number", ["4.9", "99.1", "x", "", 4.1, None])
def test_an_unknown_number_is_one_line_too(number, lesson_4, capsys):
    check(number, right)
    hint(number)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all("is no exercise; lesson" in line for line in lines)


def test_a_broken_table_does_not_stop_the_notebook(lesson_4, monkeypatch, capsys):
    broken = Exercise("4.1", "t", hint="h", cases=[Case((), lambda: 1 / 0)])
    sys.modules["ctxlab.lab.exercise_cases.lesson_04"].EXERCISES = (broken,)
    check("4.1", lambda: 1)
    said = capsys.readouterr().out
    assert said == "✗ 4.1 cannot be checked: ZeroDivisionError: division by zero\n"


@pytest.mark.parametrize(("cases", "help_"), [([], "h"), ([Case((), 1)], " ")])
def test_an_exercise_without_case_or_hint_is_refused(cases, help_):
    with pytest.raises(ValueError, match="needs at least a case and a hint"):
        Exercise("4.1", "t", hint=help_, cases=cases)


# --- swapping answers into a notebook -------------------------------------------

CELLS = [
    "from ctxlab.lab.exercises import check",
    'def keep(items, n):\n    ...\ncheck("4.1", keep)',
    "def keep(items, n):\n    return items[len(items) - n:]",
    "async def last():\n    return keep([1, 2], 1)\nprint(await last())",
]


def test_only_the_definition_that_is_checked_is_replaced():
    cell = (
        "x = 1\ndef one(a):\n    ...\n\ncheck('4.1', one)\n"
        "def two(a): ...\ncheck('4.2', two)"
    )
    assert swapped([cell], {"4.2": "def two(a):\n    return a\n"}) == [
        "x = 1\ndef one(a):\n    ...\n\ncheck('4.1', one)\n"
        "def two(a):\n    return a\n\ncheck('4.2', two)"
    ]
    assert swapped([cell], {"4.9": "x"}) == [cell]


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (None, "○ 4.1 not attempted"),
        (
            "def keep(items, n):\n    return items[len(items) - n:]",
            "✓ 4.1 all 4 cases pass",
        ),
        ("def keep(items, n):\n    return items", "✗ 4.1 keep(['a'], 0): expected []"),
        (
            "def keep(items, n):\n    return items[n]",
            "✗ 4.1 keep([], 0): raised IndexError",
        ),
    ],
    ids=["stub", "reference", "wrong", "raising"],
)
def test_run_all_reaches_the_end_in_all_four_states(answer, line, lesson_4):
    answers = {} if answer is None else {"4.1": answer}
    _, shown = run_cells(swapped(CELLS, answers))
    first, last = "".join(shown).splitlines()
    assert first.startswith(line)
    assert last == "[2]", "no later cell depends on the learner"


# --- the course's own exercises -------------------------------------------------

LESSONS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
TABLES = [e for lesson in range(15) for e in exercises.exercises(lesson)]
WRITTEN = [e for e in TABLES if isinstance(e, Exercise)]


def by_number(listed):
    return pytest.mark.parametrize("exercise", listed, ids=lambda e: e.number)


def test_every_number_is_given_once_and_belongs_to_its_lesson():
    numbers = [exercise.number for exercise in TABLES]
    assert len(numbers) == len(set(numbers))
    for lesson in range(15):
        for exercise in exercises.exercises(lesson):
            assert exercise.number.partition(".")[0] == str(lesson)


def test_lessons_check_exactly_the_exercises_of_their_tables():
    for path in LESSONS:
        used = [number for source in code_cells(path) for number in checked(source)]
        table = exercises.exercises(int(path.name[:2]))
        assert sorted(used) == sorted(e.number for e in table), path.name


@by_number(WRITTEN)
def test_the_reference_is_accepted_and_three_wrong_answers_are_refused(exercise):
    assert answer_line(exercise, solution(exercise.number)).startswith("✓")
    wrong = wrong_answers(exercise.number)
    assert len(wrong) >= 3, f"tests/solutions/{exercise.number} has {sorted(wrong)}"
    for name, text in wrong.items():
        promise, _, _ = text.partition("\n")
        assert promise.startswith("# says: "), f"{name}: first line '# says: …'"
        line = answer_line(exercise, text)
        assert line.startswith("✗"), f"{name} is accepted"
        assert promise.removeprefix("# says: ").strip() in line, name


def answer_line(exercise, text):
    """What `check` prints under an answer, in the lesson's own cell if there is one."""
    lesson = NOTEBOOKS.glob(f"{int(exercise.number.partition('.')[0]):02d}_*.ipynb")
    cells = [s for p in lesson for s in code_cells(p) if exercise.number in checked(s)]
    cell = cells[0] if cells else f'check("{exercise.number}", {last_name(text)})'
    imports = "from ctxlab.lab.exercises import check"
    _, shown = run_cells([imports, *swapped([cell], {exercise.number: text})])
    return next(
        line for line in shown[1].splitlines() if f" {exercise.number} " in line
    )


def last_name(text):
    """The function or class that an answer defines last."""
    return [node.name for node in ast.parse(text).body if hasattr(node, "name")][-1]


@by_number([e for e in TABLES if isinstance(e, Prediction)])
def test_a_prediction_accepts_what_the_library_computes(exercise):
    answer = exercise.answer() if callable(exercise.answer) else exercise.answer
    assert verdict(exercise, answer).startswith("✓")
    assert verdict(exercise, ...).startswith("○")
    assert exercise.hint


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_run_all_reaches_the_end_and_nothing_depends_on_the_learner(path):
    """With wrong answers every other cell shows what is committed; then the right ones.

    As committed, with blanks, nbval runs it.
    """
    sources = code_cells(path)
    table = exercises.exercises(int(path.name[:2]))
    asked = [e.number for e in table if isinstance(e, Exercise)]
    wrong = {number: next(iter(wrong_answers(number).values())) for number in asked}
    namespace, shown = run_cells(swapped(sources, wrong))
    for source, new, old in zip(sources, shown, committed(path), strict=True):
        if not checked(source):
            assert single_spaced(new) == old
    assert all(f"✗ {number} " in "".join(shown) for number in asked)

    right = {number: solution(number) for number in asked}
    cells = [source for source in sources if checked(source)]
    _, shown = run_cells(swapped(cells, right), namespace)
    assert all(f"✓ {number} " in "".join(shown) for number in asked)
