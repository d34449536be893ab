"""The knobs of the tuner: a few numbers that become settings, and text to take home.

>>> knobs = Knobs(window=32_768)
>>> knobs.settings().trigger, knobs.changed(keep=8_000).settings().keep
(('tokens', 49152), ('tokens', 8000))
>>> knobs.changed(keep=60_000).fault()[:44]
'keep is 60000 tokens and trigger is 49152 to'

Left out: triggers in messages and fractions (write them into the YAML). Lesson:
12_tune_on_a_transcript.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ctxlab.budgets import budget_for
from ctxlab.lab.what_ifs.presets import Configuration
from ctxlab.lab.what_ifs.suggested import Suggestion
from ctxlab.settings import Settings

COUNTERS = ("script", "cjk", "approximate")
SHORTEN = (None, 500, 1_000, 2_000, 4_000, 8_000)
WITHOUT_KNOB = (
    *("enabled", "cjk_chars_per_token", "latin_chars_per_token"),
    *("model_name", "summary_prompt"),
)
MODEL = '"provider:your-summary-model"'


@dataclass(frozen=True)
class Knobs:
    """Where the knobs of the panel stand; sizes in tokens.

    Attributes:
        trigger: When to compact.
        keep: Size of the request after a compaction.
        window: The model's window for input.
        counter: Name of the counter.
        shorten: Stale results over this size are shortened; None never.
        chunk: Largest piece of history in one summary call.
        overhead: Assumed for what cannot be counted, until the first bill.
        reported: Learn from the provider's bills.
        profile: Weights of the script counter.
        others: Settings that have no knob; they go into every export.
    """

    trigger: int = 49_152
    keep: int = 24_000
    window: int = 65_536
    counter: str = "script"
    shorten: int | None = 2_000
    chunk: int = 12_000
    overhead: int = 4_000
    reported: bool = True
    profile: str = "generic"
    others: Mapping[str, Any] = field(default_factory=dict)

    def changed(self, **changes: Any) -> "Knobs":
        """Return knobs with some of them moved."""
        return replace(self, **changes)

    def settings(self) -> Settings:
        """Return the settings that the knobs stand for.

        Raises:
            ValueError: They contradict each other.
        """
        return Settings(
            **self.others,
            trigger=("tokens", self.trigger),
            keep=("tokens", self.keep),
            summary_chunk_tokens=self.chunk,
            overhead_tokens=self.overhead,
            use_reported_usage=self.reported,
            counter=self.counter,
            profile=self.profile,
            max_input_tokens=self.window,
        )

    def fault(self, billed: int = 0) -> str:
        """Return what is wrong with the knobs; "" when nothing is.

        Args:
            billed: Tokens that the provider bills beside the messages of a request.
        """
        if self.window <= billed:
            return (
                f"window is {self.window:,} tokens and {billed:,} are billed on every "
                "request beside its messages: no room is left; choose a larger window"
            )
        try:
            self.settings()
        except ValueError as error:
            return str(error)
        return ""

    def configuration(self) -> Configuration:
        """Return settings and rules to try."""
        return Configuration(
            "yours", self.settings(), {"shorten_results": self.shorten}
        )

    def lines(self) -> dict[str, int]:
        """Return trigger, keep and limit as they hold, to be drawn as lines."""
        return lines_of(self.settings(), self.window)

    def to_yaml(self) -> str:
        """Return the settings as YAML; what is no setting is said in a comment."""
        said = f"# middleware argument, no setting: shorten_results={self.shorten}\n"
        return (said if self.shorten != Knobs().shorten else "") + (
            self.settings().to_yaml()
        )

    def to_python(self) -> str:
        """Return the code that builds the middleware."""
        extra = (
            f",\n    shorten_results={self.shorten}"
            if self.shorten != Knobs().shorten
            else ""
        )
        settings = self.settings().to_python().replace("\n", "\n    ")
        return (
            "from ctxlab import RequestOnlySummarizationMiddleware, Settings\n\n"
            "middleware = RequestOnlySummarizationMiddleware.from_settings(\n"
            f"    {MODEL},\n    {settings}{extra},\n)\n"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the knobs by name."""
        return asdict(self)


def lines_of(settings: Settings | None, window: int) -> dict[str, int]:
    """Return the levels to draw: trigger and keep as they hold, and the limit."""
    if settings is None:
        return {"limit": window}
    budget = budget_for(settings, window=window, learned=None)
    lines = {"trigger": budget.trigger_tokens or window}
    if budget.keep_messages is None:
        lines["keep"] = budget.keep_tokens
    return {**lines, "limit": window}


def first_knobs(settings: Settings | None, window: int, bill: Suggestion) -> Knobs:
    """Return where the knobs stand at first, for a model with this window.

    Raises:
        ValueError: Settings that the knobs cannot show: sizes in messages, fractions.
    """
    if settings is None:
        trigger = min(49_152, int(0.85 * window))
        settings = Settings(trigger=("tokens", trigger), profile=bill.profile)
    sizes = settings.trigger, settings.keep
    if not all(isinstance(size, tuple) and size[0] == "tokens" for size in sizes):
        raise ValueError(
            f"trigger is {settings.trigger!r} and keep is {settings.keep!r}: the knobs "
            "show sizes in tokens; compare others with `compared`"
        )
    trigger, keep = (int(size[1]) for size in sizes)  # type: ignore[index,arg-type]
    return Knobs(
        trigger=trigger,
        keep=keep,
        window=settings.max_input_tokens or window,
        counter=settings.counter,
        chunk=settings.summary_chunk_tokens,
        overhead=settings.overhead_tokens,
        reported=settings.use_reported_usage,
        profile=settings.profile,
        others={name: getattr(settings, name) for name in WITHOUT_KNOB},
    )
