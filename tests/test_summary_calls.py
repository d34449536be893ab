"""Who is asked, and how: rows H8, X14, X15, faults B60, B83."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
)
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
)
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphInterrupt

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.summaries import (
    Summary,
    SummaryError,
    SummaryWriter,
    summary_message,
)
from tests.handoff import GOOD, Recorder, human


def write(writer: SummaryWriter, messages: Sequence[BaseMessage], **wishes: Any) -> Any:
    """Write in both ways and expect the same summary."""
    summary = writer.write(messages, **wishes)
    assert asyncio.run(writer.awrite(messages, **wishes)).text == summary.text
    return summary


async def _async_writer(messages: list[BaseMessage]) -> str:
    return "from async"


class _AsyncCallable:
    async def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        return AIMessage("from async")


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (lambda messages: "from callable", "from callable"),
        (lambda messages: AIMessage("a message"), "a message"),
        (FakeListChatModel(responses=["from model"]), "from model"),
        (
            FakeListChatModel(responses=["from binding"]).bind(stop=["x"]),
            "from binding",
        ),
        (RunnableLambda(lambda messages: f"{len(messages)} messages"), "2 messages"),
    ],
)
def test_x14_any_runnable_or_callable_may_write(model: Any, text: str) -> None:
    assert write(SummaryWriter(model), [human("q")]).text == text


@pytest.mark.parametrize("model", [_async_writer, _AsyncCallable()])
async def test_x14_an_async_callable_writes_in_async_code(model: Any) -> None:
    writer = SummaryWriter(model)
    assert (await writer.awrite([human("q")])).text == "from async"
    with pytest.raises(SummaryError, match="call awrite or ainvoke instead"):
        writer.write([human("q")])


async def test_a_lambda_that_returns_a_coroutine_is_awaited() -> None:
    writer = SummaryWriter(lambda messages: _async_writer(messages))
    assert (await writer.awrite([human("q")])).text == "from async"
    with pytest.raises(SummaryError, match="returned coroutine"):
        writer.write([human("q")])


def test_a_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def init_chat_model(name: str) -> SimulatedChatModel:
        return SimulatedChatModel(model_name=name, replies=[GOOD])

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init_chat_model)
    writer = SummaryWriter("vendor:small")
    assert writer.write([human("q")]).text == GOOD
    assert "SimulatedChatModel(vendor:small)" in writer.identity()


def test_what_cannot_write_fails_at_construction() -> None:
    with pytest.raises(TypeError, match="not int"):
        SummaryWriter(7)
    bound = SimulatedChatModel().bind_tools([{"type": "function", "function": {}}])
    with pytest.raises(ValueError, match="without tools"):
        SummaryWriter(bound)
    numbers = ("chunk_tokens", "max_summary_tokens", "max_input_tokens", "timeout")
    for name in (*numbers, "max_concurrency", "attempts"):
        wrong: Any = {name: -1}
        with pytest.raises(ValueError, match=f"{name} must be above 0, got -1"):
            SummaryWriter(lambda messages: GOOD, **wrong)


class Watching(SimulatedChatModel):
    """A model that keeps the config of its calls."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        SEEN.append(config)
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        SEEN.append(config)
        return await super().ainvoke(input, config, **kwargs)


SEEN: list[Any] = []


def test_b83_the_call_is_marked_as_internal_on_top_of_the_callers_config() -> None:
    SEEN.clear()
    writer = SummaryWriter(Watching(replies=[GOOD] * 4), chunk_tokens=100)

    def agent(text: str) -> str:
        return writer.write([human(text)]).text

    async def aagent(text: str) -> str:
        return (await writer.awrite([human(text)])).text

    config: Any = {"tags": ["mine"], "metadata": {"tenant": "t1"}}
    RunnableLambda(agent).invoke("x", config)
    asyncio.run(RunnableLambda(aagent).ainvoke("x", config))
    assert len(SEEN) == 2
    for seen in SEEN:
        assert {"mine", "nostream"} <= set(seen["tags"])
        assert seen["metadata"]["tenant"] == "t1"
        assert seen["metadata"]["lc_source"] == "summarization"
        assert seen["metadata"]["lc_internal_call"]
    assert config == {"tags": ["mine"], "metadata": {"tenant": "t1"}}


class Compacting(AgentMiddleware[Any, Any, Any]):
    """Has a summary written before each model call."""

    def __init__(self, writer: SummaryWriter) -> None:
        super().__init__()
        self.writer = writer

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        note = summary_message(self.writer.write(request.messages).text)
        return handler(request.override(messages=[note, *request.messages]))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        note = summary_message((await self.writer.awrite(request.messages)).text)
        return await handler(request.override(messages=[note, *request.messages]))


async def test_b83_no_token_of_a_summary_reaches_the_users_stream() -> None:
    writer = SummaryWriter(
        SimulatedChatModel(replies=lambda messages: "SUMMARY alpha"), chunk_tokens=100
    )
    agent = create_agent(
        SimulatedChatModel(replies=["ANSWER"] * 3), middleware=[Compacting(writer)]
    )
    asked: Any = {"messages": [human("x" * 1_000)]}  # three chunks and a merge
    streamed: Any = [chunk for chunk, _ in agent.stream(asked, stream_mode="messages")]
    astreamed: Any = [c async for c, _ in agent.astream(asked, stream_mode="messages")]
    for chunks in (streamed, astreamed):
        assert "".join(chunk.text for chunk in chunks) == "ANSWER"
    events = [event async for event in agent.astream_events(asked, version="v2")]
    marked = [e for e in events if e["metadata"].get("lc_source") == "summarization"]
    assert {event["name"] for event in marked} == {"SimulatedChatModel"}  # traced


def flaky(errors: list[Exception]) -> SimulatedChatModel:
    return SimulatedChatModel(replies=[GOOD] * 9, failures=dict(enumerate(errors)))


async def test_a_chat_model_is_asked_again_after_an_error_that_may_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    model = flaky([ModelAPIError("503"), ModelAPIError("503")])
    assert SummaryWriter(model).write([human("q")]).calls == 1
    assert len(model.requests) == 3


def test_b60_an_error_that_stays_is_not_repeated_and_the_cause_is_told() -> None:
    broken = flaky([ModelAuthenticationError("401")] * 9)
    main = FactKeeper(["code 7781"])
    writer = SummaryWriter(broken, fallback_models=[main])
    summary = writer.write([human("code 7781")])
    assert "code 7781" in summary.text
    assert summary.notes == (
        "SimulatedChatModel(simulated-1): ModelAuthenticationError: 401",
    )
    assert (len(broken.requests), len(main.requests)) == (1, 1)


def test_attempts_can_be_fewer() -> None:
    model = flaky([ModelAPIError("503")])
    with pytest.raises(SummaryError):
        SummaryWriter(model, attempts=1).write([human("q")])
    assert len(model.requests) == 1


def test_a_timeout_is_a_failed_attempt_sync() -> None:
    release = threading.Event()

    def slow(messages: list[BaseMessage]) -> str:
        release.wait(5)
        return GOOD

    writer = SummaryWriter(slow, fallback_models=[Recorder(GOOD)], timeout=0.05)
    summary = writer.write([human("q")])
    release.set()
    assert "no reply within 0.05 seconds" in summary.notes[0]


async def test_a_timeout_is_a_failed_attempt_async() -> None:
    async def slow(messages: list[BaseMessage]) -> str:
        await asyncio.sleep(5)
        return GOOD

    writer = SummaryWriter(slow, fallback_models=[Recorder(GOOD)], timeout=0.05)
    summary = await writer.awrite([human("q")])
    assert "no reply within 0.05 seconds" in summary.notes[0]


class Busy:
    """Counts how many calls run at the same time."""

    def __init__(self) -> None:
        self.now = self.most = self.calls = 0
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.now, self.calls = self.now + 1, self.calls + 1
            self.most = max(self.most, self.now)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.now -= 1


def test_chunks_are_written_side_by_side_with_a_bound_sync() -> None:
    busy = Busy()

    def model(messages: list[BaseMessage]) -> str:
        with busy:
            time.sleep(0.02)
            return GOOD

    writer = SummaryWriter(model, chunk_tokens=100, max_concurrency=3)
    writer.write([human("x" * 4_000)])
    assert (busy.calls, busy.most) == (12, 3)  # 11 chunks and the merge


async def test_chunks_are_written_side_by_side_with_a_bound_async() -> None:
    busy = Busy()

    async def model(messages: list[BaseMessage]) -> str:
        with busy:
            await asyncio.sleep(0.01)
            return GOOD

    writer = SummaryWriter(model, chunk_tokens=100, max_concurrency=3)
    await writer.awrite([human("x" * 4_000)])
    assert (busy.calls, busy.most) == (12, 3)


async def test_a_sync_callable_does_not_block_the_loop() -> None:
    ticks = 0

    async def clock() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(clock())

    def slow(messages: list[BaseMessage]) -> str:
        time.sleep(0.1)
        return GOOD

    writer = SummaryWriter(slow)
    await writer.awrite([human("q")])
    ticking.cancel()
    assert ticks >= 5


async def test_cancelling_cancels_every_call() -> None:
    ended: list[str] = []

    async def model(messages: list[BaseMessage]) -> str:
        try:
            await asyncio.sleep(10)
        finally:
            ended.append("ended")
        return GOOD

    writer = SummaryWriter(model, chunk_tokens=100, fallback_models=[Recorder(GOOD)])
    task = asyncio.create_task(writer.awrite([human("x" * 1_000)]))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["ended"] * 3


@pytest.mark.parametrize("error", [GraphInterrupt(()), KeyboardInterrupt()])
@pytest.mark.parametrize("length", [10, 1_000])
def test_interrupts_pass_through_sync(error: BaseException, length: int) -> None:
    writer = SummaryWriter(
        Recorder(error), fallback_models=[Recorder(GOOD)], chunk_tokens=100
    )
    with pytest.raises(type(error)):
        writer.write([human("x" * length)])


async def test_an_interrupt_cancels_the_other_calls() -> None:
    cancelled: list[str] = []

    async def model(messages: list[BaseMessage]) -> str:
        if "first" in messages[-1].text:
            raise GraphInterrupt(())
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(messages[-1].text)
            raise
        return GOOD

    writer = SummaryWriter(model, chunk_tokens=100)
    with pytest.raises(GraphInterrupt):
        async with asyncio.timeout(5):
            await writer.awrite([human("first " * 60), human("x" * 600)])
    assert len(cancelled) == 2


def test_the_flow_can_be_driven_by_hand_and_does_no_io() -> None:
    def never(messages: list[BaseMessage]) -> str:
        raise AssertionError("the flow asked the model itself")

    flow = SummaryWriter(never).writing([human("q")])
    effect = next(flow)
    assert effect.model is never
    with pytest.raises(StopIteration) as done:
        flow.send([GOOD])
    assert done.value.value == Summary(GOOD, 1, done.value.value.input_tokens, ())


def test_input_tokens_are_the_providers_figure_where_it_gives_one() -> None:
    billed = SimulatedChatModel(fixed_overhead=5_000, replies=[GOOD])
    assert SummaryWriter(billed).write([human("q")]).input_tokens > 5_000
    unbilled = SimulatedChatModel(fixed_overhead=5_000, usage=False, replies=[GOOD])
    assert 0 < SummaryWriter(unbilled).write([human("q")]).input_tokens < 5_000


# --- identity -------------------------------------------------------------------------


def test_the_identity_changes_with_all_that_changes_a_summary() -> None:
    def build(**changes: Any) -> str:
        language = changes.pop("language", None)
        model = changes.pop("model", SimulatedChatModel(model_name="a"))
        return SummaryWriter(model, **changes).identity(language)

    variants = [
        build(),
        build(model=SimulatedChatModel(model_name="b")),
        build(fallback_models=[SimulatedChatModel(model_name="b")]),
        build(prompt="Summarise {payload}"),
        build(language="zh"),
        build(redact=str.strip),
    ]
    assert len(set(variants)) == len(variants)
    assert build() == variants[0]
    assert "0x" not in "".join(variants)
