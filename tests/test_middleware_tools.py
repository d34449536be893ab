"""Row X14: compaction on demand, and looking up what was summarised."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.store.memory import InMemoryStore

from ctxlab.lab import FactKeeper, FailingWriter, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.middleware.history_search import NOTHING, found
from ctxlab.records import Compaction
from ctxlab.summaries import SummaryError, is_summary
from ctxlab.tokens import ScriptCounter
from tests.agents import Agent, Way, words

both_ways = pytest.mark.parametrize("way", ["sync", "async"])
count_text = ScriptCounter().text


def chat(turns: int, size: int = 60) -> list[BaseMessage]:
    return [
        message
        for turn in range(turns)
        for message in (
            HumanMessage(f"Turn {turn}: {words(size)}"),
            AIMessage(f"Noted {turn}."),
        )
    ]


class Caller:
    """Call one tool at its first chance, then answer."""

    def __init__(self, name: str, **args: Any) -> None:
        self.call = {"name": name, "args": args, "id": "call-1"}
        self.results: list[str] = []

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            self.results.append(last.text)
            return AIMessage("done")
        if last.text == "use it":
            return AIMessage("", tool_calls=[self.call])
        return AIMessage("fine")


# compact_conversation


@both_ways
async def test_x14_the_model_asks_for_a_compaction(way: Way) -> None:
    caller = Caller("compact_conversation")
    model = SimulatedChatModel(replies=caller)
    agent = Agent(way, model=model, tools_for_model=["compact_conversation"])
    await agent.ask(*chat(6))
    await agent.ask("use it")
    assert caller.results
    assert agent.actions == ["pass", "pass", "compact"]
    assert len(agent.writer.requests) == 1
    assert any(map(is_summary, model.requests[-1]))
    await agent.ask("and on")
    assert agent.actions[-1] == "reuse"
    assert len(agent.writer.requests) == 1


async def test_x14_asking_twice_after_a_failed_call_costs_one_summary() -> None:
    caller = Caller("compact_conversation")
    failure = {2: RuntimeError("connection lost")}
    model = SimulatedChatModel(replies=caller, failures=failure)
    agent = Agent(model=model, tools_for_model=["compact_conversation"])
    await agent.ask(*chat(6))
    with pytest.raises(RuntimeError, match="connection lost"):
        await agent.ask("use it")
    agent.graph.invoke(None, agent.thread)
    assert len(agent.writer.requests) == 1
    assert any(map(is_summary, model.requests[-1]))


# compact() from code


@both_ways
async def test_x14_code_asks_for_a_compaction_between_two_turns(way: Way) -> None:
    agent = Agent(way)
    await agent.ask(*chat(6))
    if way == "sync":
        record = agent.middleware.compact(agent.state)
    else:
        record = await agent.middleware.acompact(agent.state)
    assert record.action == "compact"
    assert record.after_tokens < record.before_tokens
    assert agent.model.requests[1:] == []
    await agent.ask("and on")
    assert agent.actions == ["pass", "reuse"]
    assert any(map(is_summary, agent.model.requests[-1]))
    assert len(agent.writer.requests) == 1


async def test_x14_a_view_made_on_demand_holds_for_its_own_history_only() -> None:
    agent = Agent()
    history = chat(6)
    await agent.ask(*history)
    edited = [history[0], HumanMessage("something else"), *history[2:]]
    agent.middleware.compact(edited)
    await agent.ask("and on")
    assert agent.actions[-1] == "pass"


def test_x14_nothing_to_compact_is_said() -> None:
    writer = FactKeeper()
    middleware = RequestOnlySummarizationMiddleware(writer)
    record = middleware.compact([HumanMessage("hello")])
    assert record.action == "pass"
    assert writer.requests == []


def test_x14_compact_says_why_it_failed() -> None:
    middleware = RequestOnlySummarizationMiddleware(
        FailingWriter("raising"), on_failure="raise"
    )
    with pytest.raises(SummaryError, match="401"):
        middleware.compact(chat(6))


async def test_x14_a_view_on_demand_survives_in_a_store() -> None:
    store = InMemoryStore()
    agent = Agent(store=store)
    await agent.ask(*chat(6))
    agent.middleware.compact(agent.state, thread_id="t", store=store)
    await agent.ask("and on")
    agent.middleware.policy.forget()
    await agent.ask("after a restart")
    assert agent.actions[-1] == "reuse"
    assert len(agent.writer.requests) == 1


# recall_history


@both_ways
async def test_x14_the_model_finds_what_was_summarised(way: Way) -> None:
    caller = Caller("recall_history", query="door code")
    agent = Agent(
        way,
        model=SimulatedChatModel(replies=caller),
        tools_for_model=["recall_history"],
        trigger=("tokens", 1_500),
        keep=("tokens", 600),
        overhead_tokens=0,
    )
    await agent.ask("The door code is 7781, do not tell anybody.")
    await agent.ask(*chat(8))
    await agent.ask("use it")
    (text,) = caller.results
    assert "The door code is 7781, do not tell anybody." in text
    assert "7781" not in "".join(m.text for m in agent.model.requests[-2])


async def test_x14_a_shortened_result_is_fetched_again() -> None:
    @tool
    def read_log() -> str:
        """Read the log."""
        return f"{words(400, 'line')} SECRET-4711 {words(400, 'more')}"

    asked = iter([*["read_log"] * 6, "recall_history"])
    results: list[str] = []

    def rule(messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage) and last.name == "recall_history":
            results.append(last.text)
        name = next(asked, None)
        if name is None:
            return AIMessage("done")
        args = {"query": "SECRET-4711"} if name == "recall_history" else {}
        call = {"name": name, "args": args, "id": f"c{len(messages)}"}
        return AIMessage("", tool_calls=[call])

    model = SimulatedChatModel(replies=rule)
    agent = Agent(
        model=model,
        tools=[read_log],
        tools_for_model=["recall_history"],
        trigger=("tokens", 9_000),
        keep=("tokens", 4_000),
        overhead_tokens=0,
    )
    await agent.ask("read it all")
    assert "SECRET-4711" in results[0]
    assert count_text(results[0]) <= 2_000
    assert sum("SECRET" in m.text for m in model.requests[-2]) < 6
    assert all("SECRET" in m.text for m in agent.state if m.name == "read_log")


def test_x14_recall_keeps_its_budget_and_the_order() -> None:
    history: list[BaseMessage] = [
        HumanMessage(f"note {n} about parcel A-{n}: {words(50)}") for n in range(40)
    ]
    text = found(history, "parcel", count_text=count_text, budget=500)
    assert count_text(text) <= 500
    places = [int(line[1 : line.index("]")]) for line in text.split("\n\n")]
    assert places == sorted(places)
    assert len(places) > 1
    assert found(history, "A-17", count_text=count_text, budget=500).startswith("[17]")
    assert found(history, "unheard", count_text=count_text, budget=500) == NOTHING


def test_x14_recall_finds_chinese_words_and_call_arguments() -> None:
    call = {"name": "write", "args": {"path": "src/ledger.py"}, "id": "c"}
    history = [
        HumanMessage("出库单号是 CK-2024，请记住"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("written", tool_call_id="c"),
    ]
    assert "CK-2024" in found(history, "出库单", count_text=len, budget=400)
    assert "src/ledger.py" in found(history, "ledger", count_text=len, budget=400)


def test_x14_an_unknown_tool_is_refused_at_construction() -> None:
    with pytest.raises(ValueError, match="recall_history"):
        RequestOnlySummarizationMiddleware(
            lambda _: "S.",
            tools=["remember"],  # type: ignore[list-item]
        )


# Pins and hooks


async def test_x14_hooks_are_called_once_with_the_exact_span() -> None:
    before: list[Compaction] = []
    after: list[Compaction] = []
    agent = Agent(
        trigger=("tokens", 1_500),
        keep=("tokens", 600),
        overhead_tokens=0,
        before_compaction=before.append,
        after_compaction=after.append,
    )
    history = chat(10)
    await agent.ask(*history, "now?")
    assert len(before) == len(after) == 1
    (record,) = agent.records
    assert [m.text for m in after[0].span] == [m.text for m in history[: record.cut]]
    assert (before[0].summary, before[0].after) == ("", None)
    assert after[0].summary
    assert after[0].before == record.before_tokens
    assert after[0].after == record.after_tokens


async def test_x14_after_a_failure_only_the_hook_before_was_called() -> None:
    told: list[str] = []
    agent = Agent(
        writer=FailingWriter("blank"),
        trigger=("messages", 3),
        keep=("messages", 1),
        before_compaction=lambda _: told.append("before"),
        after_compaction=lambda _: told.append("after"),
    )
    await agent.ask(*chat(4), "now?")
    assert told == ["before"]


async def test_x14_a_hook_that_fails_costs_no_turn() -> None:
    def broken(_: Any) -> None:
        raise RuntimeError("hook")

    agent = Agent(
        trigger=("messages", 3), keep=("messages", 1), after_compaction=broken
    )
    assert (await agent.ask(*chat(4), "now?")).text == "Understood."


async def test_x14_a_pin_keeps_its_whole_unit_through_compactions() -> None:
    agent = Agent(
        trigger=("tokens", 1_500),
        keep=("tokens", 600),
        overhead_tokens=0,
        pin=lambda message: "RULE" in message.text,
    )
    await agent.ask("RULE: never ship on Sunday.")
    for _ in range(4):
        await agent.ask(*chat(5))
    assert agent.actions.count("compact") >= 3
    for request in agent.model.requests:
        assert sum("RULE" in m.text and not is_summary(m) for m in request) == 1
