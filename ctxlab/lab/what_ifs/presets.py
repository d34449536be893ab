"""Configurations to compare with: nothing, ctxlab's defaults, LangChain's rule.

>>> preset("LangChain's rule", window=65_536).settings.counter
'approximate'
>>> preset("nothing", window=65_536).settings is None
True

LangChain's rule is that of its `SummarizationMiddleware`: count characters ÷ 4, learn
from no bill, keep the newest 20 messages. It runs here in ctxlab's middleware, so the
history stays whole; what is compared is the rule. Lesson: 12_tune_on_a_transcript.
"""

from dataclasses import dataclass, field
from typing import Any

from ctxlab.settings import Settings

PRESETS = ("ctxlab's defaults", "LangChain's rule", "nothing")


@dataclass(frozen=True)
class Configuration:
    """Settings with a name, and the rules that are no settings.

    Attributes:
        name: What reports call it.
        settings: Settings of the middleware; None without it.
        rules: Further arguments of the middleware.
    """

    name: str
    settings: Settings | None
    rules: dict[str, Any] = field(default_factory=dict)


def preset(name: str, *, window: int, profile: str = "generic") -> Configuration:
    """Return a configuration by name, for a model with this window.

    Raises:
        ValueError: No preset has this name.
    """
    if name == "nothing":
        return Configuration(name, None)
    if name == "ctxlab's defaults":
        return Configuration(name, Settings(max_input_tokens=window, profile=profile))
    if name == "LangChain's rule":
        settings = Settings(
            keep=("messages", 20),
            counter="approximate",
            use_reported_usage=False,
            overhead_tokens=0,
            max_input_tokens=window,
        )
        return Configuration(name, settings, {"shorten_results": None})
    raise ValueError(f"no preset is named {name!r}; there are: {', '.join(PRESETS)}")
