"""Calm calls: those that the chain would let through with what they carry already.

Most calls of a conversation decide nothing. For them a request, a generator and the
search for a view cost more than the decision. Here the first of them is a `Call` as the
chain begins with it, and those behind it are figures (`Stretch`). As soon as something
may happen, the answers so far get their samples and the chain has the word.

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

from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage

from ctxlab.chain import Policy
from ctxlab.chain.asked import asked_by_model
from ctxlab.chain.call import Call
from ctxlab.chain.protection import user_message_over_limit, window_was_full
from ctxlab.chain.remembering import recall
from ctxlab.lab.turns import Step
from ctxlab.lab.what_ifs.loop import AgentLoop
from ctxlab.lab.what_ifs.provider import Provider
from ctxlab.lab.what_ifs.stretch import Stretch
from ctxlab.middleware.drivers import with_logged_errors
from ctxlab.records import CallRecord


class CalmCalls:
    """The calls of one run that need no chain.

    Args:
        policy: That of the middleware.
        request: Makes a request of the run's messages; the same list every time.
        provider: Answers, and bills.
        loop: Whose calls they are.
        listeners: Told every record at once.
        done: Told every stretch when it has ended.
    """

    def __init__(
        self,
        policy: Policy,
        request: Callable[[], ModelRequest[Any]],
        provider: Provider,
        loop: AgentLoop,
        listeners: list[Callable[[CallRecord], Any]],
        done: Callable[[Stretch], None],
    ) -> None:
        self.policy, self.request, self.provider = policy, request, provider
        self.loop, self.listeners, self.done = loop, listeners, done
        self._stretch: Stretch | None = None

    def answer(self, step: Step | None) -> AIMessage | None:
        """Return the recorded answer of a call; None: the chain has to.

        It gets its bill and its sample at the end of the stretch. A call that was
        never recorded is left to the chain; nothing goes on from it.
        """
        if step is None or not self._taken(step):
            self.end()
            return None
        if self.listeners:
            self._tell()
        return self.provider.bench.recorded(step)

    def _taken(self, step: Step) -> bool:
        """Return whether a call is calm; then the stretch has its figures."""
        if self._stretch and self._stretch.goes_on():
            return self._stretch.take(step, self.loop.turn)
        self.end()
        call = Call(self.policy, self.request())
        for _ in recall(call):
            pass  # there is no store that could be asked
        if not calm(call):
            return False
        stretch = Stretch(call, self.provider)
        if not stretch.begin(step, self.loop.turn):
            return False
        self._stretch = stretch
        return True

    def end(self) -> None:
        """End a stretch: its answers get their bills and samples."""
        stretch, self._stretch = self._stretch, None
        if stretch:
            for index, answer in stretch.answers():
                self.loop.state[index] = answer
            self.provider.desk.begin_anew()
            self.done(stretch)

    def _tell(self) -> None:
        assert self._stretch
        record = self._stretch.record(len(self._stretch.rows) - 1)
        for listener in self.listeners:
            with_logged_errors(listener, record)


def calm(call: Call) -> bool:
    """Return whether the chain would send a request as it stands."""
    if len(call.policy.waiting):
        return False
    return user_message_over_limit(call) is None and not (
        asked_by_model(call.messages) or call.due() or window_was_full(call)
    )
