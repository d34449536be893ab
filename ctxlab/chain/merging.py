r"""The summary inside the user message behind it, for strict chat templates.

Some templates refuse two user messages in a row.

>>> note = HumanMessage("earlier", additional_kwargs={"lc_source": "summarization"})
>>> [message.text for message in merged([note, HumanMessage("and now?")])]
['earlier\n\nand now?']
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from ctxlab.summaries import is_summary


def merged(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Put the summary into the user message behind it, for strict chat templates."""
    for index, (note, behind) in enumerate(pairwise(messages)):
        if is_summary(note) and isinstance(behind, HumanMessage):
            both = behind.model_copy(update={"content": joined(note, behind)})
            return [*messages[:index], both, *messages[index + 2 :]]
    return list(messages)


def joined(note: BaseMessage, behind: BaseMessage) -> Any:
    """Return the content of a message with a note in front of it."""
    if isinstance(behind.content, str):
        return f"{note.text}\n\n{behind.text}"
    return [{"type": "text", "text": note.text}, *behind.content]
