"""Exercises that answer in one line and never stop a notebook.

`check(number, answer)` tries an answer on the cases of one exercise, smallest first,
and prints one line whatever the answer does: raises, never ends, changes its
arguments, prints, or is still a blank.

>>> newest = Exercise(
...     "4.1",
...     "keep the newest n",
...     hint="A slice can count from the end.",
...     cases=[Case(([7, 8, 9], 2), lambda items, n: items[-n:])],
... )
>>> verdict(newest, ...)
'○ 4.1 not attempted'
>>> def keep(items, n):
...     return items[:n]
>>> verdict(newest, keep)
'✗ 4.1 keep([7, 8, 9], 2): expected [8, 9], got [7, 8] · hint("4.1")'
>>> verdict(newest, lambda items, n: items[-n:])
'✓ 4.1 its case passes'

Left out: loops inside one C call (`sum(itertools.count())`), which only the
interrupt button ends. The tables are in `exercise_cases/`. Every lesson uses it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ctxlab.lab.attempts import Attempt, attempt, is_blank, returns_nothing, same
from ctxlab.lab.brief import brief, brief_all, difference


@dataclass(frozen=True)
class Case:
    """Arguments, and what the answer returns for them.

    `expected` is the value, or a function of the arguments that computes it.
    """

    args: tuple[Any, ...]
    expected: Any

    def wanted(self) -> Any:
        """Return the expected value."""
        if not callable(self.expected):
            return self.expected
        return self.expected(*self.args)


@dataclass(frozen=True)
class Exercise:
    """Something to write: an answer is right when it is right on every case.

    Args:
        number: Lesson and place: "4.1".
        title: What to write, in a few words.
        hint: One sentence that helps without giving the answer.
        cases: At least one; they are tried from the smallest to the largest.
        run: How an answer is used: `run(answer, *args)`. Give your own to try a
            middleware class in an agent, say.
        equal: `equal(expected, got)`; by default floats may differ by rounding and a
            tuple is not a list.
    """

    number: str
    title: str
    hint: str
    cases: Sequence[Case]
    run: Callable[..., Any] = lambda answer, *args: answer(*args)
    equal: Callable[[Any, Any], bool] = same

    def __post_init__(self) -> None:
        if not self.cases or not self.hint.strip():
            raise ValueError(f"exercise {self.number} needs at least a case and a hint")

    def judge(self, answer: Any) -> str:
        """Return the verdict, without its mark and number."""
        for case in sorted(self.cases, key=lambda case: len(brief(case.args, 10_000))):
            tried = attempt(self.run, answer, case.args)
            if tried.blank:
                return "○ not attempted"
            fault = self._fault(case, tried, answer)
            if fault:
                return f"✗ {_called(answer, case.args)}: {fault}"
        count = len(self.cases)
        return f"✓ all {count} cases pass" if count > 1 else "✓ its case passes"

    def _fault(self, case: Case, tried: Attempt, answer: Any) -> str:
        if tried.fault:
            return tried.fault
        wanted = case.wanted()
        if not self.equal(wanted, tried.value):
            forgot = " (nothing is returned)" if returns_nothing(answer) else ""
            return difference(wanted, tried.value) + forgot
        if tried.changed is not None:
            return f"the answer is right, but it changes its argument {tried.changed}"
        return ""


@dataclass(frozen=True)
class Prediction:
    """Something to guess before it is computed.

    Args:
        number: Lesson and letter: "4.p".
        title: The question.
        hint: What to think of.
        answer: The value, or a function without arguments that computes it.
        within: Share of a number by which a guess may miss it (0.1 is 10 %).
    """

    number: str
    title: str
    hint: str
    answer: Any
    within: float = 0.0

    def judge(self, guess: Any) -> str:
        """Return the verdict, without its number."""
        right = self.answer() if callable(self.answer) else self.answer
        if isinstance(right, str):
            hit = (
                isinstance(guess, str) and guess.strip().casefold() == right.casefold()
            )
        elif isinstance(guess, int | float) and not isinstance(guess, bool):
            hit = abs(guess - right) <= self.within * abs(right)
        else:
            hit = same(right, guess)
        if hit:
            return f"✓ it is {_figure(right)}"
        return f"✗ you said {_figure(guess)}, it is {_figure(right)}"


def check(number: str, answer: Any) -> None:
    """Print one line: ○ not attempted, ✓ right, or ✗ with the smallest failing case."""
    try:
        line = verdict(_find(number), answer)
    except LookupError as error:
        line = f"✗ {number} {error.args[0]}"
    except Exception as error:  # a broken table must not stop the notebook either
        line = f"✗ {number} cannot be checked: {type(error).__name__}: {brief(error)}"
    print(line)


def hint(number: str) -> None:
    """Print the hint of an exercise, in one line."""
    try:
        print(_find(number).hint)
    except LookupError as error:
        print(error.args[0])


def verdict(exercise: Exercise | Prediction, answer: Any) -> str:
    """Return the line that `check` prints for an answer to this exercise."""
    blank = is_blank(answer)
    mark, _, said = ("○ not attempted" if blank else exercise.judge(answer)).partition(
        " "
    )
    help_ = f' · hint("{exercise.number}")' if mark == "✗" else ""
    return f"{mark} {exercise.number} {said}{help_}"


def exercises(lesson: int) -> tuple[Exercise | Prediction, ...]:
    """Return the table of a lesson, () where it has none.

    >>> exercises(99)
    ()
    """
    name = f"ctxlab.lab.exercise_cases.lesson_{lesson:02d}"
    try:
        table: tuple[Exercise | Prediction, ...] = import_module(name).EXERCISES
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return ()
    return table


def _find(number: str) -> Exercise | Prediction:
    lesson = str(number).partition(".")[0]
    table = exercises(int(lesson)) if lesson.isdecimal() else ()
    for exercise in table:
        if exercise.number == number:
            return exercise
    known = ", ".join(exercise.number for exercise in table) or "none"
    raise LookupError(f"is no exercise; lesson {lesson} has: {known}")


def _figure(value: Any) -> str:
    """A number as prose writes it: 11,136."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return brief(value)


def _called(answer: Any, args: tuple[Any, ...]) -> str:
    name = getattr(answer, "__name__", "answer")
    shown = ", ".join(brief_all(args))
    return f"{'answer' if name == '<lambda>' else name}({shown})"
