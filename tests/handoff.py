"""What the tests of summaries share: a good summary, a recording writer, a payload."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    BaseMessage,
    HumanMessage,
)

from ctxlab.summaries import (
    SECTIONS,
)

GOOD = "\n\n".join(f"## {section}\nNone" for section in SECTIONS)


def human(text: Any) -> HumanMessage:
    return HumanMessage(text)


class Recorder:
    """A callable writer that keeps its prompts and gives the replies in order."""

    def __init__(self, *replies: Any) -> None:
        self.replies, self.prompts = list(replies), list[list[BaseMessage]]()

    def __call__(self, messages: list[BaseMessage]) -> Any:
        self.prompts.append(messages)
        reply = self.replies[min(len(self.prompts), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return [payload_of(prompt) for prompt in self.prompts]


def payload_of(prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    text = prompt[-1].text
    inside = text.split("<conversation_data>\n")[1].split("\n</conversation_data>")[0]
    found: dict[str, Any] = json.loads(inside)
    return found
