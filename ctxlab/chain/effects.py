"""What the chain may wish for. It does no I/O itself: a driver grants each wish.

A wish is *yielded*; its result is sent back in, or its exception thrown in. So the
same decisions serve a sync agent, an async one, and a panel without any model.
`WriteSummaries` stands with the writer, in `ctxlab.summaries`.

Lesson: 10_protect_the_call.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware import ModelRequest

from ctxlab.summaries import WriteSummaries
from ctxlab.views import WriterLock


@dataclass(frozen=True)
class CallModel:
    """Send this request; the answer is a `ModelResponse`."""

    request: ModelRequest[Any]


@dataclass(frozen=True)
class Load:
    """Look a remembered value up; the answer is a dict, or None."""

    key: str


@dataclass(frozen=True)
class Save:
    """Remember a plain JSON value beyond this process; the answer is None."""

    key: str
    value: dict[str, Any]


@dataclass(frozen=True)
class Acquire:
    """Wait until no other writer summarises this conversation; then hold the lock."""

    lock: WriterLock


@dataclass(frozen=True)
class Notify:
    """Tell a listener, which may be async; what it raises is logged, not raised."""

    listener: Callable[[Any], Any]
    value: Any


Effect = CallModel | WriteSummaries | Load | Save | Acquire | Notify
Flow = Generator[Effect, Any, Any]
