"""ctxlab's own transcript format: strict JSON, checked field by field.

    {"format": "ctxlab-transcript", "version": 1, "name": "…", "language": "zh",
     "title": "…", "system": "…", "tools": […], "facts": […], "messages": […]}

A message has a type (human, ai, tool, system), a content, and what its type needs;
ids may be left out. Unknown keys and types are errors, so that a slip of the pen
is not a silent loss.

>>> from langchain_core.messages import HumanMessage
>>> message_record(HumanMessage("Hi", id="m-0"))
{'type': 'human', 'id': 'm-0', 'content': 'Hi'}

Left out: usage and metadata of the recorded run. Lesson: 12_tune_on_a_transcript.
"""

from typing import Annotated, Any, Literal

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel, ConfigDict, Field

FORMAT, VERSION = "ctxlab-transcript", 1
FactKind = Literal[
    "constraint", "identifier", "failed_attempt", "artefact", "unverified"
]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Fact(_Record):
    """A text that must survive: its class, the exact text, the message it stands in."""

    kind: FactKind
    text: str = Field(min_length=1)
    message: int = Field(ge=0)


class _Call(_Record):
    name: str = Field(min_length=1)
    args: dict[str, Any]
    id: str = Field(min_length=1)


class _Message(_Record):
    content: str | list[str | dict[str, Any]]
    id: str | None = None
    name: str | None = None
    additional_kwargs: dict[str, Any] = {}


class _Human(_Message):
    type: Literal["human"]


class _System(_Message):
    type: Literal["system"]


class _AI(_Message):
    type: Literal["ai"]
    tool_calls: list[_Call] = []


class _Tool(_Message):
    type: Literal["tool"]
    tool_call_id: str = Field(min_length=1)
    status: Literal["success", "error"] = "success"


class _ToolSchema(_Record):
    name: str = Field(min_length=1)
    description: str = ""
    parameters: dict[str, Any]


class TranscriptFile(_Record):
    """A whole file."""

    format: Literal["ctxlab-transcript"]
    version: Literal[1]
    name: str = Field(min_length=1)
    language: Literal["zh", "en", "mixed"]
    title: str = ""
    system: str = ""
    imported: bool = False
    notes: list[str] = []
    tools: list[_ToolSchema] = []
    facts: list[Fact] = []
    messages: list[
        Annotated[_Human | _System | _AI | _Tool, Field(discriminator="type")]
    ] = Field(min_length=1)


_CLASSES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "system": SystemMessage,
    "ai": AIMessage,
    "tool": ToolMessage,
}


def message_of(record: BaseModel) -> BaseMessage:
    """Return the message that a record of a file stands for."""
    fields = record.model_dump(exclude_none=True, exclude_unset=True)
    return _CLASSES[fields.pop("type")](**fields)


def message_record(message: BaseMessage) -> dict[str, Any]:
    """Return a message as a JSON object; what is empty is left out."""
    keys = ("type", "id", "name", "content", "additional_kwargs")
    record = {key: getattr(message, key) for key in keys}
    if isinstance(message, AIMessage):
        record["tool_calls"] = [
            {key: call[key] for key in ("name", "args", "id")}
            for call in message.tool_calls
        ]
    elif isinstance(message, ToolMessage):
        record |= {"tool_call_id": message.tool_call_id, "status": message.status}
    return {k: v for k, v in record.items() if k == "content" or v}
