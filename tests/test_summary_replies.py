"""What counts as a summary: row H8, faults B46, B50, B52, B53, B65."""

from typing import Any

import pytest
from langchain_core.exceptions import (
    ModelAuthenticationError,
)
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
)

from ctxlab.lab import FactKeeper, FailingWriter
from ctxlab.summaries import (
    SummaryError,
    SummaryWriter,
)
from tests.handoff import GOOD, Recorder, human, payload_of

CALL = {"name": "f", "args": {}, "id": "c"}


def ended(**metadata: Any) -> AIMessage:
    return AIMessage(GOOD, response_metadata=metadata)


UNUSABLE = [
    ("", "blank"),
    ("  \n", "blank"),
    ("<think>only thoughts</think>", "blank"),
    ("<think>never closed", "blank"),
    (AIMessage(""), "blank"),
    (
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}]),
        "only tool calls",
    ),
    (AIMessage([{"type": "reasoning", "reasoning": "x"}]), "only reasoning"),
    (AIMessage([{"type": "thinking", "thinking": "x"}]), "only reasoning"),
    (AIMessage("", additional_kwargs={"reasoning_content": "x"}), "only reasoning"),
    (AIMessage("<think>x</think>"), "only reasoning"),
    (AIMessage([{"type": "refusal", "refusal": "no"}]), "refused"),
    (AIMessage("", additional_kwargs={"refusal": "no"}), "refused"),
    (ended(stop_reason="refusal"), "refused"),
    (ended(finish_reason="content_filter"), "refused"),
    ("I'm sorry, but I can't help with that.", "refused"),
    ("抱歉，我无法提供帮助。", "refused"),
    (ended(finish_reason="FinishReason.SAFETY"), "refused"),
    (ended(finish_reason="length"), "cut off"),
    (ended(stop_reason="max_tokens"), "cut off"),
    (ended(finish_reason="MAX_TOKENS"), "cut off"),
    (ended(finish_reason="stop", stop_reason="max_tokens"), "cut off"),
    (ended(done_reason="length"), "cut off"),
    (
        ended(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        "cut off",
    ),
    ("word " * 4_000, "over the budget of 2000"),
    ({"summary": GOOD}, "returned dict"),
    (None, "returned NoneType"),
    (ValueError("boom"), "ValueError: boom"),
]


@pytest.mark.parametrize(("reply", "why"), UNUSABLE)
def test_h8_b52_a_reply_that_is_no_summary_goes_to_the_next_model(
    reply: Any, why: str
) -> None:
    summary = SummaryWriter(Recorder(reply), fallback_models=[Recorder(GOOD)]).write(
        [human("q")]
    )
    assert summary.text == GOOD
    assert summary.calls == 2
    assert why in summary.notes[0]


@pytest.mark.parametrize("kind", FailingWriter.kinds())
async def test_h8_failing_models_are_followed_by_the_main_model(kind: str) -> None:
    failing, main = FailingWriter(kind), FactKeeper(["code 7781"])
    writer = SummaryWriter(failing, fallback_models=[main])
    summary = await writer.awrite([human("the code 7781 opens it")])
    assert "code 7781" in summary.text
    assert writer.write([human("the code 7781 opens it")]) == summary
    assert (len(failing.requests), len(main.requests)) == (2, 2)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<think>x</think>S", "S"),
        ("<thinking>a\n</thinking>\n S \n", "S"),
        ("hidden thoughts</think>\nS", "S"),
        (
            AIMessage([{"type": "reasoning", "x": 1}, {"type": "text", "text": "SUM"}]),
            "SUM",
        ),
        (
            AIMessage("S", response_metadata={"finish_reason": "stop"}),
            "S",
        ),
        ("## SUMMARY\nI cannot help with that, said the shop.", None),
        ("A\nI can't help with that", None),
        ("不能处理中文路径的问题已修复", None),
        ("## SUMMARY\nThe parser fails on </think> alone", None),
        ("## SUMMARY\nIt fails on <think> only", None),
        ("## SUMMARY\nA. <think>hm</think>B.", "## SUMMARY\nA. B."),
    ],
)
def test_b52_b53_only_the_text_of_a_reply_counts(reply: Any, text: str | None) -> None:
    assert SummaryWriter(Recorder(reply)).write([human("q")]).text == (text or reply)


def test_h8_every_model_fails_and_the_error_is_chained_from_the_last() -> None:
    first, last = ModelAuthenticationError("401"), ValueError("boom")
    writer = SummaryWriter(Recorder(first), fallback_models=["", Recorder(last)][1:])
    with pytest.raises(SummaryError) as caught:
        writer.write([human("fact is 42")])
    assert caught.value.__cause__ is last
    assert "ModelAuthenticationError: 401" in str(caught.value)
    assert "ValueError: boom" in str(caught.value)


def test_b50_failure_text_is_never_a_summary() -> None:
    with pytest.raises(SummaryError):
        SummaryWriter(Recorder(ValueError("boom"))).write([human("fact is 42")])


def test_h8_the_same_model_is_asked_once() -> None:
    model = Recorder(ValueError("boom"))
    with pytest.raises(SummaryError):
        SummaryWriter(model, fallback_models=[model, model]).write([human("q")])
    assert len(model.prompts) == 1


def test_h8_a_summary_must_be_smaller_than_what_it_replaces() -> None:
    writer = SummaryWriter(Recorder("word" * 100), fallback_models=[Recorder("short")])
    summary = writer.write([human("q")], smaller_than=100)
    assert summary.text == "short"
    assert "100 tokens are no fewer than the 100" in summary.notes[0]


def test_b65_a_writer_that_repeats_and_adds_cannot_grow_past_the_budget() -> None:
    def echo(messages: list[BaseMessage]) -> str:
        data = payload_of(messages)
        return data["previous_summary"] + "new words " * 40  # type: ignore[no-any-return]

    writer = SummaryWriter(echo, max_summary_tokens=300)
    previous, sizes = "", []
    for _ in range(6):
        try:
            previous = writer.write([human("more")], previous=previous).text
        except SummaryError as error:
            assert "over the budget of 300" in str(error)
        sizes.append(len(previous) / 4)
    assert max(sizes) <= 300
    assert sizes[-1] == sizes[-2] > 0


def test_a_budget_cannot_be_above_the_most_a_summary_may_have() -> None:
    writer = SummaryWriter(Recorder("word " * 100), max_summary_tokens=120)
    for budget in (None, 100, 5_000):
        with pytest.raises(SummaryError, match=f"budget of {min(budget or 120, 120)}"):
            writer.write([human("q")], budget=budget)


def test_b46_no_message_no_call() -> None:
    writer = Recorder(GOOD)
    with pytest.raises(ValueError, match="no message to summarise"):
        SummaryWriter(writer).write([], previous="something")
    assert writer.prompts == []
