"""Conversations that other programs saved, read into messages.

`IMPORTERS` lists the formats in the order they are asked; each looks at the content
of a file, not at its name. A new format is one more entry.

>>> thread = '{"values": {"messages": [{"type": "human", "content": "Hi"}]}}'
>>> conversation = import_conversation(Source("thread.json", thread.encode()))
>>> [message.text for message in conversation.messages]
['Hi']

Nothing is repaired: an unanswered call or a result without its call comes in as it
is. Nothing is executed: a file is data, whatever it says. What had to be guessed
stands in `notes`. Read in this order: `source`, `conversation`, `langchain`, `logs`,
`openai`, `anthropic`, `checkpoints`. Lesson: 12_tune_on_a_transcript.
"""

from typing import Any

from ctxlab.lab.importers.anthropic import is_anthropic, read_anthropic
from ctxlab.lab.importers.checkpoints import is_checkpoint_file, read_checkpoint_file
from ctxlab.lab.importers.conversation import (
    Conversation,
    Importer,
    expected,
    one_line,
    tools_from_calls,
)
from ctxlab.lab.importers.langchain import is_langchain, listed, read_langchain
from ctxlab.lab.importers.openai import is_openai, read_openai
from ctxlab.lab.importers.source import Source

__all__ = [
    "IMPORTERS",
    "Conversation",
    "Importer",
    "Source",
    "import_conversation",
    "one_line",
    "tools_from_calls",
]

IMPORTERS: list[Importer] = [
    Importer("LangGraph checkpoint file", is_checkpoint_file, read_checkpoint_file),
    Importer("LangChain messages or LangGraph thread", is_langchain, read_langchain),
    Importer("Anthropic Messages", is_anthropic, read_anthropic),
    Importer("OpenAI chat (JSON or JSONL)", is_openai, read_openai),
]


def import_conversation(source: Source) -> Conversation:
    """Return the conversation in a file of any known format.

    Raises:
        ValueError: No importer knows the content, or a message in it is broken.
    """
    for importer in IMPORTERS:
        if importer.matches(source):
            return importer.read(source)
    _check_alike(source)
    known = ", ".join(["ctxlab transcript", *(each.name for each in IMPORTERS)])
    raise ValueError(
        f"{source.name}: no conversation found; expected one of: {known}. "
        f"Got {_looks_like(source.json)}"
    )


def _check_alike(source: Source) -> None:
    """Name the message that is unlike the others, if that is all that is wrong."""
    records = listed(source.json)
    for key in ("role", "type"):
        has = [isinstance(each, dict) and key in each for each in records or ()]
        if any(has) and not all(has):
            at = has.index(False)
            what = f"a message with a {key}, as the others have one"
            raise expected(source.place(at), what, records[at])


def _looks_like(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(key) for key in list(value)[:6])
        return f"an object with the keys {keys or '(none)'}"
    return f"a JSON {type(value).__name__}"
