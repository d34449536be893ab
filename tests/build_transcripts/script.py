"""Read a script: turns, calls, results and facts marked in place.

A marker opens an entry, which runs to the next marker:

    U> what the user says
    T> what the assistant says along with the calls that follow
    C> tool ¦ first argument ¦ second argument     (a call; the entry is its result)
    &> tool ¦ first argument                       (in parallel to the call before)
    A> the answer that ends the turn

A fact is marked where it stands: ``⟦c:never touch the ledger table⟧``. The mark goes,
the text stays, and the transcript lists it with the index of its message.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

KINDS = {
    "c": "constraint",
    "i": "identifier",
    "f": "failed_attempt",
    "a": "artefact",
    "u": "unverified",
}
_MARKER = re.compile(r"^([UTCA&])> ?(.*)$")
_FACT = re.compile(r"⟦([cifau]):(.+?)⟧", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """One marked entry: its marker, the rest of its line, and the lines below."""

    marker: str
    head: str
    body: str

    @property
    def text(self) -> str:
        """Head and body as one text."""
        return f"{self.head}\n{self.body}".strip()


class Workbench(Protocol):
    """Plays a call: the script's body in, arguments and result out."""

    def play(
        self, tool: str, args: dict[str, Any], body: str
    ) -> tuple[dict[str, Any], str]: ...

    def expand(self, text: str) -> str: ...


class PlainWorkbench:
    """Every result stands in the script as it is."""

    def play(
        self, tool: str, args: dict[str, Any], body: str
    ) -> tuple[dict[str, Any], str]:
        """Arguments and result, unchanged."""
        return args, body

    def expand(self, text: str) -> str:
        """The text, unchanged."""
        return text


def entries(script: str) -> Iterator[Entry]:
    """The entries of a script, in order; lines before the first marker are notes."""
    marker, head, body = "", "", list[str]()
    for line in [*script.splitlines(), "U> "]:
        found = _MARKER.match(line)
        if found is None:
            body.append(line)
            continue
        if marker:
            yield Entry(marker, head.strip(), "\n".join(body).strip("\n"))
        marker, head, body = found[1], found[2], []


class Player:
    """Turns entries into the messages and facts of a transcript."""

    def __init__(self, tools: list[dict[str, Any]], workbench: Workbench) -> None:
        self.messages: list[dict[str, Any]] = []
        self.facts: list[dict[str, Any]] = []
        self._schemas = {tool["name"]: tool["parameters"] for tool in tools}
        self._workbench = workbench
        self._said = ""
        self._batch: list[Entry] = []
        self._calls = 0

    def play(self, script: str) -> None:
        """Play a whole script."""
        for entry in entries(script):
            if entry.marker != "&":
                self._flush()
            if entry.marker in "C&":
                self._batch.append(entry)
            elif entry.marker == "T":
                self._said = entry.text
            else:
                kind = {"U": "human", "A": "ai"}[entry.marker]
                self._add(type=kind, content=self._workbench.expand(entry.text))
        self._flush()

    def _flush(self) -> None:
        if not self._batch:
            return
        calls, results = [], []
        for entry in self._batch:
            call, result = self._call(entry)
            calls.append(call)
            results.append(result)
        self._add(type="ai", content=self._said, tool_calls=calls)
        for call, result in zip(calls, results, strict=True):
            self._add(
                type="tool", content=result, tool_call_id=call["id"], name=call["name"]
            )
        self._batch, self._said = [], ""

    def _call(self, entry: Entry) -> tuple[dict[str, Any], str]:
        tool, *values = [part.strip() for part in entry.head.split("¦")]
        properties = self._schemas[tool]["properties"]
        named = zip(properties.items(), values, strict=False)
        args = {key: _typed(value, schema) for (key, schema), value in named if value}
        args, result = self._workbench.play(tool, args, entry.body)
        self._calls += 1
        return {"name": tool, "args": args, "id": f"call_{self._calls:04d}"}, result

    def _add(self, **message: Any) -> None:
        index = len(self.messages)
        for mark, text in _FACT.findall(message["content"]):
            self.facts.append({"kind": KINDS[mark], "text": text, "message": index})
        message["content"] = _FACT.sub(lambda found: found[2], message["content"])
        self.messages.append(message)


def _typed(value: str, schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "integer":
        return int(value)
    if kind == "boolean":
        return value == "true"
    return value.split(",") if kind == "array" else value
