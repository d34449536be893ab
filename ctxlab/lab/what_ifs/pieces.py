r"""What summary prompts are made of, each piece made once: text, size, lines in it.

A prompt is a frame with messages in it, and its messages are in the prompts of every
other setting, too. So each is written as JSON once, and searched once for the lines
that a keeper may keep. What a prompt holds is then what its pieces hold.

>>> from langchain_core.messages import HumanMessage
>>> lines = Lines(["order number A-1177", "due on Friday, 6 June"])
>>> prompt = PiecedPrompt("Summarise. {payload}", lines)
>>> entry = lines.entry(HumanMessage("Mind the order number A-1177."))
>>> made = prompt.messages({"history": [entry]}, language="en", budget=90)
>>> prompt.seen(made), prompt.end(made)[-26:]
(['order number A-1177'], 's.\n\nUse at most 90 tokens.')

Left out: a line of 12 characters or more that begins in one message and ends in
another. Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from ctxlab.history.faces import content_key, faces_of
from ctxlab.lab.writers import fact_text, stands_in
from ctxlab.summaries.entries import Entry, entry
from ctxlab.summaries.prompts import Prompt, as_data

SHORT = 12  # characters; a shorter line may stand in the words around the data
END = "</conversation_data>"
NEWLINE = "\\n"  # in JSON


class Lines:
    """The lines that may be kept, and where they stand.

    Args:
        facts: Texts or planted facts, oldest first.

    Attributes:
        held: Characters of what is remembered.
    """

    def __init__(self, facts: Sequence[Any]) -> None:
        self.facts = facts
        self.held = 0
        self.texts = [fact_text(fact) for fact in facts]
        self.all = range(len(facts))
        self.short = [at for at in self.all if len(self.texts[at]) < SHORT]
        self._broken = [at for at in self.all if NEWLINE in as_data(self.texts[at])]
        self._within: dict[str, frozenset[int]] = {}
        self._entries: dict[Any, Entry] = {}
        self._told: dict[Hashable, tuple[str, int]] = {}  # replies, and their tokens
        # By id of an entry that is kept above: its JSON, and the lines in it.
        self._written: dict[int, str] = {}
        self._inside: dict[int, frozenset[int]] = {}

    def entry(self, message: BaseMessage) -> Entry:
        """Return a message as an entry, always the same for the same content."""
        key = content_key(*faces_of([message]))
        if key is None:
            return entry(message)
        known = self._entries.get(key)
        if known is None:  # another thread may come first: its entry stays, then
            known = self._entries.setdefault(key, entry(message))
            self._written[id(known)] = written = as_data(known)
            self.held += len(written)
        return known

    def told(self, asked: Hashable, tell: Callable[[], tuple[str, int]]) -> Any:
        """Return a keeper's reply and its tokens, having it told once."""
        known = self._told.get(asked)
        if known is None:
            known = self._told[asked] = tell()
            self.held += len(known[0])
        return known

    def written(self, value: Any) -> str | None:
        """Return the JSON of an entry; None for anything else."""
        return self._written.get(id(value))

    def within(self, text: str) -> frozenset[int]:
        """Return which lines stand in a text, searching it once."""
        known = self._within.get(text)
        if known is None:
            known = self._within[text] = self.found(self.all, text)
            self.held += len(text)
        return known

    def within_entry(self, value: Entry) -> frozenset[int] | None:
        """Return which lines stand in the JSON of an entry; None if it is not known."""
        known = self._inside.get(id(value))
        if known is None and (written := self.written(value)):
            known = self._inside[id(value)] = self.found(self.all, written)
        return known

    def within_record(self, text: str) -> frozenset[int]:
        """Return which lines stand in the JSON of a record, searching its lines once.

        Records of many settings have most lines in common.
        """
        return self.found(self._broken, text).union(
            *map(self.within, text.split(NEWLINE))
        )

    def found(self, lines: Iterable[int], text: str) -> frozenset[int]:
        """Return which of these lines stand in a text."""
        return frozenset(at for at in lines if stands_in(self.texts[at], text))


class PiecedPrompt(Prompt):
    """A summary prompt that knows which lines stand in what it made.

    Args:
        template: As for `Prompt`.
        lines: What to look for.
    """

    def __init__(self, template: str, lines: Lines) -> None:
        super().__init__(template, self._written)
        self.lines = lines
        self._passing: dict[int, str] = {}  # JSON of what lives as long as one prompt
        self._near: set[int] = set()  # lines that parts of the span may hold
        # The prompt stands beside what is in it: an id is its own only while it lives.
        self._made: dict[int, tuple[list[BaseMessage], set[int]]] = {}

    def begin(self) -> None:
        """Begin with another span: what comes now is about its messages."""
        self._near = set()

    def entry(self, message: BaseMessage) -> Entry:
        """Return a message of the span as an entry."""
        found = self.lines.entry(message)
        self.meet(found)
        return found

    def meet(self, entry: Entry) -> None:
        """Take down what an entry of the span says."""
        inside = self.lines.within_entry(entry)
        if inside is None:
            inside = self.lines.found(self.lines.all, as_data(entry))
        self._near |= inside

    def messages(
        self, payload: Mapping[str, Any], *, language: str, budget: int, note: str = ""
    ) -> list[BaseMessage]:
        """Return the messages to send for one payload."""
        made = super().messages(payload, language=language, budget=budget, note=note)
        found = {*self.lines.within(self.before), *self.lines.within(self.end(made))}
        for value in payload.values():
            if isinstance(value, list):
                found.update(*map(self._within, value))
            else:
                inside = self.lines.within_record(self._written(value))
                self._near |= inside
                found |= inside
        if self.lines.short:
            found |= self.lines.found(self.lines.short, "\n".join(m.text for m in made))
        self._made[id(made)] = made, found
        self._passing.clear()
        return made

    def _within(self, value: Entry) -> frozenset[int]:
        """Return which lines stand in an entry, or a part of one, or of the summary."""
        known = self.lines.within_entry(value)
        if known is None:
            known = self.lines.found(self._near, self._written(value))
        return known

    def _written(self, value: Any) -> str:
        known = self.lines.written(value) or self._passing.get(id(value))
        if known is None:
            known = self._passing[id(value)] = as_data(value)
        return known

    def seen(self, prompt: list[BaseMessage]) -> list[Any]:
        """Return the facts whose lines stand in a prompt, oldest first."""
        return [self.lines.facts[at] for at in self.lines_in(prompt)]

    def lines_in(self, prompt: list[BaseMessage]) -> tuple[int, ...]:
        """Return which lines stand in a prompt, oldest first."""
        return tuple(sorted(self._made[id(prompt)][1]))

    def end(self, prompt: list[BaseMessage]) -> str:
        """Return what a prompt says behind the data."""
        text = str(prompt[-1].content)
        return text[text.rindex(END) + len(END) :]
