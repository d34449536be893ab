"""The provider of a what-if: it bills from sums, and answers as recorded.

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.lab.what_ifs.bench import bench_for
>>> bench = bench_for(load_transcript("order_desk"))
>>> provider, (question, *_) = Provider(bench, Prices()), bench.course
>>> provider.answer(bench.turns[0].steps[0], [question]).usage_metadata["input_tokens"]
167

Lesson: 12_tune_on_a_transcript.
"""

import math
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.billing import Exchange
from ctxlab.lab.turns import Step
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.lab.what_ifs.bench import Bench
from ctxlab.lab.what_ifs.bills import BillingDesk, Prices
from ctxlab.lab.what_ifs.later import Later


class Provider:
    """What answers the requests of one run, and writes their bills.

    Args:
        bench: The conversation, laid out.
        prices: How it bills.

    Attributes:
        log: Every request, refused ones too, oldest first.
    """

    def __init__(self, bench: Bench, prices: Prices) -> None:
        self.bench, self.prices = bench, prices
        self.desk = BillingDesk(prices, bench.fixed, bench.weights.copy())
        self.log: Any = Later()

    def answer(self, step: Step | None, messages: list[BaseMessage]) -> AIMessage:
        """Return the recorded reply, billed.

        Raises:
            Exception: The request is over the window; the vendor's own error.
            RecordingEnds: No reply was recorded.
        """
        size = self.desk.size(messages)
        system = self.bench.system
        sent = [system, *messages] if system else list(messages)
        try:
            if not self.takes(size):
                raise overflow_error("openai", size, self.prices.window or 0)
            self.bench.recorded(step)
        except Exception as error:
            self.log.append(Exchange(sent, [], size, error=error))
            raise
        assert step is not None
        cached = self.desk.cached()
        self.log.append(Exchange(sent, [], size, cached, self.written(step)))
        return self.answer_of(step, size, cached)

    def takes(self, size: int) -> bool:
        """Return whether the window takes a request of this size, in tokens."""
        return self.prices.window is None or size <= self.prices.window

    def written(self, step: Step) -> int:
        """Return the output tokens of a recorded reply."""
        return math.ceil(self.prices.scale * self.bench.replies[id(step)].tokens)

    def said(self, step: Step, written: int) -> float | None:
        """Return what a reply of so many output tokens will cost as history."""
        reasoning = self.bench.replies[id(step)].reasoning
        thought = math.floor(self.prices.scale * reasoning) if reasoning else 0
        return float(written - thought) if written else None

    def answer_of(
        self, step: Step, size: int, cached: int, entry: Mapping[str, Any] | None = None
    ) -> AIMessage:
        """Return a recorded reply, billed for a request of this size.

        `entry` is what ctxlab writes into its metadata.
        """
        reply = self.bench.replies[id(step)]
        answer = reply.billed(size, cached, self.prices.scale, entry or {})
        self.desk.weights.alike(reply.message, answer)
        return answer
