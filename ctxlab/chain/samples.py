"""What the bills of earlier answers teach, learned sample by sample.

A sample stands in the metadata of an AI message, as plain JSON. From call to call a
conversation gains an answer or two, so only the newest are read.

Lesson: 07_fit_the_overhead.
"""

from collections.abc import Hashable, Iterable, Sequence
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


def first_to_learn(answers: int) -> int:
    """Return the first of so many answers to learn from.

    The window begins anew every 24 answers, so that between two beginnings one more
    answer only adds to what is known; and it depends on nothing but their number.
    """
    return max(0, (answers // BLOCK - 1) * BLOCK)


class FitBook:
    """Fits of many conversations that learn on, sample by sample; thread-safe.

    Args:
        calibration: How a fit is made.
        size: Number of fits to remember; then the book starts afresh.
    """

    def __init__(self, calibration: Calibration, size: int = 1_024) -> None:
        self.calibration = calibration
        self.size = size
        self._tracks: dict[Hashable, AnchoredTrack] = {}

    def fit(
        self,
        conversation: str,
        messages: Sequence[BaseMessage],
        answers: Sequence[int],
        fixed_tokens: float,
    ) -> Fit | None:
        """Return what the bills of a conversation teach.

        Args:
            conversation: Its name, for what is known of it already.
            messages: The whole history, oldest first.
            answers: Indices of the answers that may carry a sample.
            fixed_tokens: Today's counted system prompt and tools.
        """
        if not answers:
            return None
        if not isinstance(self.calibration, AnchoredCalibration):
            samples = _samples(messages, _window(answers))
            return self.calibration.fit(samples, fixed_tokens=fixed_tokens)
        name = _name(conversation, messages, answers)
        track = self._tracks.get(name)
        if track is None:
            track = self._learned(conversation, messages, answers, fixed_tokens)
            self._remember(name, track)
        return track.line(fixed_tokens)

    def _learned(
        self,
        conversation: str,
        messages: Sequence[BaseMessage],
        answers: Sequence[int],
        fixed_tokens: float,
    ) -> AnchoredTrack:
        """Learn one sample more than is known, or all of the window."""
        if len(answers) > 1 and len(answers) % BLOCK:
            before = _name(conversation, messages, answers[:-1])
            known = self._tracks.pop(before, None)
            if known:
                return _taught(known.copy(), _samples(messages, answers[-1:]))
        track = AnchoredTrack(self.calibration, fixed_tokens)  # type: ignore[arg-type]
        return _taught(track, _samples(messages, _window(answers)))

    def _remember(self, name: Hashable, track: AnchoredTrack) -> None:
        if len(self._tracks) >= self.size:
            self._tracks = {}
        self._tracks[name] = track


def _name(
    conversation: str, messages: Sequence[BaseMessage], answers: Sequence[int]
) -> Hashable:
    """Return what a fit is known by: how many answers, and the newest bill."""
    entry = entry_of(messages[answers[-1]])
    bill = entry.get("local_input_tokens"), entry.get("provider_input_tokens")
    return conversation, len(answers), bill


def _window(answers: Sequence[int]) -> list[int]:
    """Return the answers to learn from: the first of all, and those of the window."""
    first = first_to_learn(len(answers))
    return [*answers[: min(1, first)], *answers[first:]]


def _samples(
    messages: Sequence[BaseMessage], places: Iterable[int]
) -> list[UsageSample]:
    found = [sample_of(messages[place]) for place in places]
    return [sample for sample in found if sample is not None]


def _taught(track: AnchoredTrack, samples: Iterable[UsageSample]) -> AnchoredTrack:
    for sample in samples:
        track.add(sample)
    return track
