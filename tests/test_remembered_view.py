"""Row X1: a view is right after an edit, a fork, a deletion, a restart, a failure.

Every test talks to a real agent on a real checkpointer. The rule behind all of them:
a view holds for exactly the contents it was made from.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.memory import InMemoryStore

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import is_summary, summary_text
from tests.agents import Agent, words

SMALL: dict[str, Any] = {
    "trigger": ("tokens", 2_000),
    "keep": ("tokens", 900),
    "overhead_tokens": 0,
}


def texts_of(request: list[BaseMessage]) -> str:
    return "\n".join(message.text for message in request)


async def compacted(**more: Any) -> Agent:
    """Return an agent whose conversation was compacted once, a turn ago."""
    agent = Agent(writer=FactKeeper(["FACT-0", "FACT-1"]), **SMALL, **more)
    turn = 0
    while "compact" not in agent.actions:
        await agent.ask(f"Turn {turn}, FACT-{turn}: {words(80)}")
        turn += 1
    await agent.ask("one more")
    assert agent.actions[-1] == "reuse"
    return agent


async def test_x1_a_reused_view_costs_no_summary_and_the_same_bytes() -> None:
    agent = await compacted()
    notes = {m.text for request in agent.model.requests for m in request[1:2]}
    await agent.ask("and again")
    assert agent.actions[-1] == "reuse"
    assert len(agent.writer.requests) == 1
    assert agent.model.requests[-1][1].text in notes


async def test_x1_an_edit_under_the_same_id_gives_up_the_view() -> None:
    agent = await compacted()
    first = agent.state[0]
    changed = HumanMessage(f"Turn 0, CHANGED: {words(80)}", id=first.id)
    agent.graph.update_state(agent.thread, {"messages": [changed]})
    await agent.ask("and now?")
    assert "FACT-0" not in texts_of(agent.model.requests[-1])
    assert agent.actions[-1] == "compact"
    assert "CHANGED" in texts_of(agent.writer.requests[-1])


async def test_x1_an_edit_in_the_tail_keeps_the_view() -> None:
    agent = await compacted()
    index = len(agent.state) - 2
    changed = HumanMessage("another question", id=agent.state[index].id)
    agent.graph.update_state(agent.thread, {"messages": [changed]})
    await agent.ask("and now?")
    assert agent.actions[-1] == "reuse"
    assert len(agent.writer.requests) == 1
    assert "another question" in texts_of(agent.model.requests[-1])


async def test_x1_a_visible_answer_does_not_hide_the_view_before_it() -> None:
    agent = await compacted(max_input_tokens=4_000, store=InMemoryStore())
    refused = await agent.ask(words(4_000))
    assert refused.response_metadata["ctxlab"]["refused"] == "user_message_too_large"
    agent.middleware.policy.forget()  # as a restart would
    await agent.ask("then this")
    (prompt,) = agent.writer.requests[1:2]
    assert "FACT-0:" not in texts_of(prompt)  # told once; it extends that summary


async def test_x1_a_deleted_message_is_in_no_summary() -> None:
    agent = await compacted()
    gone = agent.state[0]
    agent.graph.update_state(
        agent.thread, {"messages": [RemoveMessage(id=str(gone.id))]}
    )
    await agent.ask("and now?")
    assert "FACT-0" not in texts_of(agent.model.requests[-1])


@pytest.mark.parametrize("gone", [False, True])
async def test_b29_a_bill_of_a_request_that_was_edited_is_not_used(gone: bool) -> None:
    agent = Agent()
    await agent.ask(words(4_000))
    await agent.ask("and now?")
    assert agent.records[-1].estimate.reported is not None
    first = agent.state[0]
    changed = (
        RemoveMessage(id=str(first.id)) if gone else HumanMessage("x", id=first.id)
    )
    agent.graph.update_state(agent.thread, {"messages": [changed]})
    await agent.ask("and after the edit?")
    assert agent.records[-1].estimate.reported is None
    await agent.ask("and then?")
    assert agent.records[-1].estimate.signal == "reported"


async def test_b29_a_bill_from_before_a_summary_in_the_history_is_not_used() -> None:
    """As LangChain's middleware leaves a history: a summary, then what it kept."""
    usage = {"input_tokens": 90_000, "output_tokens": 9, "total_tokens": 90_009}
    note = HumanMessage("Earlier …", additional_kwargs={"lc_source": "summarization"})
    agent = Agent(overhead_tokens=0)
    kept = AIMessage("Yes.", usage_metadata=usage)  # type: ignore[arg-type]
    await agent.ask(note, kept, HumanMessage("And now?"))
    assert agent.records[0].estimate.effective < 100
    await agent.ask("and then?")
    assert agent.records[-1].estimate.reported is not None


@pytest.mark.parametrize("broken", ["12", None, float("nan"), [1], 1e300])
async def test_b27_a_broken_sample_in_a_checkpoint_breaks_no_call(broken: Any) -> None:
    agent = Agent()
    answer = await agent.ask("first")
    for key in ("provider_input_tokens", "fixed_tokens"):
        entry = {**answer.response_metadata["ctxlab"], key: broken}
        changed = answer.model_copy(update={"response_metadata": {"ctxlab": entry}})
        agent.graph.update_state(agent.thread, {"messages": [changed]})
        await agent.ask("and now?")
        assert 0 < agent.records[-1].estimate.effective < 10_000


async def test_x1_time_travel_goes_back_to_the_view_of_that_time() -> None:
    agent = await compacted()
    history = list(agent.graph.get_state_history(agent.thread))
    early = next(s for s in history if len(s.values["messages"]) == 6 and not s.next)
    told = {"messages": [HumanMessage("another way")]}
    agent.graph.invoke(told, early.config)
    assert agent.actions[-1] == "pass"
    assert not any(map(is_summary, agent.model.requests[-1]))
    late = next(s for s in history if not s.next)
    agent.graph.invoke(told, late.config)
    assert agent.actions[-1] == "reuse"
    assert len(agent.writer.requests) == 1


async def test_x1_two_forks_behind_the_cut_share_the_summary() -> None:
    agent = await compacted()
    fork = agent.graph.get_state(agent.thread).config
    for text in ("this way", "that way"):
        agent.graph.invoke({"messages": [HumanMessage(text)]}, fork)
        assert agent.actions[-1] == "reuse"
    assert "this way" not in texts_of(agent.model.requests[-1])
    assert len(agent.writer.requests) == 1


async def test_x1_a_fork_before_the_cut_gets_a_summary_of_its_own() -> None:
    agent = await compacted()
    history = list(agent.graph.get_state_history(agent.thread))
    early = next(s for s in history if len(s.values["messages"]) == 2 and not s.next)
    config = early.config
    for turn in range(10):
        told = {"messages": [HumanMessage(f"Fork {turn}: {words(80)}")]}
        config = (
            agent.graph.invoke(told, config)
            and agent.graph.get_state(agent.thread).config
        )
    summaries = [m for m in agent.model.requests[-1] if is_summary(m)]
    assert len(summaries) == 1
    assert "FACT-1" not in summary_text(summaries[0])
    assert "FACT-0" in summary_text(summaries[0])


async def test_x1_a_failed_call_after_a_compaction_costs_no_second_summary() -> None:
    lost = [f"connection lost {number}" for number in range(3)]
    failures: dict[int, Exception] = {}
    model = SimulatedChatModel(failures=lambda index, _: failures.pop(index, None))
    agent = Agent(model=model, **SMALL)
    for turn in range(30):
        before = len(model.requests)
        if "compact" not in agent.actions and turn > 3:
            failures[before] = RuntimeError(lost[0])
        try:
            await agent.ask(f"Turn {turn}: {words(80)}")
        except RuntimeError:
            compacting = agent.writer.requests
            if compacting:
                break
    assert len(agent.writer.requests) == 1
    failures.clear()
    for _ in range(2):
        agent.graph.invoke(None, agent.thread)
    await agent.ask("and on")
    assert len(agent.writer.requests) == 1
    assert any(map(is_summary, model.requests[-1]))


async def test_x1_sub_agents_share_a_middleware_and_a_thread() -> None:
    writer = FactKeeper(["MAIN-FACT", "SUB-FACT"])
    middleware = RequestOnlySummarizationMiddleware(writer, **SMALL)
    sub_model = SimulatedChatModel(replies=lambda messages: "sub says fine")
    sub: Any = create_agent(sub_model, [], middleware=[middleware])

    @tool
    def delegate(task: str) -> str:
        """Give a task to a helper."""
        chat = [HumanMessage(f"SUB-FACT {n} {words(60)}") for n in range(12)]
        return str(
            sub.invoke({"messages": [*chat, HumanMessage(task)]})["messages"][-1].text
        )

    def rule(messages: list[BaseMessage]) -> AIMessage:
        if messages[-1].text.startswith("delegate"):
            args = {"task": "look"}
            call = {"name": "delegate", "args": args, "id": f"d{len(messages)}"}
            return AIMessage("", tool_calls=[call])
        return AIMessage("fine")

    main_model = SimulatedChatModel(replies=rule)
    main: Any = create_agent(
        main_model, [delegate], middleware=[middleware], checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}}
    for turn in range(14):
        text = "delegate it" if turn % 4 == 3 else f"MAIN-FACT {turn} {words(60)}"
        main.invoke({"messages": [HumanMessage(text)]}, thread)
    assert any(is_summary(m) for m in main_model.requests[-1])
    for request in main_model.requests:
        assert "SUB-FACT" not in texts_of(request)
    for request in sub_model.requests:
        assert "MAIN-FACT" not in texts_of(request)


def agent_on(saver: Any, store: Any, writer: Any, **settings: Any) -> Any:
    """Return a new process: a new model and a new middleware on old storage."""
    middleware = RequestOnlySummarizationMiddleware(writer, **{**SMALL, **settings})
    model = SimulatedChatModel()
    graph = create_agent(
        model, [], middleware=[middleware], checkpointer=saver, store=store
    )
    return graph, model, middleware


THREAD: Any = {"configurable": {"thread_id": "t"}}


def talk(graph: Any, first: int, last: int, thread: Any = THREAD) -> None:
    for turn in range(first, last):
        told = HumanMessage(f"Turn {turn}: {words(80)}")
        graph.invoke({"messages": [told]}, thread)


def test_x1_a_restart_with_a_store_costs_no_summary() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    writer, other = FactKeeper(), FactKeeper()
    graph, model, _ = agent_on(saver, store, writer)
    talk(graph, 0, 9)
    assert len(writer.requests) == 1
    reborn, again, _ = agent_on(saver, store, other)
    talk(reborn, 9, 10)
    assert other.requests == []
    note, before = again.requests[0][0], model.requests[-1][0]
    assert is_summary(note)
    assert note.text == before.text


def test_x1_a_restart_without_a_store_writes_one_summary() -> None:
    saver, writer = InMemorySaver(), FactKeeper()
    talk(agent_on(saver, None, FactKeeper())[0], 0, 9)
    reborn, model, _ = agent_on(saver, None, writer)
    talk(reborn, 9, 12)
    assert len(writer.requests) == 1
    assert is_summary(model.requests[-1][0])


def test_x1_another_way_of_writing_does_not_reuse_the_summary() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    talk(agent_on(saver, store, FactKeeper())[0], 0, 9)
    writer = FactKeeper(model_name="another-writer")
    reborn, _, _ = agent_on(saver, store, writer)
    talk(reborn, 9, 10)
    assert len(writer.requests) == 1


def test_b74_views_survive_sqlite_and_json(tmp_path: Path) -> None:
    path, store = str(tmp_path / "chat.sqlite"), InMemoryStore()
    writer = FactKeeper()
    with SqliteSaver.from_conn_string(path) as saver:
        talk(agent_on(saver, store, FactKeeper())[0], 0, 9)
    (item,) = store.search(("ctxlab", "views"))
    assert json.loads(json.dumps(item.value)) == item.value
    with SqliteSaver.from_conn_string(path) as saver:
        graph, model, _ = agent_on(saver, store, writer)
        talk(graph, 9, 10)
        entry = graph.get_state(THREAD).values["messages"][-1].response_metadata
    assert writer.requests == []
    assert is_summary(model.requests[0][0])
    assert json.loads(json.dumps(entry["ctxlab"])) == entry["ctxlab"]


def test_x1_two_instances_on_one_store_write_one_summary() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    writers = [FactKeeper(), FactKeeper()]
    graphs = [agent_on(saver, store, writer)[0] for writer in writers]
    for turn in range(10):
        talk(graphs[turn % 2], turn, turn + 1)
    assert sum(len(writer.requests) for writer in writers) == 1


def test_x15_values_have_a_version_and_unknown_ones_are_passed_over() -> None:
    saver, store, writer = InMemorySaver(), InMemoryStore(), FactKeeper()
    talk(agent_on(saver, store, FactKeeper())[0], 0, 9)
    (item,) = store.search(("ctxlab", "views"))
    assert item.value["version"] == 1
    store.put(item.namespace, item.key, {**item.value, "version": 99})
    talk(agent_on(saver, store, writer)[0], 9, 10)
    assert len(writer.requests) == 1


@pytest.mark.parametrize("value", [{}, {"version": 1}, {"version": 1, "cut": "x"}])
def test_x15_a_broken_value_costs_a_summary_and_no_turn(value: dict[str, Any]) -> None:
    saver, store, writer = InMemorySaver(), InMemoryStore(), FactKeeper()
    talk(agent_on(saver, store, FactKeeper())[0], 0, 9)
    (item,) = store.search(("ctxlab", "views"))
    store.put(item.namespace, item.key, value)
    talk(agent_on(saver, store, writer)[0], 9, 10)
    assert len(writer.requests) == 1


def test_x15_forget_empties_the_store_of_one_thread() -> None:
    saver, store, writer = InMemorySaver(), InMemoryStore(), FactKeeper()
    graph, _, middleware = agent_on(saver, store, writer)
    other: Any = {"configurable": {"thread_id": "../x"}}
    talk(graph, 0, 9)
    talk(graph, 100, 109, other)
    assert len(store.search(("ctxlab", "views"))) == 2
    assert middleware.forget("t", store) == 1
    (left,) = store.search(("ctxlab", "views"))
    assert middleware.policy.memory.of("t") == []
    talk(graph, 109, 110, other)
    assert len(writer.requests) == 2
    talk(graph, 9, 10)
    assert len(writer.requests) == 3
    assert ".." not in "".join(left.namespace)  # B77: no characters of a user's


async def test_x15_forget_is_async_too() -> None:
    store, writer = InMemoryStore(), FactKeeper()
    graph, _, middleware = agent_on(InMemorySaver(), store, writer)
    talk(graph, 0, 9)
    assert await middleware.aforget("t", store) == 1
    assert store.search(("ctxlab", "views")) == []


def test_x15_a_namespace_for_each_tenant() -> None:
    store = InMemoryStore()

    def by_tenant(runtime: Any) -> tuple[str, ...]:
        return ("ctxlab", runtime.context["tenant"])

    graph, _, middleware = agent_on(
        InMemorySaver(), store, FactKeeper(), namespace=by_tenant
    )
    for tenant in ("red", "blue"):
        thread = {"configurable": {"thread_id": tenant}}
        for turn in range(9):
            told = {"messages": [HumanMessage(f"{tenant} {turn}: {words(80)}")]}
            graph.invoke(told, thread, context={"tenant": tenant})
    assert len(store.search(("ctxlab", "red"))) == 1
    assert len(store.search(("ctxlab", "blue"))) == 1
    with pytest.raises(ValueError, match="without dots"):
        RequestOnlySummarizationMiddleware(lambda _: "S.", namespace=("a.b",))
    assert middleware is not None


def test_x15_a_ttl_is_handed_to_stores_that_know_it() -> None:
    class Expiring(InMemoryStore):
        supports_ttl = True

        def __init__(self) -> None:
            super().__init__()
            self.minutes: list[Any] = []

        def put(self, *args: Any, ttl: Any = None, **more: Any) -> None:
            self.minutes.append(ttl)
            super().put(*args, **more)

    store = Expiring()
    talk(agent_on(InMemorySaver(), store, FactKeeper(), ttl=60)[0], 0, 9)
    assert store.minutes == [60]
    with pytest.raises(ValueError, match="ttl"):
        RequestOnlySummarizationMiddleware(lambda _: "S.", ttl=0)


class BrokenStore(InMemoryStore):
    """A store that is down."""

    def batch(self, ops: Any) -> Any:
        raise ConnectionError("store down")

    async def abatch(self, ops: Any) -> Any:
        raise ConnectionError("store down")


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_x15_a_store_that_is_down_costs_no_turn(way: Any) -> None:
    agent = Agent(way, store=BrokenStore(), **SMALL)
    for turn in range(10):
        await agent.ask(f"Turn {turn}: {words(80)}")
    assert agent.actions[-1] == "reuse"
    assert len(agent.writer.requests) == 1


async def test_b77_two_agents_on_one_thread_have_keys_of_their_own() -> None:
    store, saver = InMemoryStore(), InMemorySaver()
    one, first, _ = agent_on(saver, store, FactKeeper())
    two, second, _ = agent_on(InMemorySaver(), store, FactKeeper())
    talk(one, 0, 9)
    talk(two, 50, 59)
    values = store.search(("ctxlab", "views"))
    assert len({item.key for item in values}) == 2
    assert is_summary(first.requests[-1][0]) and is_summary(second.requests[-1][0])
