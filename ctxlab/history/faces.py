"""What makes the content of a message: the fields that are counted and digested.

After a checkpoint reload every message is a new object with an old content. Comparing
contents is cheaper than counting them, or than making keys of them.

>>> from langchain_core.messages import AIMessage
>>> first, again = faces_of([AIMessage("Done.", id="a"), AIMessage("Done.", id="b")])
>>> first == again, content_key(first) == content_key(again)
(True, True)

Left out here: usage, ids and metadata, which change nothing of a content. Lesson:
09_summarize_the_request_only.
"""

import marshal
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from langchain_core.messages import BaseMessage

Face = tuple[Any, ...]
"""The fields of a message that make its content, to be compared with another's."""

_COVERED = (
    "type",
    "content",
    "name",
    "tool_calls",
    "invalid_tool_calls",
    "tool_call_id",
    "status",
    "role",
    "additional_kwargs",
)


class _Faces(dict[type, Callable[[dict[str, Any]], Face]]):
    """What takes the covered fields out of a message, by its class."""

    def __missing__(self, kind: type[BaseMessage]) -> Callable[[dict[str, Any]], Face]:
        fields = [name for name in _COVERED if name in kind.model_fields]
        self[kind] = getter = itemgetter(*fields)
        return getter


_faces = _Faces()


def faces_of(messages: Iterable[BaseMessage]) -> list[Face]:
    """Return what tells the contents of messages apart; equal faces, equal contents.

    Nothing is copied or hashed: that makes a reload cheap.
    """
    return [_faces[type(message)](message.__dict__) for message in messages]


def _dumped(field: Any) -> bytes | None:
    """Return the bytes of a field; in version 2 of the format equal ones have equal."""
    return None if field is None else marshal.dumps(field, 2)


def content_key(face: Face) -> tuple[Any, ...] | None:
    """Return a key that two messages share only if their faces are equal.

    What is no plain string is named by its marshalled bytes; None stands for a content
    that has none, and is counted anew each time.
    """
    try:
        return tuple([each if type(each) is str else _dumped(each) for each in face])
    except ValueError:
        return None
