"""The fourteen scenarios of row M21, each sync and async: 28 tests.

They read like the table: what comes in, what is expected.
"""

import json
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import tool

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.lab.vendor_errors import VendorError, overflow_error
from ctxlab.summaries import is_summary
from ctxlab.tokens import CjkAwareCounter
from tests.agents import Agent, Way, refusal, words

pytestmark = pytest.mark.parametrize("way", ["sync", "async"])

SMALL: dict[str, Any] = {
    "trigger": ("tokens", 2_000),
    "keep": ("tokens", 900),
    "overhead_tokens": 0,
}


async def long_chat(agent: Agent, turns: int = 12) -> None:
    """Talk until well over 2,000 tokens."""
    for turn in range(turns):
        await agent.ask(f"Turn {turn}: {words(80)}")


async def test_m21_01_cjk_text_is_counted_far_above_a_quarter(way: Way) -> None:
    text = "汉" * 500
    agent = Agent(way, counter=CjkAwareCounter())
    await agent.ask(text)
    latin_rule = count_tokens_approximately([HumanMessage(text)])
    assert agent.records[0].estimate.local >= 295 > 2 * latin_rule


async def test_m21_02_pure_english_stays_near_the_usual_count(way: Way) -> None:
    text = "The parcel left the depot on Monday and is due on Friday. " * 20
    agent = Agent(way, counter=CjkAwareCounter())
    await agent.ask(text)
    usual = count_tokens_approximately([HumanMessage(text)])
    assert agent.records[0].estimate.local == pytest.approx(usual, rel=0.05)


async def test_m21_03_under_the_trigger_the_same_objects_are_sent(way: Way) -> None:
    seen: list[list[Any]] = []
    agent = Agent(way, **SMALL)
    request_of = agent.middleware.policy.meter.measure
    agent.middleware.policy.meter.measure = lambda m: (  # type: ignore[method-assign]
        seen.append(list(m)) or request_of(m)
    )
    await agent.ask("Where is order A123?")
    assert agent.actions == ["pass"]
    sent = [m for m in agent.model.requests[0] if m.type != "system"]
    assert all(a is b for a, b in zip(sent, seen[0], strict=True))


async def test_m21_04_over_the_trigger_only_the_request_is_summarised(way: Way) -> None:
    agent = Agent(way, **SMALL)
    await long_chat(agent)
    assert "compact" in agent.actions
    assert any(is_summary(message) for message in agent.model.requests[-1])
    assert len(agent.model.requests[-1]) < len(agent.state)


async def test_m21_05_the_checkpoint_holds_no_summary_and_no_removal(way: Way) -> None:
    agent = Agent(way, **SMALL)
    await long_chat(agent)
    assert len(agent.state) == 24
    assert not any(is_summary(message) for message in agent.state)
    for snapshot in agent.graph.get_state_history(agent.thread):
        for message in snapshot.values.get("messages", []):
            assert not isinstance(message, RemoveMessage)
            assert not is_summary(message)


async def test_m21_06_an_oversize_user_message_gets_a_visible_answer(way: Way) -> None:
    agent = Agent(way, max_input_tokens=1_500, **SMALL)
    answer = await agent.ask(words(2_000))
    assert refusal(answer) == "user_message_too_large"
    assert "1,500" in answer.text
    assert agent.model.requests == []
    assert agent.writer.requests == []
    assert (await agent.ask("Then only this.")).text == "Understood."


async def test_m21_07_still_over_after_the_summary_drops_oldest_units(way: Way) -> None:
    agent = Agent(way, trigger=("tokens", 2_000), keep=("messages", 4))
    for turn, size in enumerate([60, 60, 60, 260, 260]):
        await agent.ask(f"Turn {turn}: {words(size)}")
    record = next(record for record in agent.records if record.action == "compact")
    assert record.summary_calls == 1
    assert record.dropped_messages > 0
    assert record.after_tokens < 2_000
    request = agent.model.requests[agent.records.index(record)]
    assert is_summary(request[1])
    assert request[-1].text.startswith("Turn")


async def test_m21_08_first_overflow_compacts_and_retries_once(way: Way) -> None:
    agent = Agent(way, window=2_500, keep=("tokens", 1_000))
    answers = [await agent.ask(f"Turn {turn}: {words(80)}") for turn in range(12)]
    assert "recover" in agent.actions
    assert not any(map(refusal, answers))
    record = next(record for record in agent.records if record.action == "recover")
    retried = agent.records.index(record) + 1
    assert len(agent.model.requests) == len(agent.records) + 1
    refused, again = agent.model.requests[retried - 1 : retried + 1]
    assert len(again) < len(refused)


async def test_m21_09_second_overflow_stops_visibly(way: Way) -> None:
    always = SimulatedChatModel(
        failures=lambda index, _: overflow_error("openai", 9_000, 8_000)
    )
    agent = Agent(way, model=always)
    history = [HumanMessage(words(80)), AIMessage(words(80)), HumanMessage("And now?")]
    answer = await agent.ask(*history)
    assert refusal(answer) == "provider_overflow"
    assert len(always.requests) == 2
    assert len(agent.writer.requests) == 1


async def test_m21_10_an_ordinary_exception_leaves_as_the_same_object(way: Way) -> None:
    body = {"message": "Rate limit reached: 30000 tokens per min (TPM)"}
    error = VendorError(f"Error code: 429 - {body}", 429, body)
    agent = Agent(way, model=SimulatedChatModel(failures={0: error}))
    with pytest.raises(VendorError) as caught:
        await agent.ask("Hello?")
    assert caught.value is error
    assert len(agent.model.requests) == 1


async def test_m21_11_sync_and_async_send_the_same_requests(way: Way) -> None:
    this, other = Agent(way, **SMALL), Agent("sync", **SMALL)
    await long_chat(this)
    await long_chat(other)
    texts = [
        [[message.text for message in request] for request in agent.model.requests]
        for agent in (this, other)
    ]
    assert texts[0] == texts[1]
    assert this.records == other.records


async def test_m21_12_every_chunk_reaches_a_summary_request_in_order(way: Way) -> None:
    marks = [f"MARK-{number:02}" for number in range(10)]
    agent = Agent(
        way,
        writer=FactKeeper(marks),
        trigger=("tokens", 6_000),
        keep=("tokens", 900),
        summary_chunk_tokens=1_500,
        overhead_tokens=0,
    )
    for mark in marks:
        await agent.ask(f"{mark} {words(160)}")
    told = ["\n".join(m.text for m in request) for request in agent.writer.requests]
    record = next(record for record in agent.records if record.summary_calls)
    assert record.summary_calls == len(told) >= 3
    # Chunks are asked side by side: which request is noted first is chance.
    *chunks, merged = told
    chunks.sort(key=lambda text: min(mark for mark in marks if mark in text))
    places = [
        next(i for i, text in enumerate(chunks) if mark in text) for mark in marks[:6]
    ]
    assert places == sorted(places)
    at = [merged.index(mark) for mark in marks[:6]]
    assert at == sorted(at), "the merge is shown the chunks in their order"
    assert merged.index("Summary chunk 1/") < merged.index("Summary chunk 2/")


async def test_m21_13_usage_is_recorded_with_the_request_as_sent(way: Way) -> None:
    agent = Agent(way, **SMALL)
    await long_chat(agent)
    last = agent.state[-1].response_metadata["ctxlab"]
    sent = [m for m in agent.model.requests[-1] if m.type != "system"]
    billed = agent.state[-1].usage_metadata["input_tokens"]  # type: ignore[attr-defined]
    assert last["provider_input_tokens"] == billed
    assert last["local_input_tokens"] == agent.middleware.policy.counter(sent)
    assert json.loads(json.dumps(last)) == last


async def test_m21_14_a_short_tool_session_is_not_killed(way: Way) -> None:
    @tool
    def lookup_order(order_id: str) -> str:
        """Return the state of an order."""
        return f"order {order_id}: shipped"

    def rule(messages: list[Any]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("It is shipped.")
        call = {"name": "lookup_order", "args": {"order_id": "A1"}, "id": words(1)}
        return AIMessage("", tool_calls=[call])

    model = SimulatedChatModel(fixed_overhead=11_000, replies=rule)
    agent = Agent(way, model=model, tools=[lookup_order])
    for question in ("Where is A1?", "And now?", "Thanks, and A1 again?"):
        assert refusal(await agent.ask(question)) is None
    assert set(agent.actions) == {"pass"}
