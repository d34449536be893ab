"""CPU time of a middleware's hooks, less what the models behind them take.

`timed` swaps the class of a middleware for a subclass whose hooks start the watch and
stop it again while the handler runs. Only the CPU time of the thread that runs the
hook counts, so neither waiting nor LangGraph's background writes get into it.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain.agents.middleware import AgentMiddleware

PLAIN = ("before_agent", "before_model", "after_model", "after_agent")
AROUND = ("wrap_model_call", "wrap_tool_call")
FINE = 1e-6  # seconds; some systems count a thread's time in steps of 16 ms


def cpu_clock() -> Callable[[], int]:
    """Return the thread's CPU clock, in nanoseconds; else a clock on the wall."""
    fine = time.get_clock_info("thread_time").resolution <= FINE
    return time.thread_time_ns if fine else time.perf_counter_ns


class Stopwatch:
    """Nanoseconds of every model call: a lap begins with the peer's first hook.

    Args:
        now: The clock, in nanoseconds.

    Attributes:
        laps: Nanoseconds by model call, oldest first.
    """

    def __init__(self, now: Callable[[], int] | None = None) -> None:
        self.laps: list[int] = []
        self._now = now or cpu_clock()
        self._on = False
        self._since = 0
        self._thread: int | None = None

    def lap(self) -> None:
        """Begin a new model call."""
        self.laps.append(0)

    @contextmanager
    def running(self, on: bool) -> Iterator[None]:
        """Run, or stand still, inside the block; then as before."""
        if not on and threading.get_ident() != self._thread:
            yield  # a helper thread's time is not counted anyway
            return
        before = self._on
        self._switch(on)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, on: bool) -> None:
        now = self._now()
        if self._on:
            self.laps[-1] += now - self._since
        self._on, self._since, self._thread = on, now, threading.get_ident()


def timed(middlewares: Sequence[Any], watch: Stopwatch) -> list[Any]:
    """Return the same middlewares, their sync hooks on the watch."""
    leading = True
    for middleware in middlewares:
        leading = not _instrument(middleware, watch, leading) and leading
    return list(middlewares)


def _instrument(middleware: Any, watch: Stopwatch, leading: bool) -> bool:
    """Put the hooks that a class overrides on the watch; say if one begins laps."""
    kind = type(middleware)
    own = [
        name
        for name in (*PLAIN, *AROUND)
        if getattr(kind, name) is not getattr(AgentMiddleware, name)
    ]
    per_call = [n for n in ("before_model", "wrap_model_call") if n in own]
    hooks = {}
    for name in own:
        begins = leading and name == next(iter(per_call), None)
        wrap = _around if name in AROUND else _plain
        hooks[name] = wrap(getattr(kind, name), watch, begins)
    middleware.__class__ = type(kind.__name__, (kind,), hooks)
    return bool(per_call)


def _plain(hook: Any, watch: Stopwatch, begins: bool) -> Any:
    def timed_hook(self: Any, state: Any, runtime: Any) -> Any:
        if begins or not watch.laps:
            watch.lap()
        with watch.running(True):
            return hook(self, state, runtime)

    # LangGraph reads where a hook may jump to from an attribute of the function.
    timed_hook.__dict__.update(hook.__dict__)
    return timed_hook


def _around(hook: Any, watch: Stopwatch, begins: bool) -> Any:
    def timed_hook(self: Any, request: Any, handler: Any) -> Any:
        def behind(changed: Any) -> Any:
            with watch.running(False):
                return handler(changed)

        if begins or not watch.laps:
            watch.lap()
        with watch.running(True):
            return hook(self, request, behind)

    return timed_hook
