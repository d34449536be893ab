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
from ctxlab.history import History

METADATA_KEY = "ctxlab"
BLOCK = 24
OPENING = 8  # answers among which the first bill is looked for


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
        history: History,
        fixed_tokens: float,
    ) -> Fit | None:
        """Return what the bills of a conversation teach.

        Args:
            conversation: Its name, for what is known of it already.
            messages: The whole history, oldest first.
            history: The same, measured.
            fixed_tokens: Today's counted system prompt and tools.
        """
        count = history.answer_count
        if not count:
            return None
        if not isinstance(self.calibration, AnchoredCalibration):
            samples = _window(messages, history, count)
            return self.calibration.fit(samples, fixed_tokens=fixed_tokens)
        answers = [messages[index] for index in history.answers(2)]
        name = conversation, count, _bill(answers[-1])
        track = self._tracks.get(name)
        if track is None:
            track = self._learned(conversation, count, answers)
            if track is None:
                track = AnchoredTrack(self.calibration, fixed_tokens)
                track.learn(_window(messages, history, count))
            self._remember(name, track)
        return track.line(fixed_tokens)

    def _learned(
        self, conversation: str, count: int, answers: list[BaseMessage]
    ) -> AnchoredTrack | None:
        """Return what was known before the newest answer, and its sample learned."""
        if count < 2 or count % BLOCK == 0:
            return None
        before = conversation, count - 1, _bill(answers[0])
        known = self._tracks.pop(before, None)
        if known is None:
            return None
        track = known.copy()  # another thread may be asking the one that was known
        track.learn(_samples(answers[1:]))
        return track

    def _remember(self, name: Hashable, track: AnchoredTrack) -> None:
        if len(self._tracks) >= self.size:
            self._tracks = {}
        self._tracks[name] = track


def _bill(answer: BaseMessage) -> Hashable:
    """Return what tells the samples of two answers apart."""
    entry = entry_of(answer)
    return entry.get("local_input_tokens"), entry.get("provider_input_tokens")


def _window(
    messages: Sequence[BaseMessage], history: History, count: int
) -> list[UsageSample]:
    """Return the samples to learn from: the first of all, and those of the window."""
    first = first_to_learn(count)
    window = _samples(messages[index] for index in history.answers(count - first))
    opening = history.answers()[: min(OPENING, first)]
    return [*_samples(messages[index] for index in opening)[:1], *window]


def _samples(answers: Iterable[BaseMessage]) -> list[UsageSample]:
    found = map(sample_of, answers)
    return [sample for sample in found if sample is not None]
