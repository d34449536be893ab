"""Fifty conversations at once in one process (X15)."""

import asyncio
import gc
import logging
import time

import pytest

pytest.importorskip("starlette", reason="starlette is missing: extra `service`")
httpx = pytest.importorskip("httpx", reason="httpx is missing: extra `service`")

from opentelemetry.trace import NonRecordingSpan, SpanContext, use_span  # noqa: E402

from tests.agents import words  # noqa: E402
from tests.service.desk_service import DeskService  # noqa: E402

CONVERSATIONS, TURNS = 50, 5
LONGEST_BLOCK = 0.050  # seconds of this thread's own time


@pytest.fixture
def frozen_start():
    """What is loaded stays out of full garbage collections, as a service should do.

    One pass over LangChain's modules alone takes longer than a block may last.
    """
    yield lambda: (gc.collect(), gc.freeze())
    gc.unfreeze()


@pytest.fixture
def longest_callback(monkeypatch) -> list[float]:
    """The processor time of every callback of the event loop, in seconds.

    Of this thread alone, so that a busy machine does not count as a blocked loop.
    """
    taken: list[float] = []
    run = asyncio.events.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        taken.append(time.thread_time() - began)

    monkeypatch.setattr(asyncio.events.Handle, "_run", timed)
    return taken


async def converse(client, number: int) -> list[str]:
    said = []
    for turn in range(TURNS):
        text = f"I am customer-{number} . " + words(90, f"t{turn}")
        asked = {"thread": f"thread-{number}", "text": text}
        said.append((await client.post("/ask", json=asked)).json()["text"])
    return said


def client_of(service: DeskService):
    transport = httpx.ASGITransport(app=service.app)
    return httpx.AsyncClient(transport=transport, base_url="http://desk")


async def test_x15_fifty_conversations_at_once(longest_callback, frozen_start, caplog):
    service = DeskService([f"customer-{n} ." for n in range(CONVERSATIONS + 1)])
    async with client_of(service) as client:
        await converse(client, CONVERSATIONS)  # loads what is loaded once
        frozen_start()
        await asyncio.sleep(0)  # the callback that did this is over
        longest_callback.clear()
        with caplog.at_level(logging.INFO, logger="desk"):
            talks = [converse(client, number) for number in range(CONVERSATIONS)]
            answers = await asyncio.gather(*talks)

    for number, said in enumerate(answers):
        assert said == [f"seen: customer-{number}"] * TURNS, "crossed content"
    assert max(longest_callback) < LONGEST_BLOCK
    check_log(caplog.records)


def check_log(records: list[logging.LogRecord]) -> None:
    fields = [record.fields for record in records]
    assert len(fields) == CONVERSATIONS * TURNS, "one line for every call"
    for number in range(CONVERSATIONS):
        mine = [f for f in fields if f["thread"] == f"thread-{number}"]
        actions = [f["ctxlab.action"] for f in mine]
        assert len(mine) == TURNS and "compact" in actions
        assert all(f["ctxlab.provider_input_tokens"] > 0 for f in mine)


class Span(NonRecordingSpan):
    def __init__(self) -> None:
        super().__init__(SpanContext(1, 1, is_remote=False))
        self.attributes: dict = {}

    def set_attributes(self, attributes) -> None:
        self.attributes.update(attributes)


async def test_x15_records_are_attributes_that_opentelemetry_takes():
    from opentelemetry import trace

    service, span = DeskService(), Span()
    service.rescue.add_listener(
        lambda record: trace.get_current_span().set_attributes(record.to_attributes())
    )
    with use_span(span):
        async with client_of(service) as client:
            await converse(client, 1)

    assert span.attributes["ctxlab.action"] in ("compact", "reuse")
    for name, value in span.attributes.items():
        assert name.startswith("ctxlab.")
        assert isinstance(value, str | bool | int | float), name
