"""A recorded conversation with the facts that must not get lost.

A transcript holds messages, tool schemas, the system prompt, and planted facts:
exact texts that stand in a message, by class. It is what a replay replays, and
what the tuner and the benchmarks measure on.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> chat = [HumanMessage("My order is A-17."), AIMessage("Noted.")]
>>> fact = Fact(kind="identifier", text="A-17", message=0)
>>> transcript = Transcript(chat, facts=[fact], name="tiny")
>>> transcript.messages[1].id
'tiny-0001'
>>> [found.text for found in transcript.facts_in(transcript.messages[:1])]
['A-17']

Own files are strict (`transcript_format.py`): an error names file and place. Imported
threads are taken as they are (`importers.py`). Lesson: 12_tune_on_a_transcript.
"""

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from ctxlab._data import data_path
from ctxlab.lab.importers import Source, import_conversation, one_line
from ctxlab.lab.sent import sent_text
from ctxlab.lab.transcript_format import (
    FORMAT,
    VERSION,
    Fact,
    TranscriptFile,
    message_of,
    message_record,
)
from ctxlab.lab.turns import Turn, split_turns
from ctxlab.summaries import language_of

__all__ = [
    "Fact",
    "Transcript",
    "load_transcript",
    "save_transcript",
    "transcript_names",
]


@dataclass(frozen=True)
class Transcript:
    """A conversation, oldest message first, with fixed ids.

    Args:
        messages: The conversation without the system prompt. A message without an
            id, or with one used before, gets `name-0007` for its place 7.
        tools: `{"name", "description", "parameters"}`, or tools and functions.
        system: The system prompt; "" for none.
        facts: Facts planted in the messages.
        name: What reports call it.
        language: "zh", "en" or "mixed".
        notes: What an importer had to guess.
        imported: True for a conversation of another program: taken as it is.

    Raises:
        ValueError: A fact does not stand in its message, or (unless imported) a
            result has no call before it.
    """

    messages: Sequence[BaseMessage]
    tools: Sequence[Any] = ()
    system: str = ""
    facts: Sequence[Fact] = ()
    name: str = "transcript"
    language: str = "en"
    _: KW_ONLY
    title: str = ""
    notes: Sequence[str] = ()
    imported: bool = False

    def __post_init__(self) -> None:
        settled = {
            "messages": tuple(_with_ids(self.messages, self.name)),
            "tools": tuple(_tool_record(tool) for tool in self.tools),
            "facts": tuple(self.facts),
            "notes": tuple(self.notes),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        self._check_facts()
        if not self.imported:
            self._check_results()

    def _check_facts(self) -> None:
        for index, fact in enumerate(self.facts):
            if fact.message >= len(self.messages):
                raise ValueError(
                    f"facts[{index}].message is {fact.message}, expected a message "
                    f"index below {len(self.messages)}"
                )
            if fact.text not in sent_text(self.messages[fact.message]):
                raise ValueError(
                    f"facts[{index}].text {fact.text!r} does not stand in "
                    f"messages[{fact.message}]: give the exact text"
                )

    def _check_results(self) -> None:
        called: set[str] = set()
        for index, message in enumerate(self.messages):
            if isinstance(message, AIMessage):
                called.update(str(call["id"]) for call in message.tool_calls)
            elif (
                isinstance(message, ToolMessage) and message.tool_call_id not in called
            ):
                raise ValueError(
                    f"messages[{index}].tool_call_id {message.tool_call_id!r}: "
                    "expected a call with this id before it"
                )

    def turns(self) -> list[Turn]:
        """Return the turns, oldest first."""
        return split_turns(self.messages)

    def facts_in(self, messages: Iterable[BaseMessage]) -> list[Fact]:
        """Return the facts whose text stands anywhere in these messages."""
        texts = [sent_text(message) for message in messages]
        return [f for f in self.facts if any(f.text in text for text in texts)]


def _with_ids(messages: Sequence[BaseMessage], name: str) -> Iterable[BaseMessage]:
    used: set[str] = set()
    for index, message in enumerate(messages):
        # LangGraph replaces a message of the same id: a second one must not have it.
        if not message.id or message.id in used:
            message = message.model_copy(update={"id": f"{name}-{index:04d}"})
        used.add(str(message.id))
        yield message


def _tool_record(tool: Any) -> dict[str, Any]:
    if isinstance(tool, dict) and "name" in tool and "parameters" in tool:
        return tool
    schema: dict[str, Any] = convert_to_openai_tool(tool)["function"]
    return schema


def _read_own(data: Any) -> Transcript:
    file = TranscriptFile.model_validate(data)
    given = {"name", "language", "title", "system", "imported", "notes"}
    return Transcript(
        [message_of(record) for record in file.messages],
        [tool.model_dump() for tool in file.tools],
        facts=file.facts,
        **file.model_dump(include=given),
    )


def transcripts_folder() -> Path:
    """Return the folder of the transcripts that come with ctxlab."""
    return data_path("transcripts")


def transcript_names() -> list[str]:
    """Return the names that `load_transcript` knows, in alphabetical order."""
    return sorted(path.stem for path in transcripts_folder().glob("*.json"))


def _find(path_or_name: str | Path) -> Path:
    path = Path(path_or_name)
    if path.is_file():
        return path
    if path.suffix or len(path.parts) > 1:
        raise ValueError(f"{path}: no such file")
    names = transcript_names()
    if str(path) in names:
        return transcripts_folder() / f"{path}.json"
    close = difflib.get_close_matches(str(path), names, n=1)
    hint = f": did you mean {close[0]!r}?" if close else "."
    raise ValueError(
        f"no transcript is named {str(path)!r}{hint} There are: {', '.join(names)}"
    )


def load_transcript(
    path_or_name: str | Path, *, thread_id: str | None = None
) -> Transcript:
    """Return a transcript of ctxlab by name, or a conversation file by path.

    Args:
        path_or_name: A file of any format of `ctxlab.lab.importers`, or a name.
        thread_id: Which thread of a checkpoint file; None for its only one.

    Raises:
        ValueError: Unknown name, no such file, or content that is no conversation;
            the message names the file, the place and what was expected.
    """
    path = _find(path_or_name)
    source = Source.from_path(path, thread_id)
    data = None if source.is_database else source.json
    if isinstance(data, dict) and str(data.get("format", "")).startswith("ctxlab"):
        try:
            return _read_own(data)
        except ValidationError as error:
            raise ValueError(f"{source.name}, {one_line(error)}") from error
        except ValueError as error:
            raise ValueError(f"{source.name}, {error}") from error
    found = import_conversation(source)
    return Transcript(
        found.messages,
        found.tools,
        found.system,
        name=path.stem,
        language=_language(found.messages),
        title=found.title,
        notes=found.notes,
        imported=True,
    )


def _language(messages: Sequence[BaseMessage]) -> str:
    return language_of(sent_text(m) for m in messages if isinstance(m, HumanMessage))


def save_transcript(transcript: Transcript, path: str | Path) -> None:
    """Write a transcript in ctxlab's own format: UTF-8 JSON, one message a line."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        **{k: getattr(transcript, k) for k in ("name", "language", "title", "system")},
        "imported": transcript.imported,
        "notes": list(transcript.notes),
        "tools": list(transcript.tools),
        "facts": [fact.model_dump() for fact in transcript.facts],
    }
    lines = ",\n".join(
        "  " + json.dumps(message_record(message), ensure_ascii=False)
        for message in transcript.messages
    )
    body = json.dumps(head, ensure_ascii=False, indent=1).rstrip("}").rstrip()
    text = f'{body},\n "messages": [\n{lines}\n ]\n}}\n'
    Path(path).write_text(text, encoding="utf-8", newline="\n")
