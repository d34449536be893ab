"""Calm calls: those that the chain would let through with what they carry already.

Most calls of a conversation decide nothing. For them a request, a generator and the
search for a view cost more than the decision. Here one `Call` goes along with the
conversation: its own formulas say how large the request is and whether anything is
due, and the record is its own. As soon as something may happen, the chain has the
word.

    nothing asked, nothing due, window not full, request fits ─▶ calm
    anything else ─▶ the chain; then calm again, from a fresh `Call`

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.lab.what_ifs.lived import what_if
>>> from ctxlab.settings import Settings
>>> tried = what_if(load_transcript("order_desk"), Settings(), window=8_000)
>>> [record.action for record in tried.calls]
['pass', 'pass', 'pass']

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, BaseMessage

from ctxlab.chain import Policy
from ctxlab.chain.asked import asked_by_model
from ctxlab.chain.call import Call
from ctxlab.chain.learning import sample_entry
from ctxlab.chain.protection import user_message_over_limit, window_was_full
from ctxlab.chain.remembering import recall
from ctxlab.chain.samples import METADATA_KEY
from ctxlab.lab.turns import Step
from ctxlab.lab.what_ifs.provider import Provider
from ctxlab.middleware.drivers import with_logged_errors
from ctxlab.views import LiveView


class CalmCalls:
    """The calls of one run that need no chain.

    Args:
        policy: That of the middleware.
        request: Makes a request of the run's messages; the same list every time.
        provider: Answers, and bills.
    """

    def __init__(
        self,
        policy: Policy,
        request: Callable[[], ModelRequest[Any]],
        provider: Provider,
    ) -> None:
        self.policy, self.request, self.provider = policy, request, provider
        self._last: tuple[Call, int] | None = None  # a calm one, and its bill

    def answer(self, step: Step | None) -> AIMessage | None:
        """Return the answer of a call and tell its record; None: the chain has to.

        A call that was never recorded is left to the chain; nothing goes on from it.
        """
        last, self._last = self._last, None
        if step is None:
            return None
        sent = len(last[0].history) if last else 0
        call = self._gone_on(*last) if last else None
        if call:
            size = self.provider.desk.size_with(call.messages[sent:])
        else:
            call = self._begun()
            size = self.provider.desk.size(call.carried())
        if not (calm(call) and self.provider.takes(size)):
            return None
        return self._learned(call, self.provider.charged(step, size, self._sent(call)))

    def _gone_on(self, call: Call, billed: int) -> Call | None:
        """Return the next call, made of the last one, if that is all it takes."""
        answers = call.history.answer_count
        call.go_on(billed)
        # A recording may go on with more answers, which nobody was billed for.
        return call if call.history.answer_count == answers + 1 else None

    def _begun(self) -> Call:
        """Return the next call as the chain begins with it."""
        call = Call(self.policy, self.request())
        for _ in recall(call):
            pass  # there is no store that could be asked
        return call

    def _sent(self, call: Call) -> Sequence[BaseMessage]:
        """Return the messages of a request; most are never looked at."""
        system = self.provider.bench.system
        lead = [system] if system else []
        if self.policy.merge_summary:
            return [*lead, *call.carried()]
        return Sent(lead, call.live, call.messages, len(call.messages))

    def _learned(self, call: Call, answer: AIMessage) -> AIMessage:
        """Write the sample into the answer, tell the record, stand by for the next."""
        entry = sample_entry(call, answer)
        billed = entry.get("provider_input_tokens")
        if entry:
            answer.response_metadata = {**answer.response_metadata, METADATA_KEY: entry}
        record = call.record(billed)
        for listener in self.policy.listeners:
            with_logged_errors(listener, record)
        if billed:
            self._last = call, billed
        return answer


class Sent(Sequence[BaseMessage]):
    """The messages of a request, put together when somebody looks at them.

    Args:
        lead: What stands in front.
        live: What the request carries of a run's messages.
        state: The messages of the run; more may have come since.
        length: So many of them there were.
    """

    def __init__(
        self,
        lead: Sequence[BaseMessage],
        live: LiveView,
        state: Sequence[BaseMessage],
        length: int,
    ) -> None:
        self._parts = lead, live, state, length

    @cached_property
    def _messages(self) -> list[BaseMessage]:
        lead, live, state, length = self._parts
        return [*lead, *live.carried(state[:length])]

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, index: Any) -> Any:
        return self._messages[index]

    def __iter__(self) -> Iterator[BaseMessage]:
        return iter(self._messages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._messages == list(other)

    __hash__ = None  # type: ignore[assignment]


def calm(call: Call) -> bool:
    """Return whether the chain would send a request as it stands."""
    if len(call.policy.waiting):
        return False
    return user_message_over_limit(call) is None and not (
        asked_by_model(call.messages) or call.due() or window_was_full(call)
    )
