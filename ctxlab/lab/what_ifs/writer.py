"""The summaries of a what-if: those of `FactKeeper`, found faster.

`FactKeeper` searches its prompt for every line it may keep. Here a prompt knows what
stands in it (`pieces`); what is written, and what it costs, is the same.

>>> from langchain_core.messages import HumanMessage
>>> asked = HumanMessage("Mind the order number A-1177.", id="m-0")
>>> keeper = FactKeeper(["order number A-1177"])
>>> writer = QuickWriter(keeper, Lines(keeper.replies.facts))
>>> "A-1177" in writer.write([asked]).text, writer.log[0].output_tokens
(True, 35)

Lesson: 12_tune_on_a_transcript.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.billing import Exchange, bytes_over_three, reply_tokens
from ctxlab.lab.what_ifs.pieces import Lines, PiecedPrompt
from ctxlab.lab.writers import FactKeeper
from ctxlab.summaries import HANDOFF_PROMPT, SummaryWriter, WriteSummaries
from ctxlab.summaries.plan import Shown, shown_size


class QuickWriter(SummaryWriter):
    """A writer that asks a keeper without a model call.

    Args:
        keeper: The summary model.
        lines: What it may keep, oldest first.
        sizes: Tokens of entries that were counted before, by `id()`.
        settings: Further arguments of `SummaryWriter`.

    Attributes:
        log: Every prompt with its bill, oldest first.
    """

    def __init__(
        self,
        keeper: FactKeeper,
        lines: Lines,
        sizes: dict[int, float] | None = None,
        *,
        prompt: str = HANDOFF_PROMPT,
        **settings: Any,
    ) -> None:
        super().__init__(keeper, prompt=prompt, **settings)
        self.prompt = PiecedPrompt(prompt, lines)
        self.sizes = {} if sizes is None else sizes
        self.planner = replace(self.planner, prompt=self.prompt)
        self.keeping: Any = keeper.replies
        self.log: list[Exchange] = []

    @property
    def requests(self) -> list[Sequence[BaseMessage]]:
        """The prompts that were answered, oldest first."""
        return [exchange.messages for exchange in self.log]

    def writing(self, messages: Sequence[BaseMessage], **wishes: Any) -> Any:
        """Begin with a span; then write as ever."""
        self.prompt.begin()
        return super().writing(messages, **wishes)

    def shown(self, message: BaseMessage) -> Shown:
        """Return a message as an entry, and its size in tokens."""
        entry = self.prompt.entry(message)
        size = self.sizes.get(id(entry))
        if size is None:
            size = shown_size(message, entry, self.counter)
            if self.prompt.lines.written(entry):  # it lives on: its id stays its own
                self.sizes[id(entry)] = size
        return entry, size

    def ask(self, effect: WriteSummaries) -> list[Any]:
        """Answer each prompt as the keeper would, and take down what it costs."""
        return [self._answer(prompt) for prompt in effect.prompts]

    def _answer(self, prompt: list[BaseMessage]) -> AIMessage:
        text = self.keeping.told(self.prompt.seen(prompt), self.prompt.end(prompt))
        reply = AIMessage(text, response_metadata={"finish_reason": "stop"})
        billed = math.ceil(bytes_over_three(prompt))
        written = math.ceil(reply_tokens(reply, bytes_over_three)[0])
        reply.usage_metadata = {
            "input_tokens": billed,
            "output_tokens": written,
            "total_tokens": billed + written,
        }
        self.log.append(Exchange(prompt, [], billed, 0, written))
        return reply
