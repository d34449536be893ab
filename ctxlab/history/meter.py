"""Find again what was measured before, so that only what is new is counted.

Within a run the objects say it: if the new list starts with the messages of a known
line, that line is extended. A checkpoint gives back new objects; then their contents
are compared with those of known lines, and the longest common beginning is taken over.

>>> from langchain_core.messages import HumanMessage
>>> from ctxlab.tokens import ApproximateCounter
>>> meter = HistoryMeter(ApproximateCounter())
>>> before = meter.measure([HumanMessage("one"), HumanMessage("two")])
>>> edited = meter.measure([before.messages[0], HumanMessage("two or three")])
>>> edited.tokens(), before.tokens()
(12.0, 10.0)

Left out here: a message changed in place; LangGraph replaces messages, and so should
you. Lesson: 09_summarize_the_request_only.
"""

import threading
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from ctxlab.history.contents import Memo, MessageCounter, Size
from ctxlab.history.faces import Face, faces_of
from ctxlab.history.lines import History, Line

_EDITED_FROM = 4  # lines compared message by message to find an edited one


class HistoryMeter:
    """Measures conversations, and what it has measured before costs almost nothing.

    Safe to share between threads and between conversations.

    Args:
        counter: Prices a message; any of `ctxlab.tokens`.
        max_histories: Conversations kept for comparison; the oldest is let go.
        max_characters: Bound on the contents remembered, in characters.

    Raises:
        ValueError: A bound is not at least 1.
    """

    def __init__(
        self,
        counter: MessageCounter,
        max_histories: int = 64,
        max_characters: int = 20_000_000,
    ) -> None:
        for name, bound in (
            ("max_histories", max_histories),
            ("max_characters", max_characters),
        ):
            if bound < 1:
                raise ValueError(f"{name} must be at least 1, got {bound}.")
        self._memo = Memo(counter, max_characters)
        self._max_histories = max_histories
        self._lines: list[Line] = []  # newest last, none of them empty
        self._lock = threading.Lock()

    def measure(self, messages: Sequence[BaseMessage]) -> History:
        """Return `messages` measured, with sums and digests."""
        own = messages if isinstance(messages, list) else list(messages)
        first = own[0] if own else None
        for line in reversed(self._lines):
            objects = line.objects
            if objects and objects[0] is first and _same_objects(objects, own):
                return self._went_on(line, objects, own)
        return self._reloaded(list(own))  # not the caller's, whose list may change

    def release(self, history: History) -> None:
        """Hold no message of a history any longer; what they contain stays known.

        After a run nobody comes back with these objects: a checkpoint makes new ones.
        """
        history.release()

    def _went_on(
        self, line: Line, objects: list[BaseMessage], own: list[BaseMessage]
    ) -> History:
        """Return the history of a run that has grown, or is looked back at."""
        known = len(objects)
        new = own[known:]
        if not new:
            return History(line, objects, len(own))
        faces = faces_of(new)
        sizes = self._memo.count(new, faces)
        with self._lock:
            if line.objects is objects and len(objects) == known == len(line.faces):
                line.grow(faces, sizes)
                objects += new
                self._keep(line)
                return History(line, objects, len(own))
        return self._reloaded(list(own))  # somebody else went on, or went back

    def _reloaded(self, own: list[BaseMessage]) -> History:
        """Return the history of objects that are new, whatever they contain."""
        faces = faces_of(own)
        line, length = _longest_common(self._lines, faces)
        new, faces = own[length:], faces[length:]
        went_on = line is not None and length == len(line.faces)
        sizes = (self._memo.count if went_on else self._memo.sizes)(new, faces)
        with self._lock:
            if line is not None and length == len(line.faces):
                line.grow(faces, sizes)
            else:
                line = self._beside(line, length, faces, sizes)
            line.objects = own
            if own:
                self._keep(line)
        return History(line, own, len(own))

    def _beside(
        self, line: Line | None, length: int, faces: list[Face], sizes: list[Size]
    ) -> Line:
        """Return a line whose first `length` contents are shared, and then these."""
        if line is None:
            return Line(self._memo, faces, sizes)
        # Without further contents it is the beginning of that line.
        return line.fork(length, faces, sizes) if faces else line

    def _keep(self, line: Line) -> None:
        """Make `line` the newest."""
        if not self._lines or self._lines[-1] is not line:
            others = [other for other in self._lines if other is not line]
            self._lines = [*others, line][-self._max_histories :]


def _same_objects(known: list[BaseMessage], own: list[BaseMessage]) -> bool:
    """Tell whether one of two lists, which begin alike, begins with all of the other.

    Comparing lists passes over identical objects at 1 ns each, `is` in a loop at 20.
    `<=` does so for lists of different lengths as well, and compares two messages for
    order, which they do not have, as soon as they differ. Equal messages count as the
    same; to Python an argument 1 equals True and 1.0.
    """
    last = min(len(known), len(own)) - 1
    if known[last] is not own[last]:
        return False
    try:
        return known <= own if len(known) <= len(own) else own <= known
    except TypeError:
        return False


def _longest_common(lines: list[Line], faces: list[Face]) -> tuple[Line | None, int]:
    """Return the line that shares most first contents with these, and how many."""
    if lines and lines[-1].faces == faces[: len(lines[-1].faces)]:
        return lines[-1], len(lines[-1].faces)  # the newest has gone on, as most do
    related = [line for line in reversed(lines) if line.faces[:1] == faces[:1]]
    related.sort(key=lambda line: len(line.faces), reverse=True)
    for line in related:
        length = min(len(line.faces), len(faces))
        ends_alike = line.faces[length - 1] == faces[length - 1]  # most differ here
        if ends_alike and line.faces[:length] == faces[:length]:
            return line, length
    best, longest = None, 0
    for line in related[:_EDITED_FROM]:
        length = _common(line.faces, faces)
        if length > longest:
            best, longest = line, length
    return best, longest


def _common(known: list[Face], faces: list[Face]) -> int:
    """Return how many first contents two lists share."""
    shorter = min(len(known), len(faces))
    pairs = enumerate(zip(known, faces, strict=False))
    return next((at for at, (old, new) in pairs if old != new), shorter)
