"""Everything the chain needs to know besides the request: made once per middleware.

Lesson: 10_protect_the_call.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage

from ctxlab.budgets import Budget, budget_for, input_window, output_reserve
from ctxlab.calibration import Calibration
from ctxlab.chain.samples import SampleBook
from ctxlab.history import HistoryMeter
from ctxlab.records import CallRecord, Compaction
from ctxlab.settings import Settings
from ctxlab.summaries import SummaryWriter
from ctxlab.tokens import TokenCounter
from ctxlab.views import ViewMemory

logger = logging.getLogger("ctxlab")


class Recent:
    """A small dictionary that forgets what was unused longest; thread-safe."""

    def __init__(self, size: int = 256) -> None:
        self.size = size
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """Return the value under a key, or None."""
        with self._guard:
            return self._values.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Remember a value; None forgets the key."""
        with self._guard:
            self._values.pop(key, None)
            if value is not None:
                self._values[key] = value
            while len(self._values) > self.size:
                self._values.popitem(last=False)


@dataclass
class Policy:
    """Settings, tools of the trade, and what was learned about models.

    Attributes:
        settings: Every knob, checked.
        counter: Local token counter.
        calibration: From local tokens to the provider's.
        writer: Writes summaries.
        remember: Reuse a view until it must change.
        on_failure: `"answer"` tells the user, `"raise"` raises.
        pin: Messages for which this holds stay verbatim.
        extra_patterns: Further wording of context overflows.
        merge_summary: Put the summary into the first user message behind it.
        shorten_over: Stale results over this size are shortened; None never.
        shorten_exclude: Names of tools whose results are never shortened.
        listeners: Receive a `CallRecord` for every call.
        before_compaction: Receives a `Compaction` before its summary is written.
        after_compaction: Receives a `Compaction` that took place.
    """

    settings: Settings
    counter: TokenCounter
    calibration: Calibration
    writer: SummaryWriter
    remember: bool = True
    on_failure: Literal["answer", "raise"] = "answer"
    pin: Callable[[BaseMessage], bool] | None = None
    extra_patterns: tuple[str, ...] = ()
    merge_summary: bool = False
    shorten_over: int | None = 2_000
    shorten_exclude: tuple[str, ...] = ()
    listeners: list[Callable[[CallRecord], Any]] = field(default_factory=list)
    before_compaction: Callable[[Compaction], Any] | None = None
    after_compaction: Callable[[Compaction], Any] | None = None
    meter: HistoryMeter = field(init=False)
    memory: ViewMemory = field(default_factory=ViewMemory)
    learned_limits: dict[str, int] = field(default_factory=dict)
    samples: SampleBook = field(default_factory=SampleBook)
    rests: Recent = field(default_factory=Recent)
    warned: Recent = field(default_factory=Recent)
    fixed_parts: Recent = field(default_factory=lambda: Recent(64))

    def __post_init__(self) -> None:
        self.meter = HistoryMeter(self.counter)

    def budget(self, request: ModelRequest[Any]) -> Budget:
        """Return limit, trigger and keep for a request."""
        profile = getattr(request.model, "profile", None)
        window, from_profile = input_window(profile, self.settings.max_input_tokens)
        reserve = 0
        if window and from_profile:
            attributes = getattr(request.model, "__dict__", {})
            reserve = output_reserve(window, request.model_settings, attributes)
        learned = self.learned_limits.get(model_name(request.model))
        return budget_for(
            self.settings, window=window, learned=learned, reserve=reserve
        )

    def learn_limit(self, model: Any, limit: int | None) -> None:
        """Remember the limit that an error stated, if it is news."""
        name = model_name(model)
        known = self.learned_limits.get(name)
        if limit and (known is None or limit < known):
            self.learned_limits[name] = limit

    def warn_once(self, conversation: str, cause: str, sentence: str) -> None:
        """Log a warning once per conversation and cause."""
        if not self.warned.get((conversation, cause)):
            self.warned.put((conversation, cause), True)
            logger.warning(sentence)


@dataclass(frozen=True)
class FixedPart:
    """What every request of an agent carries: tokens, and whose they are."""

    system: float
    tools: float
    fingerprint: str

    @property
    def tokens(self) -> float:
        """Tokens of the system message and the tool schemas."""
        return self.system + self.tools


def model_name(model: Any) -> str:
    """Return the name a provider knows a model by, or its class."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(model).__name__


def tool_names(tools: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of tools, of whatever form they are."""
    return tuple(
        str(tool.get("name") or tool.get("function", {}).get("name") or tool)
        if isinstance(tool, Mapping)
        else str(getattr(tool, "name", None) or getattr(tool, "__name__", tool))
        for tool in tools
    )
