"""Summary models of the bench: what they keep, how they fail, that they are honest."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.exceptions import ModelAuthenticationError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.lab import FactKeeper, FailingWriter
from ctxlab.summaries import SECTIONS, SummaryWriter
from ctxlab.summaries.prompts import missing_sections
from ctxlab.tokens import ScriptCounter


@dataclass(frozen=True)
class Planted:
    kind: str
    text: str


FACTS = [
    Planted("constraint", "only the back end"),
    Planted("identifier", "build 7781"),
    Planted("failed_attempt", "front-end filter leaks rows"),
    Planted("artefact", "src/report/query.py"),
    Planted("unverified", "not yet run: tests/test_report.py"),
]


def test_facts_are_written_into_the_section_of_their_class() -> None:
    prompt = " ".join(fact.text for fact in FACTS)
    text = FactKeeper(FACTS).invoke(prompt).text
    assert missing_sections(text) == []
    sections = dict(zip(SECTIONS, text.split("## ")[1:], strict=True))
    assert "only the back end" in sections["SESSION INTENT"]
    assert "build 7781" in sections["SUMMARY"]
    assert "front-end filter leaks rows" in sections["SUMMARY"]
    assert "src/report/query.py" in sections["ARTIFACTS"]
    assert "tests/test_report.py" in sections["NEXT STEPS"]


def test_only_facts_that_it_sees_are_kept() -> None:
    text = FactKeeper(["code 7781", "code 42"]).invoke("the door has code 42").text
    assert "code 42" in text
    assert "7781" not in text


@given(st.text(min_size=1, max_size=40))
def test_a_fact_is_seen_through_the_escapes_of_the_payload(fact: str) -> None:
    call: Any = {"name": "f", "args": {"text": f"see {fact}!"}, "id": "c"}
    for message in (
        HumanMessage(f"see {fact}!"),
        ToolMessage(f"see {fact}!", tool_call_id="c"),
        AIMessage("", tool_calls=[call]),
    ):
        model = FactKeeper([fact])
        SummaryWriter(model, max_summary_tokens=8_000).write([message])
        assert f"- {fact}" in model.invoke(model.requests[0]).text


def test_a_fact_in_a_split_argument_is_seen() -> None:
    fact = 'path "a<b>.py"\nline 2'
    args = {"text": "x" * 900 + fact + "y" * 900}
    call: Any = {"name": "f", "args": args, "id": "c"}
    writer = SummaryWriter(FactKeeper([fact]), chunk_tokens=300)
    assert fact in writer.write([AIMessage("", tool_calls=[call])]).text


def test_the_oldest_facts_are_left_out_when_there_is_no_room() -> None:
    facts = [f"fact {number:04d} of the plan" for number in range(200)]
    model = FactKeeper(facts, max_tokens=300)
    text = model.invoke(" ".join(facts)).text
    kept = [fact for fact in facts if fact in text]
    assert kept == facts[-len(kept) :]
    assert 10 < len(kept) < 60
    assert f"({200 - len(kept)} older facts left out for want of room)" in text
    assert ScriptCounter().text(text) <= 300


def test_the_budget_in_the_prompt_counts_if_it_is_smaller() -> None:
    facts = [f"fact {number:04d} of the plan" for number in range(200)]
    writer = SummaryWriter(FactKeeper(facts), counter=ScriptCounter())
    summary = writer.write([HumanMessage(" ".join(facts))], budget=150)
    assert facts[-1] in summary.text
    assert ScriptCounter().text(summary.text) <= 150


def test_it_writes_chinese() -> None:
    text = (
        FactKeeper(["订单 A123"], language="zh", max_tokens=40).invoke("订单 A123").text
    )
    assert text.endswith("## NEXT STEPS\n无")
    facts = [f"订单 A{number}" for number in range(90)]
    text = FactKeeper(facts, language="zh", max_tokens=90).invoke(" ".join(facts)).text
    assert "条较早的事实因篇幅略去" in text


async def test_it_is_a_real_chat_model() -> None:
    model = FactKeeper(["code 7781"])
    prompt = [HumanMessage("code 7781")]
    whole = model.invoke(prompt)
    assert (await model.ainvoke(prompt)).text == whole.text
    assert "".join(chunk.text for chunk in model.stream(prompt)) == whole.text
    parts = [chunk.text async for chunk in model.astream(prompt)]
    assert "".join(parts) == whole.text
    assert len(parts) > 2
    assert model.requests == [prompt] * 4
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["input_tokens"] > 0
    provider = whole.response_metadata["model_provider"]
    assert provider == model._get_ls_params()["ls_provider"]


def test_a_fresh_copy_keeps_the_facts_and_forgets_the_requests() -> None:
    model = FactKeeper(["code 7781"], language="zh")
    text = model.invoke("code 7781").text
    assert model.fresh().requests == []
    assert model.fresh().invoke("code 7781").text == text
    assert FailingWriter("blank").fresh().invoke("q").text.strip() == ""


# --- failing writers ------------------------------------------------------------------


def test_an_unknown_kind_of_failure_is_refused() -> None:
    with pytest.raises(
        ValueError, match="unknown kind of failure 'shy', known are: blank"
    ):
        FailingWriter("shy")


SHOWS = {
    "blank": lambda reply: not reply.text.strip() and not reply.tool_calls,
    "cut_off": lambda reply: reply.response_metadata["finish_reason"] == "length",
    "rambling": lambda reply: ScriptCounter().text(reply.text) > 10_000,
    "reasoning_only": lambda reply: reply.content[0]["type"] == "reasoning",
    "refusing": lambda reply: reply.content[0]["type"] == "refusal",
    "tool_calls_only": lambda reply: not reply.text and reply.tool_calls,
}


@pytest.mark.parametrize("kind", sorted(SHOWS))
async def test_a_failing_writer_fails_in_its_way(kind: str) -> None:
    model = FailingWriter(kind)
    prompt: list[BaseMessage] = [HumanMessage("q")]
    streamed: Any = None
    async for chunk in model.astream(prompt):
        streamed = chunk if streamed is None else streamed + chunk
    for reply in (model.invoke(prompt), await model.ainvoke(prompt), streamed):
        assert SHOWS[kind](reply)
        assert reply.usage_metadata["input_tokens"] > 0
        assert json.dumps(reply.response_metadata)
    assert len(model.requests) == 3


async def test_a_raising_writer_raises_what_is_not_worth_a_retry() -> None:
    model = FailingWriter("raising")
    with pytest.raises(ModelAuthenticationError):
        model.invoke("q")
    with pytest.raises(ModelAuthenticationError):
        await model.ainvoke("q")
    assert set(FailingWriter.kinds()) == {*SHOWS, "raising"}
