"""What users and tracers see: answers, and never a summary (B83, B84)."""

import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import TAG_NOSTREAM

from ctxlab.lab import SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from tests.agents import Agent, words

SMALL: dict[str, Any] = {
    "trigger": ("tokens", 2_000),
    "keep": ("tokens", 900),
    "overhead_tokens": 0,
}
SUMMARY = "SUMMARY alpha"


def agent(**settings: Any) -> Any:
    """Return a graph that compacts at its first call."""
    writer = SimulatedChatModel(replies=lambda _: SUMMARY, model_name="writer")
    middleware = RequestOnlySummarizationMiddleware(writer, **{**SMALL, **settings})
    graph = create_agent(
        SimulatedChatModel(replies=lambda _: "ANSWER to you"),
        [],
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
    graph.writer = writer
    return graph


THREAD: Any = {"configurable": {"thread_id": "t"}}


def question() -> dict[str, Any]:
    return {"messages": [HumanMessage(f"{n}: {words(80)}") for n in range(10)]}


def test_b83_the_message_stream_holds_the_answer_alone() -> None:
    graph = agent()
    stream = graph.stream(question(), THREAD, stream_mode="messages")
    text = "".join(chunk.text for chunk, _ in stream)
    assert text == "ANSWER to you"
    assert len(graph.writer.requests) == 1


async def test_b83_the_async_message_stream_holds_the_answer_alone() -> None:
    graph = agent()
    stream = graph.astream(question(), THREAD, stream_mode="messages")
    text = "".join([chunk.text async for chunk, _ in stream])
    assert text == "ANSWER to you"
    assert len(graph.writer.requests) == 1


@pytest.mark.parametrize("mode", ["updates", "values"])
async def test_b83_b84_no_update_and_no_value_holds_a_summary(mode: str) -> None:
    graph = agent()
    parts = [part async for part in graph.astream(question(), THREAD, stream_mode=mode)]
    assert SUMMARY not in str(parts)
    assert "ANSWER" in str(parts[-1])


async def test_b83_events_of_the_summary_call_can_be_told_apart() -> None:
    graph = agent()
    events = [e async for e in graph.astream_events(question(), THREAD, version="v2")]
    said = [
        event
        for event in events
        if event["event"].startswith("on_chat_model")
        and SUMMARY.split()[1] in str(event["data"].get("chunk", ""))
    ]
    for event in said:
        assert event["metadata"]["lc_source"] == "summarization"
        assert TAG_NOSTREAM in event["tags"]
    rest = [
        event
        for event in events
        if event["metadata"].get("lc_source") != "summarization"
        and event["event"].endswith(("stream", "chain_end"))
    ]
    assert SUMMARY not in str(rest)


def test_b83_tracing_still_sees_the_summary_call() -> None:
    seen: list[tuple[str, Any]] = []

    class Watcher(BaseCallbackHandler):
        def on_chat_model_start(
            self, serialized: Any, messages: Any, **more: Any
        ) -> None:
            seen.append((more["metadata"].get("lc_source", ""), more["parent_run_id"]))

    agent().invoke(question(), {**THREAD, "callbacks": [Watcher()]})
    assert sorted(source for source, _ in seen) == ["", "summarization"]
    assert all(parent for _, parent in seen)


def test_hooks_do_not_log_the_conversation_a_second_time() -> None:
    policy = RequestOnlySummarizationMiddleware(lambda _: "S.").trace_policy
    logged = policy.process_inputs({"request": question()})  # type: ignore[misc]
    assert "parcel-7" in str(question())
    assert "parcel-7" not in str(logged)


def test_b84_the_state_holds_what_was_said_and_nothing_else() -> None:
    graph = agent()
    graph.invoke(question(), THREAD)
    state = graph.get_state(THREAD).values
    assert set(state) == {"messages"}
    assert [m.type for m in state["messages"]] == ["human"] * 10 + ["ai"]
    assert SUMMARY not in str(state)


def test_no_hook_adds_a_step_to_the_graph() -> None:
    bare = create_agent(SimulatedChatModel(), [], checkpointer=InMemorySaver())
    counts = []
    for graph in (bare, agent()):
        graph.invoke(question(), THREAD)
        counts.append(len(list(graph.get_state_history(THREAD))))
    assert counts[0] == counts[1]


async def test_logging_holds_no_text_of_the_conversation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(messages: Any) -> str:
        raise RuntimeError("summary model is down")

    with caplog.at_level(logging.DEBUG, "ctxlab"):
        one = Agent(writer=broken, max_input_tokens=2_600, **SMALL)
        for turn in range(14):
            await one.ask(f"Turn {turn}: {words(80, 'secret')}")
    assert caplog.records
    assert all(record.name.startswith("ctxlab") for record in caplog.records)
    assert "secret-" not in caplog.text
