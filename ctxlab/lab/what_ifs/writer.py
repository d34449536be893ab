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
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.billing import Exchange, bytes_over_three, reply_tokens
from ctxlab.lab.what_ifs.pieces import Lines, PiecedPrompt
from ctxlab.lab.what_ifs.spans import Asked, SpanBook, Written
from ctxlab.lab.writers import FactKeeper
from ctxlab.summaries import HANDOFF_PROMPT, Summary, SummaryWriter, WriteSummaries
from ctxlab.summaries.plan import Shown, shown_size
from ctxlab.summaries.writer import Writing


class QuickWriter(SummaryWriter):
    """A writer that asks a keeper without a model call.

    Args:
        keeper: The summary model.
        lines: What it may keep, oldest first.
        spans: What was told before, by writers with the same counter.
        settings: Further arguments of `SummaryWriter`.

    Attributes:
        log: Every prompt with its bill, oldest first.
        original: Gives the message of the recording that another is a copy of.
    """

    def __init__(
        self,
        keeper: FactKeeper,
        lines: Lines,
        spans: SpanBook | None = None,
        *,
        prompt: str = HANDOFF_PROMPT,
        **settings: Any,
    ) -> None:
        super().__init__(keeper, prompt=prompt, **settings)
        self.prompt = PiecedPrompt(prompt, lines)
        self.spans = spans or SpanBook([])
        self._identities = self.spans.identities[prompt]
        self.planner = replace(self.planner, prompt=self.prompt)
        self.keeping: Any = keeper.replies
        self.log: list[Exchange] = []
        self.original: Callable[[BaseMessage], BaseMessage] = lambda message: message
        self._rules = prompt, self.planner.chunk_tokens, self.planner.window
        self._again: Asked | None = None

    @property
    def requests(self) -> list[Sequence[BaseMessage]]:
        """The prompts that were answered, oldest first."""
        return [exchange.messages for exchange in self.log]

    def writing(self, messages: Sequence[BaseMessage], **wishes: Any) -> Any:
        """Write as ever, or put the same prompts as the last time."""
        self.prompt.begin()
        span = list(map(self.original, messages))
        key = self.spans.key(span, self._rules, tuple(sorted(wishes.items())))
        known: Written | None = self.spans.written.get(key) if key else None
        if known:
            return self._told_again(known)
        return self._told(key, super().writing(messages, **wishes))

    def _told(self, key: Hashable, writing: Writing) -> Writing:
        """Remember how a summary is written."""
        asked: list[Asked] = []
        replies: Any = None
        try:
            while True:
                effect = writing.send(replies)
                first = len(self.log)
                replies = yield effect
                asked.append(Asked(effect, replies, self.log[first:]))
        except StopIteration as done:
            summary: Summary = done.value
        finally:
            writing.close()
        if key:
            self.spans.written.put(key, Written(summary, asked))
        return summary

    def _told_again(self, known: Written) -> Writing:
        for self._again in known.asked:
            yield self._again.effect
        return known.summary

    def shown(self, message: BaseMessage) -> Shown:
        """Return a message as an entry, and its size in tokens."""
        own = self.spans.own(self.original(message))
        known = self.spans.shown.get(own) if own else None
        if known:
            self.prompt.meet(known[0])
            return known
        entry = self.prompt.entry(message)
        found = entry, shown_size(message, entry, self.counter)
        if own:
            self.spans.shown[own] = found
        return found

    def ask(self, effect: WriteSummaries) -> list[Any]:
        """Answer each prompt as the keeper would, and take down what it costs."""
        again, self._again = self._again, None
        if again and again.effect is effect:
            self.log += again.bills
            return again.replies
        return [self._answer(prompt) for prompt in effect.prompts]

    def _answer(self, prompt: list[BaseMessage]) -> AIMessage:
        text, written = self._reply(prompt)
        reply = AIMessage(text, response_metadata={"finish_reason": "stop"})
        billed = math.ceil(bytes_over_three(prompt))
        reply.usage_metadata = {
            "input_tokens": billed,
            "output_tokens": written,
            "total_tokens": billed + written,
        }
        self.log.append(Exchange(prompt, [], billed, 0, written))
        return reply

    def _reply(self, prompt: list[BaseMessage]) -> tuple[str, int]:
        """Return the keeper's reply and its tokens; it hangs on what it sees alone."""
        end = self.prompt.end(prompt)

        def tell() -> tuple[str, int]:
            text = self.keeping.told(self.prompt.seen(prompt), end)
            return text, math.ceil(reply_tokens(AIMessage(text), bytes_over_three)[0])

        asked = self.prompt.lines_in(prompt), end
        told: tuple[str, int] = self.prompt.lines.told(asked, tell)
        return told
