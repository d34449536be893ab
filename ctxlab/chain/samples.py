"""Samples of earlier answers, each read once.

A sample stands in the metadata of an AI message, as plain JSON. Within a run the
same message objects come by at every call, so what was read is kept beside them.

Lesson: 07_fit_the_overhead.
"""

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.calibration import UsageSample

METADATA_KEY = "ctxlab"


def entry_of(message: BaseMessage) -> dict[str, Any]:
    """Return what ctxlab wrote into an AI message, or an empty dict."""
    entry = message.response_metadata.get(METADATA_KEY)
    return entry if isinstance(entry, dict) else {}


def sample_of(message: BaseMessage) -> UsageSample | None:
    """Return the sample in an AI message; None without a bill, or a broken one."""
    entry = entry_of(message)
    if not entry.get("provider_input_tokens"):
        return None
    try:
        return UsageSample.from_json(entry)
    except ValueError:
        return None


class SampleBook:
    """Samples by message object; bounded, safe to share between threads.

    Args:
        size: Number of messages to remember; then the book starts afresh.
    """

    def __init__(self, size: int = 8_192) -> None:
        self.size = size
        # The message stands beside its sample: an id is its own only while it lives.
        self._known: dict[int, tuple[BaseMessage, UsageSample | None]] = {}

    def samples(self, messages: Iterable[BaseMessage]) -> list[UsageSample]:
        """Return the samples of these messages, in order."""
        if len(self._known) > self.size:
            self._known = {}
        known = self._known
        found = []
        for message in messages:
            entry = known.get(id(message))
            if entry is None:
                entry = known[id(message)] = (message, sample_of(message))
            if entry[1] is not None:
                found.append(entry[1])
        return found
