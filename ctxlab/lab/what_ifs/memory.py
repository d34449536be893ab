"""What a what-if remembers between runs: counts and digests, by content.

A knob that moves changes decisions, not messages. So a counter that remembers sizes
by content, and a meter that starts with the contents of earlier runs, count each
message once and never again.

>>> from langchain_core.messages import HumanMessage
>>> from ctxlab.tokens import CjkAwareCounter
>>> counter = RememberingCounter(CjkAwareCounter())
>>> counter.message(HumanMessage("once")) == counter.message(HumanMessage("once"))
True

Left out: forgetting; the transcript's bench begins anew when much is held. Lesson:
12_tune_on_a_transcript.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.calibration import AnchoredCalibration, Calibration, Fit, UsageSample
from ctxlab.calibration.anchored import AnchoredTrack
from ctxlab.calibration.samples import Point, usable_point
from ctxlab.chain.fixed import FixedPart
from ctxlab.chain.recent import Recent
from ctxlab.chain.samples import BLOCK, FitBook, learnable, sample_of
from ctxlab.history import History, HistoryMeter
from ctxlab.history.faces import content_key, faces_of
from ctxlab.tokens import TokenCounter

LONGEST_KEY = 200_000  # characters; longer texts are rare, and counted again
UNUSABLE: Point = 0.0, 0.0, ""  # a sample that cannot be meant


class RememberingCounter:
    """A counter that counts the same content once.

    Args:
        counter: Does the counting.

    Attributes:
        held: Characters of the contents it remembers.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self.inner = counter
        self.name = counter.name
        self.held = 0
        self._messages: dict[Any, float] = {}
        self._calls: dict[Any, float] = {}
        self._texts: dict[str, float] = {}

    def __call__(
        self, messages: Sequence[BaseMessage], *, tools: Sequence[Any] | None = None
    ) -> int:
        """Return the tokens of messages and tools."""
        return self.inner(messages, tools=tools)

    def text(self, text: str) -> float:
        """Return the tokens of a text."""
        if len(text) > LONGEST_KEY:
            return self.inner.text(text)
        if text not in self._texts:
            self.held += len(text)
            self._texts[text] = self.inner.text(text)
        return self._texts[text]

    def message(self, message: BaseMessage) -> float:
        """Return the tokens of one message."""
        return self._remembered(self._messages, self.inner.message, message)

    def calls(self, message: BaseMessage) -> float:
        """Return the tokens of a message's calls."""
        return self._remembered(self._calls, self.inner.calls, message)

    def tools(self, tools: Sequence[Any] | None) -> float:
        """Return the tokens of tool schemas."""
        return self.inner.tools(tools)

    def _remembered(
        self, known: dict[Any, float], count: Any, of: BaseMessage
    ) -> float:
        key = content_key(*faces_of([of]))
        if key is None or len(of.content) > LONGEST_KEY:
            return float(count(of))
        if key not in known:
            self.held += len(of.content)
            known[key] = float(count(of))
        return known[key]


class CourseMeter(HistoryMeter):
    """A meter of one run, which follows a conversation that is measured already.

    Whatever the settings, a run has the contents of the recording until a turn fails:
    then every history in it is a beginning of the measured one.

    Args:
        counter: Prices a message.
        course: The conversation as it goes when no turn fails.
        other: The meter that measured it; contents it knows are known here.

    Attributes:
        strayed: The run went another way: what it measures is compared by content.
    """

    def __init__(
        self, counter: TokenCounter, course: History, other: HistoryMeter
    ) -> None:
        super().__init__(counter)
        self._memo = other._memo
        self._course = course.line
        self.strayed = False

    def measure(self, messages: Sequence[BaseMessage]) -> History:
        """Return `messages` measured, with sums and digests."""
        if self.strayed or not isinstance(messages, list):
            return super().measure(messages)
        return History(self._course, messages, len(messages))

    def release(self, history: History) -> None:
        """Hold on: no checkpoint makes new objects here."""


class RunBook(FitBook):
    """The fits of one run: its answers only grow in number, so one track goes along.

    Args:
        calibration: How a fit is made.
        begun: Tracks of this run and others, as they were when a window began.
    """

    def __init__(self, calibration: Calibration, begun: Recent | None = None) -> None:
        super().__init__(calibration)
        self.begun = Recent() if begun is None else begun
        self._samples: list[UsageSample | None] = []  # of each answer
        self._points: list[Point | None] = []  # the same, where a track goes along
        self._anchored = isinstance(calibration, AnchoredCalibration)
        self._track: AnchoredTrack | None = None
        self._learned_from = 0  # answers

    def fit(
        self,
        conversation: str,
        messages: Sequence[BaseMessage],
        history: History,
        fixed_tokens: float,
    ) -> Fit | None:
        """Return what the bills of the run teach."""
        count = history.answer_count
        known = len(self._points if self._anchored else self._samples)
        for index in history.answers(count - known):
            self._read(sample_of(messages[index]), fixed_tokens)
        learned = self._learned(count, fixed_tokens)
        return learned.line() if isinstance(learned, AnchoredTrack) else learned

    def fit_with(
        self, local: int, billed: int, fixed: FixedPart, count: int
    ) -> AnchoredTrack | Fit | None:
        """Return the same after one more answer, number `count`, and its sample.

        A track knows what its line says, as long as nothing more is learned.
        """
        if self._anchored:
            self._points.append((local, billed, fixed.fingerprint))
        else:
            self._samples.append(
                UsageSample(local, billed, fixed.tokens, fixed.fingerprint)
            )
        return self._learned(count, fixed.tokens)

    def _read(self, sample: UsageSample | None, fixed_tokens: float) -> None:
        if not self._anchored:
            self._samples.append(sample)
        elif sample is None:
            self._points.append(None)
        else:
            self._points.append(usable_point(sample, fixed_tokens) or UNUSABLE)

    def _learned(self, count: int, fixed_tokens: float) -> AnchoredTrack | Fit | None:
        rules = self.calibration
        if not count:
            return None
        if not isinstance(rules, AnchoredCalibration):
            samples = learnable(self._samples.__getitem__, count)
            return rules.fit(samples, fixed_tokens=fixed_tokens)
        track, more = self._track, count - self._learned_from
        if track is None or more > 1 or (more and count % BLOCK == 0):
            points = learnable(self._points.__getitem__, count)
            self._track = track = self._begun(rules, fixed_tokens, points)
        elif more:
            _learn(track, self._points[count - 1 : count])
        self._learned_from = count
        return track if track.anchor else None

    def _begun(
        self, rules: AnchoredCalibration, fixed_tokens: float, points: list[Point]
    ) -> AnchoredTrack:
        """Return a track that has learned these; most runs begin with the same."""
        key = rules, fixed_tokens, tuple(points)
        known: AnchoredTrack | None = self.begun.get(key)
        if known is None:
            known = AnchoredTrack(rules, fixed_tokens)
            _learn(known, points)
            self.begun.put(key, known)
        return known.copy()


def _learn(track: AnchoredTrack, points: Iterable[Point | None]) -> None:
    for point in points:
        if point and point is not UNUSABLE:
            track.add_point(point)
