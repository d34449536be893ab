"""Calls far below the trigger go straight to the model; nothing else changes."""

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore

from ctxlab.calibration import Line, LinearCalibration
from ctxlab.chain import Call
from ctxlab.chain.asked import COMPACT_TOOL
from ctxlab.chain.headroom import far_below, highest_bill, most_tokens
from ctxlab.chain.protection import user_message_over_limit, window_was_full
from ctxlab.chain.remembering import recall
from ctxlab.chain.samples import FitBook
from ctxlab.lab import load_transcript, replay, transcript_names
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from tests.agents import words
from tests.requests import Desk, refused
from tests.strategies import conversations
from tests.test_invariants import live_through

BOTH: Any = {"tokens": 900, "messages": 8}
SAMPLE = {
    "local_input_tokens": 40,
    "provider_input_tokens": 900,
    "fixed_tokens": 10.5,
    "fingerprint": "f",
}


def middleware(**given: Any) -> RequestOnlySummarizationMiddleware:
    return RequestOnlySummarizationMiddleware(lambda messages: "S.", **given)


def quiet(**given: Any) -> Desk:
    """Return a desk to which nobody listens."""
    desk = Desk(middleware(**given), bill=lambda messages: 700 + 9 * len(messages))
    desk.middleware.policy.listeners.clear()
    return desk


def call_for(desk: Desk, messages: list[Any]) -> Call:
    return Call(desk.middleware.policy, desk.request(messages))


def answered(**entry: Any) -> list[Any]:
    """Return a question with an answer that bears this entry, and another question."""
    usage = {"input_tokens": 900, "output_tokens": 5, "total_tokens": 905}
    metadata = {"ctxlab": entry} if entry else {}
    answer = AIMessage("Two.", usage_metadata=usage, response_metadata=metadata)
    return [HumanMessage("Which tests fail?"), answer, HumanMessage("Fix both.")]


def test_a_call_far_below_is_neither_fitted_nor_estimated(monkeypatch: Any) -> None:
    desk, history = quiet(), [HumanMessage("one")]
    monkeypatch.setattr(FitBook, "fit", None)
    for turn in range(5):
        reply = desk.call(history)
        assert reply.response_metadata["ctxlab"]["local_input_tokens"] > 0
        history = [*history, reply, HumanMessage(f"and {turn}")]
    assert len(desk.sent) == 5


def test_whoever_listens_is_told_an_estimate() -> None:
    desk = Desk(middleware(), bill=lambda messages: 700)
    assert not far_below(call_for(desk, answered(**SAMPLE)))
    desk.call([HumanMessage("one")])
    assert desk.records[0].estimate.effective > 0


@pytest.mark.parametrize("name", transcript_names())
def test_with_a_listener_and_without_the_same_is_sent_and_written(name: str) -> None:
    told, untold = (
        replay(load_transcript(name), [middleware()], overhead=500, records=records)
        for records in (True, False)
    )
    assert told.calls and not untold.calls
    assert [e.messages for e in told.exchanges] == [
        e.messages for e in untold.exchanges
    ]
    assert entries(told.state_messages) == entries(untold.state_messages)
    assert len(told.summary_calls) == len(untold.summary_calls)


def entries(messages: Any) -> list[Any]:
    return [m.response_metadata for m in messages if isinstance(m, AIMessage)]


trials = st.fixed_dictionaries(
    {
        "trigger": st.sampled_from([("tokens", 900), ("tokens", 4_000), BOTH]),
        "keep": st.sampled_from([("tokens", 250), ("messages", 4)]),
        "overhead_tokens": st.sampled_from([0, 200]),
        "max_input_tokens": st.sampled_from([None, 2_000, 8_000]),
        "use_reported_usage": st.booleans(),
        "remember": st.booleans(),
    }
)


@settings(max_examples=40, deadline=None)
@given(
    messages=conversations(max_steps=18),
    trial=trials,
    scales=st.lists(st.sampled_from([0, 0.3, 1, 1.3, 20]), min_size=1, max_size=4),
    refuses_at=st.sampled_from([None, 1, 3]),
)
def test_the_lane_changes_nothing(
    messages: list[Any], trial: Any, scales: list[float], refuses_at: int | None
) -> None:
    def lived(desk: Desk) -> list[Any]:
        count = desk.middleware.policy.counter
        desk.failures = {refuses_at or 0: overflow_error("openai", 1_000, 900)}
        desk.bill = lambda sent: round(
            scales[len(sent) % len(scales)] * (50 + count(sent))
        )
        return [
            (reply.text, reply.response_metadata, [[m.text for m in r] for r in sent])
            for _, reply, sent in live_through(desk, messages)
        ]

    listened = Desk(middleware(**trial))
    assert lived(listened) == lived(quiet(**trial))


@settings(max_examples=80, deadline=None)
@given(data=st.data(), messages=conversations(max_steps=14))
def test_no_signal_exceeds_the_most(data: Any, messages: list[Any]) -> None:
    numbers = st.integers(1, 60_000)
    desk = quiet(overhead_tokens=data.draw(st.integers(0, 5_000)))
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage) and data.draw(st.booleans()):
            billed, out = data.draw(numbers), data.draw(numbers)
            local = data.draw(st.integers(0, 3_000))
            usage = {"input_tokens": billed, "output_tokens": out}
            usage["total_tokens"] = billed + out
            sample = dict(SAMPLE, local_input_tokens=local)
            sample["provider_input_tokens"] = billed
            sample["fixed_tokens"] = data.draw(st.integers(0, 400))
            update = {
                "usage_metadata": usage,
                "response_metadata": {"ctxlab": sample},
            }
            messages[place] = message.model_copy(update=update)
    call = call_for(desk, messages)
    most = most_tokens(call)
    assert call.estimate.effective <= most
    if far_below(call):
        list(recall(call))
        assert call.live.empty and not call.due()
        assert user_message_over_limit(call) is None and not window_was_full(call)


@pytest.mark.parametrize(
    "strange",
    [
        {"view": "v1"},
        {"refused": "still_too_large"},
        {"window_full": True},
        {"provider_input_tokens": True},
        {"provider_input_tokens": "900"},
        {"provider_input_tokens": 0},
        {"provider_input_tokens": None},
        {"local_input_tokens": -1},
        {"local_input_tokens": 4.5},
        {"fixed_tokens": math.nan},
        {"fixed_tokens": -5_000},
        {"fixed_tokens": "many"},
        {"fixed_tokens": 901},
    ],
    ids=str,
)
def test_an_answer_with_more_to_tell_than_a_bill_is_looked_at(strange: Any) -> None:
    desk = quiet()
    assert highest_bill(call_for(desk, answered(**SAMPLE))) == 900 - 10.5 + 5
    call = call_for(desk, answered(**{**SAMPLE, **strange}))
    assert highest_bill(call) == math.inf and not far_below(call)


@pytest.mark.parametrize("usage", [{}, {"output_tokens": None}], ids=str)
def test_usage_that_nobody_validated_is_looked_at_and_costs_no_turn(usage: Any) -> None:
    desk, history = quiet(), answered(**SAMPLE)
    history[1].usage_metadata = {"input_tokens": 900, **usage}
    assert not far_below(call_for(desk, history))
    assert desk.call(history).text == "ok"


def test_a_bill_without_a_sample_is_looked_at() -> None:
    assert not far_below(call_for(quiet(), answered()))


def test_a_conversation_without_any_bill_is_not() -> None:
    desk = quiet()
    history = [HumanMessage("one"), AIMessage("1"), HumanMessage("two")]
    assert highest_bill(call_for(desk, history)) == 0
    assert far_below(call_for(desk, history))


def test_many_answers_are_left_to_the_fit() -> None:
    history = [m for _ in range(40) for m in (HumanMessage("q"), AIMessage("a"))]
    call = call_for(quiet(), [*history, HumanMessage("q")])
    assert not far_below(call)


def test_what_bounds_no_slope_is_looked_at() -> None:
    desk = quiet(calibration=LinearCalibration())
    assert not far_below(call_for(desk, answered(**SAMPLE)))
    silent = quiet(calibration=LinearCalibration(), use_reported_usage=False)
    assert far_below(call_for(silent, answered(**SAMPLE)))


class Prior(LinearCalibration):
    """It knows something before the first bill."""

    def fit(self, samples: Any, *, fixed_tokens: float | None = None) -> Line:
        return Line(60_000, 1)


def test_a_calibration_that_needs_no_bill_is_asked() -> None:
    desk = quiet(calibration=Prior())
    history = [*big(), AIMessage("and"), HumanMessage("now?")]
    assert not far_below(call_for(desk, history))
    desk.call(history)
    assert len(desk.sent[0]) < len(history)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_fails_behind_the_model_is_no_overflow(asynchronous: bool) -> None:
    desk = quiet(overflow_patterns=["has no attribute"])
    desk.answer = lambda request: desk.sent.append([])  # type: ignore[method-assign]
    with pytest.raises(AttributeError, match="has no attribute 'result'"):
        asyncio.run(desk.acall(big())) if asynchronous else desk.call(big())
    assert len(desk.sent) == 1


def test_what_the_model_or_code_asked_for_is_done() -> None:
    desk, history = quiet(), answered(**SAMPLE)
    asking = AIMessage("", tool_calls=[{"name": COMPACT_TOOL, "args": {}, "id": "c"}])
    result = ToolMessage("ok", tool_call_id="c", name=COMPACT_TOOL)
    assert not far_below(call_for(desk, [HumanMessage("q"), asking, result]))
    desk.middleware.policy.waiting.put("another", "view")
    assert not far_below(call_for(desk, history))


@pytest.mark.parametrize("trigger", [("tokens", 9_000), ("messages", 3)])
def test_near_the_trigger_the_chain_decides(trigger: Any) -> None:
    keep = ("tokens", 400) if trigger[0] == "tokens" else ("messages", 2)
    desk, history = quiet(trigger=trigger, keep=keep), answered(**SAMPLE)
    assert far_below(call_for(desk, history[:1]))
    longer = [*history, AIMessage("a"), HumanMessage(words(5_000))]
    assert not far_below(call_for(desk, longer))


def test_both_sizes_of_a_trigger_count_and_a_user_message_is_guarded() -> None:
    both = {"tokens": 6_000, "messages": 50}
    desk = quiet(trigger=both, keep=("tokens", 900))
    assert not far_below(call_for(desk, [HumanMessage(words(6_000))]))
    assert refused(desk.call([HumanMessage(words(6_000))])) == "user_message_too_large"


def big() -> list[Any]:
    """A conversation far below the trigger, of which half could be summarised."""
    said = (HumanMessage(words(300)), AIMessage("noted"))
    return [*(m for _ in range(6) for m in said), HumanMessage("now?")]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_overflow_of_a_call_that_went_straight_is_layer_5(
    asynchronous: bool,
) -> None:
    desk = quiet(keep=("tokens", 5_000))
    desk.failures = {1: overflow_error("openai", 2_100, 2_000)}
    assert far_below(call_for(desk, big()))
    reply = asyncio.run(desk.acall(big())) if asynchronous else desk.call(big())
    assert len(desk.sent) == 2 and len(desk.sent[1]) < len(desk.sent[0])
    assert reply.text == "ok" and reply.response_metadata["ctxlab"]["view"]
    assert list(desk.middleware.policy.learned_limits.values()) == [2_000]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("error", [ConnectionError("gone"), GraphInterrupt()])
def test_every_other_error_goes_on_to_the_caller(
    error: Exception, asynchronous: bool
) -> None:
    desk = quiet()
    desk.failures = {1: error}
    with pytest.raises(type(error)) as raised:
        asyncio.run(desk.acall(big())) if asynchronous else desk.call(big())
    assert raised.value is error and len(desk.sent) == 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_wrong_namespace_shows_at_the_first_call(asynchronous: bool) -> None:
    desk = quiet(namespace=lambda runtime: ("views", "a.b"))
    request = replace(desk.request(big()), runtime=Runtime(store=InMemoryStore()))
    hooks = desk.middleware
    with pytest.raises(ValueError, match="a tuple of names without dots"):
        if asynchronous:
            asyncio.run(hooks.awrap_model_call(request, desk.aanswer))
        else:
            hooks.wrap_model_call(request, desk.answer)
    assert not desk.sent


def test_after_a_run_its_messages_are_let_go_of() -> None:
    desk = quiet()
    call = call_for(desk, big())
    assert call.history.line.objects
    desk.call(big())
    assert not call.history.line.objects
