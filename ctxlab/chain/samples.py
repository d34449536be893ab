"""What the bills of earlier answers teach, learned sample by sample.

A sample stands in the metadata of an AI message, as plain JSON. From call to call a
conversation gains an answer or two, so only the newest are read.

Lesson: 07_fit_the_overhead.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.calibration import AnchoredCalibration, Calibration, Fit, UsageSample
from ctxlab.calibration.anchored import AnchoredTrack
from ctxlab.history import History

Sample = TypeVar("Sample")

METADATA_KEY = "ctxlab"
BLOCK = 24
OPENING = 8  # answers among which the first bill is looked for


def entry_of(message: BaseMessage) -> dict[str, Any]:
    """Return what ctxlab wrote into an AI message, or an empty dict."""
    entry = message.response_metadata.get(METADATA_KEY)
    return entry if isinstance(entry, dict) else {}


def sample_in(entry: Mapping[str, Any]) -> UsageSample | None:
    """Return the sample in an entry; None without a bill, or a broken one."""
    if not entry.get("provider_input_tokens"):
        return None
    try:
        return UsageSample.from_json(entry)
    except ValueError:
        return None


def sample_of(answer: BaseMessage) -> UsageSample | None:
    """Return the sample in an answer, if there is one."""
    return sample_in(entry_of(answer))


def answer_tokens(message: BaseMessage) -> float | None:
    """Return what an answer will cost as history: its output less its reasoning."""
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    if not usage or not usage.get("output_tokens"):
        return None
    details = usage.get("output_token_details") or {}
    less = usage["output_tokens"] - max(0, details.get("reasoning") or 0)
    return float(less if less >= 0 else usage["output_tokens"])  # reasoning is on top


def first_to_learn(answers: int) -> int:
    """Return the first of so many answers to learn from.

    The window begins anew every 24 answers, so that between two beginnings one more
    answer only adds to what is known; and it depends on nothing but their number.
    """
    return max(0, (answers // BLOCK - 1) * BLOCK)


@dataclass(frozen=True, slots=True)
class Learned:
    """What a conversation has taught up to its newest answer.

    Attributes:
        count: Number of its answers.
        entry: What ctxlab wrote into the newest of them.
        track: The track that has learned their samples.
    """

    count: int
    entry: Mapping[str, Any]
    track: AnchoredTrack

    def ends(self, count: int, entry: Mapping[str, Any]) -> bool:
        """Return whether this is known up to exactly that answer."""
        if self.count != count:
            return False
        billed = bool(entry.get("provider_input_tokens"))
        return self.entry is entry or (billed and _bill(self.entry) == _bill(entry))


class FitBook:
    """Fits of many conversations that learn on, sample by sample; thread-safe.

    Args:
        calibration: How a fit is made.
        size: Number of conversations to remember; then the book starts afresh.
    """

    def __init__(self, calibration: Calibration, size: int = 1_024) -> None:
        self.calibration = calibration
        self.size = size
        self._known: dict[str, Learned] = {}

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
            samples = samples_to_learn(messages, history, count)
            return self.calibration.fit(samples, fixed_tokens=fixed_tokens)
        *before, newest = [entry_of(messages[index]) for index in history.answers(2)]
        known = self._known.get(conversation)
        if known is None or not known.ends(count, newest):
            track = _one_more(known, count, before, newest)
            if track is None:
                track = AnchoredTrack(self.calibration, fixed_tokens)
                track.learn(samples_to_learn(messages, history, count))
            known = Learned(count, newest, track)
            self._remember(conversation, known)
        return known.track.line(fixed_tokens)

    def _remember(self, conversation: str, known: Learned) -> None:
        if len(self._known) >= self.size:
            self._known = {}
        self._known[conversation] = known


def _one_more(
    known: Learned | None,
    count: int,
    before: list[dict[str, Any]],
    newest: Mapping[str, Any],
) -> AnchoredTrack | None:
    """Return a track that learned the newest answer too, if all before it is known."""
    if known is None or not before or count % BLOCK == 0:
        return None
    if not known.ends(count - 1, before[0]):
        return None
    track = known.track.copy()  # another thread may be asking the one that was known
    if sample := sample_in(newest):
        track.add(sample)
    return track


def _bill(entry: Mapping[str, Any]) -> Hashable:
    """Return what tells the samples of two answers apart."""
    return entry.get("local_input_tokens"), entry.get("provider_input_tokens")


def samples_to_learn(
    messages: Sequence[BaseMessage], history: History, count: int
) -> list[UsageSample]:
    """Return the first sample of all, and those of the window.

    Args:
        messages: The whole history, oldest first.
        history: The same, measured.
        count: Number of its answers.
    """
    answers = history.answers()
    return learnable(lambda at: sample_of(messages[answers[at]]), count)


def learnable(sample: Callable[[int], Sample | None], count: int) -> list[Sample]:
    """Return the first sample of all, and those of the window.

    Args:
        sample: Gives the sample of an answer, if it has one; 0 is the first answer.
        count: Number of answers.
    """
    first = first_to_learn(count)
    early, window = (
        [found for at in places if (found := sample(at))]
        for places in (range(min(first, OPENING)), range(first, count))
    )
    return [*early[:1], *window]
