"""The summaries of a what-if: those of `FactKeeper`, found faster.

`FactKeeper` searches its prompt for every line it may keep, and most lines stand in
no message of the span. Here only those are searched that the span can hold; what is
written, and what it costs, is the same.

>>> from langchain_core.messages import HumanMessage
>>> asked = HumanMessage("Mind the order number A-1177.", id="m-0")
>>> keeper = FactKeeper(["order number A-1177"])
>>> writer = QuickWriter(keeper, lines_of(keeper.replies.facts, [asked]))
>>> "A-1177" in writer.write([asked]).text, writer.log[0].output_tokens
(True, 35)

Lesson: 12_tune_on_a_transcript.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.billing import Exchange, bytes_over_three, reply_tokens
from ctxlab.lab.writers import FactKeeper, fact_text, stands_in
from ctxlab.summaries import SummaryWriter, WriteSummaries
from ctxlab.summaries.entries import entry

ALWAYS = 12  # characters; a shorter line may stand in the words around the data


@dataclass(frozen=True)
class Line:
    """A line that may be kept, its text, and the ids of the messages it stands in."""

    fact: Any
    text: str
    places: frozenset[str]


def lines_of(facts: Sequence[Any], messages: Sequence[BaseMessage]) -> list[Line]:
    """Return each fact with the messages in whose summary entry it stands."""
    said = [(str(m.id), json.dumps(entry(m), ensure_ascii=False)) for m in messages]
    found = []
    for fact in facts:
        text = fact_text(fact)
        places = frozenset(at for at, line in said if stands_in(text, line))
        found.append(Line(fact, text, places))
    return found


class QuickWriter(SummaryWriter):
    """A writer that asks a keeper without a model call.

    Args:
        keeper: The summary model.
        lines: What it may keep, oldest first.
        settings: Further arguments of `SummaryWriter`.

    Attributes:
        log: Every prompt with its bill, oldest first.
    """

    def __init__(
        self, keeper: FactKeeper, lines: Sequence[Line], **settings: Any
    ) -> None:
        super().__init__(keeper, **settings)
        self.keeper, self.lines = keeper, lines
        self.log: list[Exchange] = []
        self._span: set[str] = set()
        self._before = ""

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The prompts that were answered, oldest first."""
        return [exchange.messages for exchange in self.log]

    def writing(self, messages: Sequence[BaseMessage], **wishes: Any) -> Any:
        """Note what the span can hold; then write as ever."""
        self._span = {str(message.id) for message in messages}
        known = (wishes.get("previous"), wishes.get("current_request"))
        self._before = "\n".join(filter(None, known))
        return super().writing(messages, **wishes)

    def ask(self, effect: WriteSummaries) -> list[Any]:
        """Answer each prompt as the keeper would, and take down what it costs."""
        return [self._answer(prompt) for prompt in effect.prompts]

    def _answer(self, prompt: list[BaseMessage]) -> AIMessage:
        around = f"{self._before}\n{prompt[0].text}"
        facts = tuple(line.fact for line in self.lines if self._near(line, around))
        keeping: Any = self.keeper.replies
        reply = AIMessage(
            replace(keeping, facts=facts)(prompt),
            response_metadata={"finish_reason": "stop"},
        )
        billed = math.ceil(bytes_over_three(prompt))
        written = math.ceil(reply_tokens(reply, bytes_over_three)[0])
        reply.usage_metadata = {
            "input_tokens": billed,
            "output_tokens": written,
            "total_tokens": billed + written,
        }
        self.log.append(Exchange(prompt, [], billed, 0, written))
        return reply

    def _near(self, line: Line, around: str) -> bool:
        if len(line.text) < ALWAYS or not self._span.isdisjoint(line.places):
            return True
        return stands_in(line.text, around)
