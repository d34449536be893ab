"""Run a learner's answer once, safely, and say what it did.

The answer gets copies of its arguments, its printing is swallowed, every exception
is caught, and a loop is ended after a fixed number of executed lines: counted, not
timed, so that the same answer meets the same end on every machine.

>>> def endless(n):
...     while True:
...         n += 1
>>> attempt(lambda answer, *args: answer(*args), endless, (0,)).fault
'does not end (stopped after 2,000,000 lines)'

Lines count only in code that shares the answer's globals (the notebook's cells), so
the library may work as long as it needs. A bare `except:` inside an endless loop
swallows the stop. Nothing here is ever raised to the caller.
"""

import contextlib
import copy
import dis
import inspect
import io
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.lab.brief import brief

MAX_LINES = 2_000_000
_IDLE = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "POP_TOP"}
_IDLE |= {"RETURN_GENERATOR", "COPY_FREE_VARS", "CALL_INTRINSIC_1", "RERAISE"}


class TooManyLines(BaseException):
    """The answer ran too long. Not an `Exception`, so that `except` lets it pass."""


@dataclass(frozen=True)
class Attempt:
    """What one run did: returned `value`, or had a `fault` (a sentence's end).

    `changed` shows an argument that was changed in place, `blank` that the answer
    is still (in part) a blank.
    """

    value: Any = None
    fault: str = ""
    changed: str | None = None
    blank: bool = False


def attempt(run: Callable[..., Any], answer: Any, args: tuple[Any, ...]) -> Attempt:
    """Return what `run(answer, *copies of args)` did."""
    given = tuple(_copied(arg) for arg in args)
    try:
        with _quiet(), _bounded(_namespace(answer)):
            value = _finished(run(answer, *given))
    except NotImplementedError:
        return Attempt(blank=True)
    except TooManyLines:
        return Attempt(fault=f"does not end (stopped after {MAX_LINES:,} lines)")
    except KeyboardInterrupt:
        return Attempt(fault="stopped by you")
    except BaseException as error:  # SystemExit too: nothing may end the notebook
        return Attempt(fault=_raised(error, answer))
    if value is ...:
        return Attempt(blank=True)
    changed = [
        brief(a)
        for a, b in zip(args, given, strict=True)
        if not same(a, b, opaque=True)
    ]
    return Attempt(value, changed=changed[0] if changed else None)


def is_blank(answer: Any) -> bool:
    """Is this None, `...`, or a function or class whose body is still a blank?

    >>> def blank(messages):
    ...     "Keep the newest."
    ...     ...
    >>> [is_blank(a) for a in (None, ..., blank, len, 0)]
    [True, True, True, False, False]
    """
    if answer is None or answer is ...:
        return True
    if isinstance(answer, type):
        methods = [f for f in vars(answer).values() if inspect.isfunction(f)]
        return bool(methods) and any(map(is_blank, methods))
    code = getattr(answer, "__code__", None)
    return isinstance(code, CodeType) and _does_nothing(code)


def returns_nothing(answer: Any) -> bool:
    """Is this a function that ends without ever returning a value?

    >>> def forgets(items):
    ...     items[-1:]
    >>> returns_nothing(forgets), returns_nothing(lambda items: items)
    (True, False)
    """
    code = getattr(answer, "__code__", None)
    if not isinstance(code, CodeType) or code.co_flags & inspect.CO_GENERATOR:
        return False
    steps = list(dis.get_instructions(code))
    for before, step in itertools.pairwise(steps):
        value = step if step.opname == "RETURN_CONST" else before  # 3.12 joins the two
        if step.opname in ("RETURN_VALUE", "RETURN_CONST") and not (
            "CONST" in value.opname and value.argval is None
        ):
            return False
    return True


def same(expected: Any, got: Any, *, opaque: bool = False) -> bool:
    """Are two values equal, floats up to rounding, containers by kind and item?

    With `opaque`, two objects of one class that can only be compared by address are
    taken for equal: a copy is.

    >>> same([0.1 + 0.2], [0.3]), same([1], (1,)), same(1, True)
    (True, False, False)
    """
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-12)
    if type(expected) is not type(got):
        return False
    if isinstance(expected, list | tuple):
        pairs = zip(expected, got, strict=False)
        return len(expected) == len(got) and all(
            same(a, b, opaque=opaque) for a, b in pairs
        )
    if isinstance(expected, Mapping):
        return expected.keys() == got.keys() and all(
            same(expected[key], got[key], opaque=opaque) for key in expected
        )
    if isinstance(expected, BaseMessage):  # ids are given by whoever stores a message
        return _without_id(expected) == _without_id(got)
    by_address: Any = object.__eq__
    if opaque and type(expected).__eq__ is by_address:
        return True
    return bool(expected == got)


def _without_id(message: BaseMessage) -> dict[str, Any]:
    return message.model_dump(exclude={"id"})


def _does_nothing(code: CodeType) -> bool:
    """A body of `...`, `pass` or a docstring, or one that still has a `...` in it."""
    if any(const is ... for const in code.co_consts):
        return True
    work = [step for step in dis.get_instructions(code) if step.opname not in _IDLE]
    returned = [const for const in code.co_consts if const is not None]
    has_docstring = bool(returned) and isinstance(returned[0], str)
    return not work and len(returned) <= has_docstring


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a model with a lock, say: shared, as it is everywhere
        return value


def _finished(value: Any) -> Any:
    """Drive a coroutine that waits for nothing; list what a generator yields."""
    if inspect.iscoroutine(value):
        try:
            value.send(None)
        except StopIteration as done:
            return done.value
        finally:
            value.close()
        raise TypeError("waits for something outside; `check` runs no event loop")
    return value


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    nowhere = io.StringIO()
    with (
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _bounded(namespace: Mapping[str, Any] | None) -> Iterator[None]:
    """Raise `TooManyLines` in code of this namespace after `MAX_LINES` lines."""
    lines = 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines > MAX_LINES:
                raise TooManyLines
        return count

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        return count if frame.f_globals is namespace else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def _namespace(answer: Any) -> Mapping[str, Any] | None:
    """The globals an answer was written in."""
    if isinstance(answer, type):
        functions = [f for f in vars(answer).values() if inspect.isfunction(f)]
        return functions[0].__globals__ if functions else None
    function = inspect.unwrap(getattr(answer, "func", answer))
    return getattr(function, "__globals__", None)


def _raised(error: BaseException, answer: Any) -> str:
    """'raised IndexError: list index out of range (line 2 of your code)'."""
    said = f"raised {type(error).__name__}: {brief(error)}".rstrip(": ")
    step, where, namespace = error.__traceback__, "", _namespace(answer)
    while step is not None:
        if namespace is not None and step.tb_frame.f_globals is namespace:
            code = step.tb_frame.f_code
            line = step.tb_lineno - code.co_firstlineno + 1
            where = f" (line {line} of {code.co_name})"
        step = step.tb_next
    return said + where
