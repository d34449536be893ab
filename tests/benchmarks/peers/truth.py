"""What the provider of the round counts: the tokens of o200k, by the real tokenizer.

A peer with an exact counter runs the tokenizer over what it is given, as the packages'
own documentation shows. The provider counts the same, but remembers texts: its time is
nobody's. Without the package `bpe-openai` both count UTF-8 bytes / 3 instead, which
costs an exact counter next to nothing: the report says by what was billed.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.lab.billing import MEDIA_TOKENS, TrueCount, bytes_over_three
from ctxlab.lab.sent import as_json, media_count, sent_text

FRAME = 3  # tokens a message
REMEMBERED = 20_000  # texts


@cache
def tokenizer() -> Callable[[str], int] | None:
    """Return the count of o200k, or None where it is not installed."""
    # The package reads its tables in a way that Python has deprecated.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        try:
            import bpe_openai
        except ImportError:
            return None
        encoding = bpe_openai.get_encoding("o200k_base")
    return lambda text: len(encoding.encode_ordinary(text))


def billed_by() -> str:
    """Return the name of what is billed by."""
    return "o200k" if tokenizer() else "bytes / 3"


def _by_text(count: Callable[[str], int]) -> TrueCount:
    def true_count(
        messages: Sequence[BaseMessage], *, tools: Sequence[Any] | None = None
    ) -> float:
        texts = [sent_text(message) for message in messages]
        if tools:
            texts.append(as_json(list(tools)))
        media = sum(map(media_count, messages))
        framing = FRAME * len(messages) + MEDIA_TOKENS * media
        return float(sum(map(count, texts)) + framing)

    return true_count


@cache
def exact_count() -> TrueCount:
    """Return the provider's count as a peer can have it: nothing is remembered."""
    count = tokenizer()
    return _by_text(count) if count else bytes_over_three


@cache
def true_count() -> TrueCount:
    """Return the provider's count, which remembers texts."""
    count = tokenizer()
    return _by_text(lru_cache(REMEMBERED)(count)) if count else bytes_over_three
