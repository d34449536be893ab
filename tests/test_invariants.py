"""Invariants I1 to I8 of every request that reaches a model, on random conversations.

Hypothesis draws the conversation, the sizes, and what goes wrong: summaries that
fail, bills that are missing or odd, a provider that refuses. The middleware sees the
conversation grow as in life, with the metadata it wrote into earlier answers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from ctxlab.chain.threads import conversation_name
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import is_summary, summary_text
from tests.requests import Desk, refused
from tests.strategies import conversations
from tests.well_formed import problems


@dataclass
class Notary:
    """A summary model that signs with a number and remembers what it was shown."""

    fails: bool = False
    shown: dict[str, str] = field(default_factory=dict)

    def __call__(self, messages: Sequence[BaseMessage]) -> str:
        if self.fails:
            raise RuntimeError("no summary today")
        text = f"S{len(self.shown)}."
        self.shown[text] = "\n".join(message.text for message in messages)
        return text

    def told(self, summary: str) -> str:
        """Return everything that went into a summary, through earlier ones too."""
        seen, waiting = "", [summary]
        done: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in done or name not in self.shown:
                continue
            done.add(name)
            seen += self.shown[name]
            waiting += [other for other in self.shown if other in self.shown[name]]
        return seen


@dataclass(frozen=True)
class Plan:
    """What Hypothesis varies besides the conversation."""

    trigger: int
    keep_share: int
    window: int | None
    chunk: int
    refuses_at: int | None
    writer_fails: bool
    bill_scale: float | None
    pin_notes: bool


plans = st.builds(
    Plan,
    trigger=st.integers(60, 400),
    keep_share=st.integers(2, 4),
    window=st.sampled_from([None, None, 500, 900]),
    chunk=st.just(10_000),  # splitting has its own tests, with the writer
    refuses_at=st.sampled_from([None, None, 1, 3]),
    writer_fails=st.sampled_from([False, False, False, True]),
    bill_scale=st.sampled_from([None, 0.7, 1.0, 1.8]),
    pin_notes=st.booleans(),
)


def desk_for(plan: Plan, notary: Notary) -> Desk:
    middleware = RequestOnlySummarizationMiddleware(
        notary,
        trigger=("tokens", plan.trigger),
        keep=("tokens", plan.trigger // plan.keep_share),
        overhead_tokens=0,
        summary_chunk_tokens=plan.chunk,
        max_input_tokens=plan.window,
        pin=(lambda message: "7781" in message.text) if plan.pin_notes else None,
        shorten_results=40,
    )
    count = middleware.policy.counter

    def bill(messages: Sequence[BaseMessage]) -> int:
        return round(50 + (plan.bill_scale or 1.0) * count(messages))

    overflow = overflow_error("openai", 1_000, 900)
    failures = {plan.refuses_at: overflow} if plan.refuses_at else {}
    return Desk(middleware, failures, bill if plan.bill_scale else None)


def calls_of(messages: Sequence[BaseMessage]) -> list[int]:
    """Return where the model would be called: before AI messages, and at the end."""
    places = [
        index
        for index, message in enumerate(messages)
        if isinstance(message, AIMessage) and index and not waits(messages[:index])
    ]
    return [*places, len(messages)]


def waits(messages: Sequence[BaseMessage]) -> bool:
    return bool(problems(messages)) or (
        isinstance(messages[-1], AIMessage) and bool(messages[-1].tool_calls)
    )


def live_through(desk: Desk, messages: Sequence[BaseMessage]) -> Any:
    """Call the model wherever it would be called; yield history, reply, requests."""
    history: list[BaseMessage] = []
    places = set(calls_of(messages))
    for index in range(len(messages) + 1):
        if index in places and history and not waits(history):
            before = len(desk.sent)
            reply = desk.call(history)
            yield history, reply, desk.sent[before:]
            entry = reply.response_metadata.get("ctxlab")
            if index < len(messages) and entry and not refused(reply):
                noted = {**messages[index].response_metadata, "ctxlab": entry}
                update = {
                    "response_metadata": noted,
                    "usage_metadata": reply.usage_metadata,
                }
                history = [*history, messages[index].model_copy(update=update)]
                continue
        if index < len(messages):
            history = [*history, messages[index]]


relaxed = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@relaxed
@given(messages=conversations(max_steps=18), plan=plans)
def test_i1_to_i8_hold_for_every_request(
    messages: list[BaseMessage], plan: Plan
) -> None:
    notary = Notary(fails=plan.writer_fails)
    desk = desk_for(plan, notary)
    for history, _, requests in live_through(desk, messages):
        copies = [message.model_dump_json() for message in history]
        for request in requests:
            check_request(request, history, desk, notary)
        assert [message.model_dump_json() for message in history] == copies  # I5


def check_request(
    request: list[BaseMessage], history: list[BaseMessage], desk: Desk, notary: Notary
) -> None:
    assert not problems(request)  # I1
    systems = [message for message in request if isinstance(message, SystemMessage)]
    assert all(message in history for message in systems)  # I2
    users = [
        message
        for message in history
        if isinstance(message, HumanMessage) and not is_summary(message)
    ]
    assert sum(message is users[-1] for message in request) == 1  # I3
    kept = [message for message in request if not is_summary(message)]
    check_order(kept, history)  # I4
    notes = [message for message in request if is_summary(message)]
    assert len(notes) <= 1
    for note in notes:
        assert summary_text(note).strip()  # I7
    check_nothing_lost(request, history, desk, notary)  # I8
    first = next(m for m in request if not isinstance(m, SystemMessage))
    assert isinstance(first, HumanMessage) or first is history[0] or not notes


def check_order(kept: list[BaseMessage], history: list[BaseMessage]) -> None:
    places = {message.id: index for index, message in enumerate(history)}
    order = [places[message.id] for message in kept]
    assert order == sorted(order)
    assert len(set(order)) == len(order)
    for message in kept:
        original = history[places[message.id]]
        if message is not original:
            assert message.type in ("tool", "ai")
            names = [(call["id"], call["name"]) for call in tool_calls(message)]
            assert names == [(c["id"], c["name"]) for c in tool_calls(original)]


def tool_calls(message: BaseMessage) -> list[Any]:
    return message.tool_calls if isinstance(message, AIMessage) else []


def check_nothing_lost(
    request: list[BaseMessage], history: list[BaseMessage], desk: Desk, notary: Notary
) -> None:
    carried = {message.id for message in request}
    summary = next((summary_text(m) for m in request if is_summary(m)), "")
    told = notary.told(summary)
    missing = [
        message
        for message in history
        if message.id not in carried and not was_told(message, told)
    ]
    live = desk.middleware.policy.memory
    name = conversation_name(None, desk.middleware.policy.meter.measure(history))
    dropped = [view.view.dropped for view in live.of(name)]
    assert len(missing) <= max([0, *dropped])


def was_told(message: BaseMessage, told: str) -> bool:
    """Return whether each word of a message stands in what the writer was shown."""
    words = message.text.split() + [
        word for call in tool_calls(message) for word in call["args"]["text"].split()
    ]
    plain = told.replace("\\u003c", "<").replace("\\u003e", ">")
    return all(json.dumps(word, ensure_ascii=False)[1:-1] in plain for word in words)


@relaxed
@given(messages=conversations(malformed=True), plan=plans)
def test_i1_malformed_conversations_do_not_get_worse(
    messages: list[BaseMessage], plan: Plan
) -> None:
    desk = desk_for(plan, Notary())
    reply = desk.call(messages)
    for request in desk.sent:
        before, after = problems(messages), problems(request)
        assert sum(after.values()) <= sum(before.values())
    if desk.records[-1].action == "pass" and not refused(reply):
        assert all(a is b for a, b in zip(desk.sent[-1], messages, strict=True))


@relaxed
@given(messages=conversations(max_steps=18), plan=plans)
async def test_sync_and_async_send_the_same(
    messages: list[BaseMessage], plan: Plan
) -> None:
    one, other = desk_for(plan, Notary()), desk_for(plan, Notary())
    for index in calls_of(messages):
        if not waits(messages[:index]):
            one.call(messages[:index])
            await other.acall(messages[:index])
    assert one.sent == other.sent
    assert one.records == other.records


@relaxed
@given(messages=conversations(max_steps=18), plan=plans)
def test_i6_fewer_tokens_whenever_a_summary_was_written(
    messages: list[BaseMessage], plan: Plan
) -> None:
    desk = desk_for(plan, Notary())
    count = desk.middleware.policy.counter
    for history, _, requests in live_through(desk, messages):
        if desk.records[-1].action == "compact" and requests:
            assert count(requests[-1]) < count(history)


def test_the_random_plans_do_compact() -> None:
    plan = Plan(100, 2, None, 50, None, False, None, False)
    desk = desk_for(plan, Notary())
    turns = [HumanMessage("check the tenant filter " * 20, id=str(i)) for i in range(9)]
    desk.call(turns)
    assert [record.action for record in desk.records] == ["compact"]
