"""Samples of earlier answers, each read once.

A sample stands in the metadata of an AI message, as plain JSON. Within a run the
same message objects come by at every call, so what was read is kept beside them.

Lesson: 07_fit_the_overhead.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.calibration import AnchoredCalibration, Calibration, Fit, UsageSample
from ctxlab.calibration.anchored import AnchoredTrack

METADATA_KEY = "ctxlab"
BLOCK = 24


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


def first_to_learn(answers: int) -> int:
    """Return the first of so many answers to learn from.

    The window begins anew every 24 answers, so that between two beginnings one more
    answer only adds to what is known; and it depends on nothing but their number.
    """
    return max(0, (answers // BLOCK - 1) * BLOCK)


class FitBook:
    """Fits that learn on, sample by sample, within a run; thread-safe.

    Args:
        size: Number of conversations to remember; then the book starts afresh.
    """

    def __init__(self, size: int = 256) -> None:
        self.size = size
        # The samples stand beside their track, so that their ids stay their own.
        self._tracks: dict[tuple[int, ...], tuple[AnchoredTrack, Any]] = {}

    def fit(
        self,
        calibration: Calibration,
        samples: Sequence[UsageSample],
        fixed_tokens: float,
    ) -> Fit | None:
        """Return what a calibration learns from these samples, oldest first."""
        if not isinstance(calibration, AnchoredCalibration) or not samples:
            return calibration.fit(samples, fixed_tokens=fixed_tokens)
        return self._track(calibration, samples, fixed_tokens).line(fixed_tokens)

    def _track(
        self,
        calibration: AnchoredCalibration,
        samples: Sequence[UsageSample],
        fixed_tokens: float,
    ) -> AnchoredTrack:
        known = self._tracks.get(_name(samples))
        if known:
            return known[0]
        before = self._tracks.pop(_name(samples[:-1]), None) if samples[1:] else None
        if before:
            track = before[0].copy()
            track.add(samples[-1])
        else:
            track = AnchoredTrack(calibration, fixed_tokens)
            for sample in samples:
                track.add(sample)
        if len(self._tracks) > self.size:
            self._tracks = {}
        self._tracks[_name(samples)] = track, (samples[0], samples[-1])
        return track


def _name(samples: Sequence[UsageSample]) -> tuple[int, ...]:
    return id(samples[0]), id(samples[-1]), len(samples)
