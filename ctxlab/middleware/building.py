"""From settings to the parts of a middleware: its counter, its writer."""

import difflib
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from ctxlab.chain import Rules
from ctxlab.middleware.builtin import NEW_NAMES
from ctxlab.overflow import is_context_overflow
from ctxlab.settings import Settings
from ctxlab.summaries import HANDOFF_PROMPT, SummaryWriter
from ctxlab.tokens import (
    ApproximateCounter,
    CjkAwareCounter,
    ScriptCounter,
    TokenCounter,
)

COUNTER_FIELDS = {"counter", "profile", "cjk_chars_per_token", "latin_chars_per_token"}


def counter_from(settings: Settings) -> TokenCounter:
    """Return the counter that the settings name."""
    if settings.counter == "cjk":
        return CjkAwareCounter(
            cjk_chars_per_token=settings.cjk_chars_per_token,
            latin_chars_per_token=settings.latin_chars_per_token,
        )
    if settings.counter == "approximate":
        return ApproximateCounter()
    return ScriptCounter(profile=settings.profile)


def writer_from(
    model: Any,
    settings: Settings,
    counter: TokenCounter,
    fallback_models: Sequence[Any] = (),
    redact: Callable[[str], str] | None = None,
) -> SummaryWriter:
    """Return the writer that the arguments describe; a given one is used as it is.

    Raises:
        ValueError: A writer is given together with what it would already hold.
    """
    if isinstance(model, SummaryWriter):
        _check_alone(fallback_models, redact, settings.summary_prompt)
        return model
    return SummaryWriter(
        model,
        fallback_models=tuple(fallback_models),
        prompt=settings.summary_prompt or HANDOFF_PROMPT,
        counter=counter,
        chunk_tokens=settings.summary_chunk_tokens,
        redact=redact,
        is_overflow=is_context_overflow,
    )


def _check_alone(*given: Any) -> None:
    if any(given):
        raise ValueError(
            "model is a SummaryWriter: give fallback_models, redact and summary_prompt "
            "to it, not to the middleware"
        )


def known_rules(rules: Rules, middleware: type) -> Rules:
    """Return the rules; say which argument does not exist, and which was meant.

    Raises:
        TypeError: A name is neither an argument of the middleware nor a rule.
    """
    unknown = sorted(set(rules) - set(Rules.__annotations__))
    if not unknown:
        return rules
    named = [name for name in signature(middleware).parameters if name != "rules"]
    known = [*named, *Rules.__annotations__]
    for name in unknown:
        meant = [new for old, (new, _) in NEW_NAMES.items() if old == name]
        meant += difflib.get_close_matches(name, known, n=1, cutoff=0.7)
        hint = f": did you mean {meant[0]!r}?" if meant else "."
        raise TypeError(
            f"{middleware.__name__} has no argument {name!r}{hint} "
            "Its docstring lists them, and ctxlab.chain.Rules its rules"
        )
    return rules
