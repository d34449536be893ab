"""Long spans: row M14, faults B51, B55, B56."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.exceptions import (
    ContextOverflowError,
)
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
)

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.summaries import (
    SummaryError,
    SummaryWriter,
)
from ctxlab.summaries.chunks import split
from ctxlab.summaries.entries import entry
from ctxlab.tokens import ApproximateCounter, CjkAwareCounter, ScriptCounter
from tests.handoff import GOOD, Recorder, human, payload_of
from tests.strategies import conversations


def test_m14_a_long_history_is_written_in_chunks_and_merged_in_order() -> None:
    counter = ApproximateCounter()
    span = [human(f"FACT {i}: " + "filler " * 100) for i in range(40)]
    tokens = counter(span)
    facts = [f"FACT {i}:" for i in range(40)]
    model = FactKeeper(facts)
    writer = SummaryWriter(model, counter=counter, chunk_tokens=2_000)
    summary = writer.write(span)
    chunks = math.ceil(tokens / 2_000)
    assert summary.calls == chunks + 1 == len(model.requests)
    merge = payload_of(model.requests[-1])
    titles = [part["content"].splitlines()[0] for part in merge["history"]]
    assert titles == [f"Summary chunk {i + 1}/{chunks}" for i in range(chunks)]
    assert [fact for fact in facts if fact in summary.text] == facts
    assert summary.notes == ()


def test_m14_the_summary_so_far_goes_with_the_first_chunk_only() -> None:
    model = Recorder(GOOD)
    writer = SummaryWriter(model, chunk_tokens=100, max_concurrency=1)
    writer.write([human("x" * 1_000)], previous="OLD", current_request="NOW")
    *chunks, merge = model.payloads
    assert [p["previous_summary"] for p in chunks] == ["OLD", "", ""]
    assert {p["current_request"] for p in model.payloads} == {"NOW"}
    assert merge["previous_summary"] == ""


def test_m14_one_message_larger_than_a_chunk_is_split() -> None:
    model = Recorder(GOOD)
    text = "".join(f"line {i}\n" for i in range(1_000))
    SummaryWriter(model, chunk_tokens=1_000, max_concurrency=1).write(
        [ToolMessage(text, tool_call_id="c", name="read")]
    )
    *chunks, _ = model.payloads
    parts = [part for payload in chunks for part in payload["history"]]
    assert [part["part"] for part in parts] == ["1/3", "2/3", "3/3"]
    assert {(part["name"], part["tool_call_id"]) for part in parts} == {("read", "c")}
    assert "".join(part["content"] for part in parts) == text
    assert all(part["content"].endswith("\n") for part in parts)


def test_m14_large_arguments_are_split_like_any_text() -> None:
    call = {"name": "write", "args": {"text": "needle " * 1_000}, "id": "c"}
    model = Recorder(GOOD)
    writer = SummaryWriter(model, chunk_tokens=500, max_concurrency=1)
    writer.write([AIMessage("writing", tool_calls=[call])])
    read = "".join(e["content"] for p in model.payloads[:-1] for e in p["history"])
    assert read == "writing\ntool_calls: " + json.dumps([call | {"args": call["args"]}])


@pytest.mark.parametrize(
    ("kinds", "first_chunk"),
    [
        ("human ai tool ai human ai human ai", 5),  # as full as may be
        ("human ai human human ai tool ai ai", 4),  # a result stays with its call
        (
            "human ai ai tool tool tool ai ai",
            5,
        ),  # a result's edge is better than a split
    ],
)
def test_m14_a_message_edge_is_preferred_and_best_before_no_result(
    kinds: str, first_chunk: int
) -> None:
    entries = [{"type": kind, "content": "x" * 5} for kind in kinds.split()]
    chunks = split(entries, sizes=[5] * 8, chunk_tokens=25)
    assert [len(chunk) for chunk in chunks] == [first_chunk, 8 - first_chunk]


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from(["ai", "tool"])), min_size=1
    ),
    st.integers(1, 50),
)
def test_m14_chunks_lose_nothing_and_are_as_few_as_the_tokens_allow(
    messages: list[tuple[int, str]], chunk_tokens: int
) -> None:
    entries = [
        {"type": kind, "content": "abcde fgh. "[:1] * size, "number": number}
        for number, (size, kind) in enumerate(messages)
    ]
    sizes = [size for size, _ in messages]
    chunks = split(entries, sizes, chunk_tokens)
    assert len(chunks) == max(1, math.ceil(sum(sizes) / chunk_tokens))
    assert all(sum(len(e["content"]) for e in c) <= chunk_tokens for c in chunks)
    flat = [part for chunk in chunks for part in chunk]
    assert [part["number"] for part in flat] == sorted(part["number"] for part in flat)
    for found in entries:
        parts = [part for part in flat if part["number"] == found["number"]]
        assert "".join(part["content"] for part in parts) == found["content"]
        if len(parts) > 1:
            assert [p["part"][0] for p in parts[:9]] == list("123456789")[: len(parts)]


@given(conversations(malformed=True), st.integers(5, 200))
def test_m14_every_message_reaches_exactly_one_chunk_verbatim(
    history: list[BaseMessage], chunk_tokens: int
) -> None:
    model = Recorder(GOOD)
    writer = SummaryWriter(model, chunk_tokens=chunk_tokens, max_concurrency=1)
    summary = writer.write(history)
    payloads = model.payloads[:-1] if summary.calls > 1 else model.payloads
    read = [entry for payload in payloads for entry in payload["history"]]
    whole: list[str] = []
    for found in read:
        if found.get("part", "1/1").startswith("1/"):
            whole.append("")
        whole[-1] += found["content"]
    expected = [entry(message) for message in history]
    assert len(whole) == len(history)
    for text, message in zip(whole, expected, strict=True):
        assert text.startswith(message["content"])


@pytest.mark.parametrize("counter", [ScriptCounter(), CjkAwareCounter(), None])
@pytest.mark.parametrize(
    "text", ["plain words ", "中文内容，", "if a<b: <div>\n", '\\"\n']
)
def test_b55_every_prompt_fits_the_window_of_the_summary_model(
    counter: Any, text: str
) -> None:
    model = Recorder(GOOD)
    writer = SummaryWriter(model, counter=counter, max_input_tokens=8_000)
    unit = writer.counter.text(text * 100)
    span = [human(f"{i} " + text * 100) for i in range(int(60_000 / unit))]
    summary = writer.write(span)
    sizes = [sum(map(writer.counter.message, prompt)) for prompt in model.prompts]
    assert max(sizes) <= 8_000
    if "<" not in text and "\\" not in text:  # no escapes that make the text longer
        assert summary.calls <= math.ceil(60_000 / 6_000) + 1


def windowed(**more: Any) -> SimulatedChatModel:
    return SimulatedChatModel(
        context_window=8_000, with_profile=True, replies=lambda messages: GOOD, **more
    )


def test_b55_the_window_comes_from_the_profile_less_the_output() -> None:
    model, counter = windowed(scale=0.7), ScriptCounter()
    summary = SummaryWriter(model, counter=counter).write([human("more " * 20_000)])
    assert summary.text == GOOD
    assert all(exchange.error is None for exchange in model.log)
    largest = max(counter(request) for request in model.requests)
    assert 0.8 * 0.9 * 6_000 < largest <= 0.9 * 6_000


async def test_b55_after_an_overflow_the_prompts_are_made_smaller() -> None:
    model = windowed(scale=1.3)  # bills far more than our counter expects
    writer = SummaryWriter(model)
    for summary in (
        writer.write([human("more " * 20_000)]),
        await writer.awrite([human("more " * 20_000)]),
    ):
        assert summary.text == GOOD
        assert any("smaller chunks" in note for note in summary.notes)


def test_b55_other_words_for_an_overflow_can_be_told() -> None:
    def picky(messages: list[BaseMessage]) -> str:
        if len(messages[-1].text) > 30_000:
            raise ValueError("that is too much for me")
        return GOOD

    span = [human("more " * 9_000)]  # 11,254 tokens: one chunk
    with pytest.raises(SummaryError, match="too much for me"):
        SummaryWriter(picky).write(span)
    told = SummaryWriter(picky, is_overflow=lambda error: "too much" in str(error))
    summary = told.write(span)
    assert summary.text == GOOD
    assert summary.calls == 1 + 2 + 1  # refused whole, two smaller chunks, the merge


def test_b55_a_model_that_always_overflows_ends_in_an_error() -> None:
    model = SimulatedChatModel(context_window=300)
    with pytest.raises(SummaryError) as caught:
        SummaryWriter(model, max_input_tokens=8_000).write([human("more " * 20_000)])
    assert isinstance(caught.value.__cause__, ContextOverflowError)
    assert len(model.requests) < 60


def test_b55_a_window_too_small_for_the_prompt_says_so_before_any_call() -> None:
    model = Recorder(GOOD)
    writer = SummaryWriter(model, max_input_tokens=200)
    with pytest.raises(SummaryError, match="larger window, or raise max_input_tokens"):
        writer.write([human("q")])
    assert model.prompts == []


def test_m14_many_parts_are_short_enough_to_be_merged_in_one_prompt() -> None:
    model = Recorder(GOOD)
    writer = SummaryWriter(model, chunk_tokens=1_000, max_concurrency=1)
    writer.write([human("words " * 2_000)])  # 3,004 tokens, four parts
    stated = [prompt[-1].text.splitlines()[-1] for prompt in model.prompts]
    assert stated == ["Use at most 300 tokens."] * 4 + ["Use at most 2000 tokens."]
    bounded = SummaryWriter(model, max_input_tokens=4_000, max_concurrency=1)
    model.prompts.clear()
    bounded.write([human("words " * 8_000)])
    *parts, _ = [prompt[-1].text.splitlines()[-1] for prompt in model.prompts]
    room = {int(text.split()[3]) for text in parts}
    assert len(room) == 1
    assert 100 < room.pop() * len(parts) < 4_000


def test_m14_parts_that_would_say_nothing_are_refused_before_any_call() -> None:
    model = Recorder(GOOD)
    with pytest.raises(SummaryError, match="partial summaries do not fit one prompt"):
        SummaryWriter(model, max_input_tokens=1_000).write([human("words " * 20_000)])
    assert model.prompts == []


def test_b51_b56_a_fact_behind_much_text_is_not_dropped() -> None:
    span: list[BaseMessage] = [human("FACT: code is 7781")]
    for step in range(8):
        call = {"name": "read", "args": {}, "id": f"c{step}"}
        span += [
            AIMessage("", tool_calls=[call]),
            ToolMessage("filler " * 1_200, tool_call_id=f"c{step}"),
        ]
    summary = SummaryWriter(FactKeeper(["code is 7781"])).write(span)
    assert "code is 7781" in summary.text
    assert summary.calls == 3  # two chunks and the merge


def test_h8_only_the_chunk_that_failed_goes_to_the_next_model() -> None:
    def sometimes(messages: list[BaseMessage]) -> str:
        if "bad" in messages[-1].text:
            raise ValueError("boom")
        return GOOD

    rescue = Recorder(GOOD)
    writer = SummaryWriter(sometimes, fallback_models=[rescue], chunk_tokens=100)
    summary = writer.write([human("fine " * 75), human("bad " * 95)])
    assert "bad" in rescue.prompts[0][-1].text
    assert len(rescue.prompts) == 1
    assert summary.calls == 4  # two chunks, one of them again, the merge


def test_m14_a_failed_merge_leaves_the_joined_parts_if_they_fit() -> None:
    model = Recorder("part one", "part two", ValueError("boom"))
    writer = SummaryWriter(model, chunk_tokens=100, max_concurrency=1)
    summary = writer.write([human("x" * 760)])
    assert summary.text == "Summary chunk 1/2\npart one\n\nSummary chunk 2/2\npart two"
    assert "ValueError: boom" in summary.notes[0]


def test_m14_a_failed_merge_is_an_error_if_the_parts_do_not_fit() -> None:
    model = Recorder("word " * 80, "word " * 80, ValueError("boom"))
    writer = SummaryWriter(
        model, chunk_tokens=100, max_summary_tokens=150, max_concurrency=1
    )
    with pytest.raises(SummaryError, match="boom"):
        writer.write([human("x" * 760)])


def test_a_very_long_request_is_shortened_in_the_summary_prompt_only() -> None:
    model = Recorder(GOOD)
    SummaryWriter(model).write(
        [human("q")], current_request="HEAD" + "x" * 9_000 + "TAIL"
    )
    request = model.payloads[0]["current_request"]
    assert len(request) < 4_100
    assert request.startswith("HEAD")
    assert request.endswith("TAIL")
    assert "[… 5,008 characters left out …]" in request


def test_m14_one_bad_reply_of_many_costs_one_more_call() -> None:
    replies = iter(["", *["S"] * 40])
    writer = SummaryWriter(lambda _: next(replies), chunk_tokens=100)
    span = [human(f"fact {n} " * 30) for n in range(10)]
    planned = len(next(writer.writing(span)).prompts)
    assert writer.write(span).calls == planned + 1 + 1  # once more, and the merge
