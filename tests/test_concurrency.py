"""Many calls at once: one writer per prefix, nothing mixed up, no lock left behind."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt

from ctxlab.lab import SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import is_summary
from tests.agents import words
from tests.requests import Desk

SMALL: dict[str, Any] = {
    "trigger": ("tokens", 2_000),
    "keep": ("tokens", 900),
    "overhead_tokens": 0,
}


class SlowWriter:
    """A summary model that needs a moment, and knows how often it was asked."""

    def __init__(self, seconds: float = 0.1) -> None:
        self.seconds = seconds
        self.prompts: list[str] = []
        self.started = threading.Event()

    def note(self, messages: list[BaseMessage]) -> str:
        text = "\n".join(message.text for message in messages)
        self.prompts.append(text)
        marks = sorted({word for word in text.split() if word.startswith("MARK")})
        return "S. " + " ".join(marks)[:200]

    def __call__(self, messages: list[BaseMessage]) -> str:
        answer = self.note(messages)
        self.started.set()
        time.sleep(self.seconds)
        return answer


class SlowAsyncWriter(SlowWriter):
    async def __call__(self, messages: list[BaseMessage]) -> str:  # type: ignore[override]
        answer = self.note(messages)
        self.started.set()
        await asyncio.sleep(self.seconds)
        return answer


def long_chat(mark: str, turns: int = 10) -> list[BaseMessage]:
    return [HumanMessage(f"{mark} {turn} {words(80)}") for turn in range(turns)]


def runs(writer: Any) -> tuple[Any, SimulatedChatModel]:
    model = SimulatedChatModel()
    middleware = RequestOnlySummarizationMiddleware(writer, **SMALL)
    graph = create_agent(
        model, [], middleware=[middleware], checkpointer=InMemorySaver()
    )
    return graph, model


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def check_apart(requests: list[list[BaseMessage]]) -> None:
    for request in requests:
        text = "\n".join(message.text for message in request)
        marks = {word for word in text.split() if word.startswith("MARK")}
        assert len(marks) == 1


async def test_b72_eight_threads_do_not_mix() -> None:
    writer = SlowAsyncWriter()
    graph, model = runs(writer)
    await asyncio.gather(
        *(
            graph.ainvoke({"messages": long_chat(f"MARK{n}")}, thread(f"t{n}"))
            for n in range(8)
        )
    )
    assert len(writer.prompts) == 8
    check_apart(model.requests)
    assert all(any(map(is_summary, request)) for request in model.requests)


def test_b72_eight_real_threads_do_not_mix() -> None:
    writer = SlowWriter(0.02)
    graph, model = runs(writer)

    def live(n: int) -> None:
        graph.invoke({"messages": long_chat(f"MARK{n}")}, thread(f"t{n}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(live, range(8)))
    assert len(writer.prompts) == 8
    check_apart(model.requests)


async def test_b72_four_calls_on_one_prefix_write_one_summary() -> None:
    writer = SlowAsyncWriter()
    desk = Desk(RequestOnlySummarizationMiddleware(writer, **SMALL))
    history = long_chat("MARK")
    await asyncio.gather(*(desk.acall(history) for _ in range(4)))
    assert len(writer.prompts) == 1
    assert len({request[0].text for request in desk.sent}) == 1
    assert sorted(record.action for record in desk.records) == [
        "compact",
        *["reuse"] * 3,
    ]


def test_b72_four_threads_on_one_prefix_write_one_summary() -> None:
    writer = SlowWriter(0.05)
    desk = Desk(RequestOnlySummarizationMiddleware(writer, **SMALL))
    history = long_chat("MARK")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: desk.call(history), range(4)))
    assert len(writer.prompts) == 1


async def test_b72_a_failed_summary_is_not_tried_by_all_who_waited() -> None:
    calls = 0

    async def failing(messages: Any) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.05)
        raise RuntimeError("down")

    desk = Desk(RequestOnlySummarizationMiddleware(failing, **SMALL))
    history = long_chat("MARK")
    await asyncio.gather(*(desk.acall(history) for _ in range(4)))
    assert calls == 1
    assert len(desk.sent) == 4


async def test_x1_messages_that_arrive_while_a_summary_is_written() -> None:
    writer = SlowAsyncWriter()
    desk = Desk(RequestOnlySummarizationMiddleware(writer, **SMALL))
    history = long_chat("MARK")
    longer = [*history, AIMessage("ok"), HumanMessage("MARK late")]
    await asyncio.gather(desk.acall(history), desk.acall(longer))
    assert len(writer.prompts) == 1
    late = next(request for request in desk.sent if request[-1].text == "MARK late")
    assert is_summary(late[0])
    assert late[-2].text == "ok"


async def test_x1_same_first_words_in_two_threads_share_nothing() -> None:
    """A conversation that cannot be made smaller must not silence another."""
    graph, model = runs(lambda _: "S.")
    await graph.ainvoke({"messages": [HumanMessage("hi")]}, thread("one"))
    await graph.ainvoke({"messages": [HumanMessage("hi")]}, thread("two"))
    huge = HumanMessage(words(520))
    await graph.ainvoke({"messages": [huge]}, thread("one"))
    told = {"messages": long_chat("MARK", 12)}
    await graph.ainvoke(told, thread("two"))
    assert is_summary(model.requests[-1][0])


async def test_a_cancelled_summary_leaves_no_lock() -> None:
    writer = SlowAsyncWriter(30)
    desk = Desk(RequestOnlySummarizationMiddleware(writer, **SMALL))
    history = long_chat("MARK")
    task = asyncio.create_task(desk.acall(history))
    while not writer.prompts:
        await asyncio.sleep(0.001)
    waiting = asyncio.create_task(desk.acall(history))
    await asyncio.sleep(0.01)
    for cancelled in (task, waiting):
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    writer.seconds = 0
    async with asyncio.timeout(5):
        assert (await desk.acall(history)).text == "ok"
    assert desk.records[-1].action == "compact"


def test_an_interrupt_passes_and_leaves_no_lock() -> None:
    asked = iter([GraphInterrupt(()), "S."])

    def writer(messages: Any) -> str:
        answer = next(asked)
        if isinstance(answer, Exception):
            raise answer
        return answer

    desk = Desk(RequestOnlySummarizationMiddleware(writer, **SMALL))
    with pytest.raises(GraphInterrupt):
        desk.call(long_chat("MARK"))
    assert desk.sent == []
    assert desk.call(long_chat("MARK")).text == "ok"
    assert desk.records[-1].action == "compact"


def test_an_interrupt_of_the_model_is_not_classified() -> None:
    desk = Desk(RequestOnlySummarizationMiddleware(lambda _: "S.", **SMALL))
    stop = GraphInterrupt(())
    desk.failures = {1: stop}
    with pytest.raises(GraphInterrupt) as caught:
        desk.call(long_chat("MARK"))
    assert caught.value is stop


async def test_async_calls_do_not_block_the_loop_while_they_wait() -> None:
    writer = SlowAsyncWriter(0.2)
    desk = Desk(RequestOnlySummarizationMiddleware(writer, **SMALL))
    history = long_chat("MARK")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    clock = asyncio.create_task(tick())
    await asyncio.gather(desk.acall(history), desk.acall(history))
    clock.cancel()
    assert ticks >= 5


def test_the_memory_of_views_is_bounded() -> None:
    desk = Desk(RequestOnlySummarizationMiddleware(lambda _: "S.", **SMALL))
    memory = desk.middleware.policy.memory
    memory.max_views = 3
    for n in range(6):
        desk.call(long_chat(f"MARK{n}"))
    assert len(memory) == 3
