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
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.lab.billing import Exchange
from ctxlab.lab.turns import Step
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.lab.what_ifs.bench import Bench
from ctxlab.lab.what_ifs.bills import BillingDesk, Prices


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
        self.log: list[Exchange] = []

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
        return self.charged(step, size, sent)

    def takes(self, size: int) -> bool:
        """Return whether the window takes a request of this size, in tokens."""
        return self.prices.window is None or size <= self.prices.window

    def charged(self, step: Step, size: int, sent: Sequence[BaseMessage]) -> AIMessage:
        """Write the bill of the request that was sized last; return the reply."""
        cached = self.desk.cached()
        reply = self.bench.replies[id(step)]
        scale = self.prices.scale
        self.log.append(
            Exchange(sent, [], size, cached, math.ceil(scale * reply.tokens))
        )
        answer = reply.billed(size, cached, scale)
        self.desk.weights.alike(reply.message, answer)
        return answer
