"""Row M18: stale and oversize results, shortened for one request only."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.tokens import ScriptCounter
from ctxlab.tool_results import clip, clip_text, shorten_stale, stale_results
from tests.requests import Desk

counter = ScriptCounter()


def call(n: int, **args: Any) -> AIMessage:
    one = {"name": "read", "args": args or {"n": n}, "id": f"c{n}"}
    return AIMessage(f"step {n}", tool_calls=[one])


def result(n: int, words: int, name: str = "read") -> ToolMessage:
    text = " ".join(f"row-{n}-{k}" for k in range(words))
    return ToolMessage(f"HEAD{n} {text} TAIL{n}", tool_call_id=f"c{n}", name=name)


def steps(count: int, words: int = 1_000) -> list[BaseMessage]:
    pairs = [(call(n), result(n, words)) for n in range(count)]
    return [HumanMessage("read"), *[message for pair in pairs for message in pair]]


def stale(messages: list[BaseMessage], **rules: Any) -> list[int]:
    return stale_results(messages, lambda i: counter.message(messages[i]), **rules)


def test_m18_stale_is_large_answered_and_not_among_the_newest_three() -> None:
    messages = steps(6)
    assert stale(messages) == [2, 4, 6]
    assert stale(steps(3)) == []


@given(
    kinds=st.lists(st.sampled_from(["user", "call", "result", "other"]), max_size=30),
    newest=st.integers(0, 4),
    data=st.data(),
)
def test_m18_stale_means_answered_and_behind_it_newer_results(
    kinds: list[str], newest: int, data: st.DataObject
) -> None:
    made = {
        "user": HumanMessage("go on"),
        "call": call(1),
        "result": result(1, 1),
        "other": result(1, 1, name="keep"),
    }
    large = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    expected = [
        at
        for at, kind in enumerate(kinds)
        if kind in ("call", "result")
        and large[at]
        and "call" in kinds[at + 1 :]
        and sum(k in ("result", "other") for k in kinds[at + 1 :]) >= newest
    ]
    found = stale_results(
        [made[kind] for kind in kinds],
        lambda at: 3_000 if large[at] else 1,
        newest=newest,
        exclude=["keep"],
    )
    assert found == expected


def test_m18_small_results_and_excluded_tools_stay() -> None:
    assert stale(steps(6, words=20)) == []
    messages = steps(6)
    messages[2] = result(0, 1_000, name="plan")
    assert stale(messages, exclude=["plan"]) == [4, 6]


def test_m18_results_the_model_has_not_seen_stay() -> None:
    ids = [f"c{n}" for n in range(6)]
    calls = [{"name": "read", "args": {}, "id": call_id} for call_id in ids]
    fresh = [HumanMessage("go"), AIMessage("", tool_calls=calls)]
    fresh += [result(n, 1_000) for n in range(6)]  # type: ignore[misc]
    assert stale(fresh) == []  # type: ignore[arg-type]


def test_m18_old_arguments_are_stale_like_results() -> None:
    messages = steps(6, words=20)
    messages[1] = call(0, path="a.py", content="line of code\n" * 2_000)
    assert stale(messages) == [1]


def test_m18_head_and_tail_stay_around_a_marker_and_the_size() -> None:
    whole = result(1, 3_000)
    short = clip(whole, 500, counter.text)
    assert short.text.startswith("HEAD1") and short.text.endswith("TAIL1")
    assert f"of {len(whole.text):,} characters left out" in short.text
    assert counter.text(short.text) <= 525
    assert (short.tool_call_id, short.name) == (whole.tool_call_id, whole.name)
    assert len(whole.text) > 20_000


@pytest.mark.parametrize("tokens", [60, 100, 500, 2_000])
def test_m18_a_clipped_text_keeps_its_size(tokens: int) -> None:
    text = " ".join(f"word-{n}" for n in range(5_000))
    assert counter.text(clip_text(text, tokens, counter.text)) <= 1.1 * tokens


def test_m18_arguments_keep_their_names_ids_and_short_values() -> None:
    edits = [{"old": "x" * 8_000, "new": "y" * 8_000, "all": True}]
    made = call(1, path="src/app.py", edits=edits)
    short = clip(made, 200, counter.text)
    (one,) = short.tool_calls
    assert (one["id"], one["name"]) == ("c1", "read")
    assert one["args"]["path"] == "src/app.py"
    assert one["args"]["edits"][0]["all"] is True
    assert len(one["args"]["edits"][0]["old"]) < 1_000
    assert made.tool_calls[0]["args"]["edits"] == edits


def test_m18_a_copy_of_the_call_in_the_content_goes_too() -> None:
    block = {"type": "tool_use", "id": "c1", "name": "w", "input": {"t": "x" * 9_000}}
    calls = [{"name": "w", "args": {"t": "x" * 9_000}, "id": "c1"}]
    made = AIMessage([{"type": "text", "text": "hi"}, block], tool_calls=calls)
    short = clip(made, 100, counter.text)
    assert short.content == [{"type": "text", "text": "hi"}]
    assert counter.message(short) < 200


def test_m18_json_and_pictures_in_a_result_become_text_and_markers() -> None:
    blocks: list[Any] = [
        {"type": "json", "json": {"k": "v" * 9_000}},
        {"type": "image", "base64": "AAAA" * 9_000, "mime_type": "image/png"},
    ]
    short = clip(ToolMessage(blocks, tool_call_id="c"), 100, counter.text)
    assert short.text.startswith('{"k": "vvv') and short.text.endswith("[image]")
    assert "AAAA" not in short.text


def test_m18_shorten_stale_leaves_all_other_objects_alone() -> None:
    messages = steps(6)
    short = shorten_stale(messages, counter.text)
    changed = [
        i for i, (a, b) in enumerate(zip(messages, short, strict=True)) if a is not b
    ]
    assert changed == [2, 4, 6]


def desk(**settings: Any) -> Desk:
    middleware = RequestOnlySummarizationMiddleware(
        lambda _: "S.",
        trigger=("tokens", 20_000),
        keep=("tokens", 8_000),
        overhead_tokens=0,
        **settings,
    )
    return Desk(middleware)


def test_m18_shortening_may_be_enough_and_costs_no_summary() -> None:
    one = desk()
    messages = steps(8, words=600)
    one.call(messages)
    (record,) = one.records
    assert record.action == "compact" and record.summary_calls == 0
    assert record.before_tokens >= 20_000 > record.after_tokens
    assert "row-0-300" in messages[2].text
    assert "row-0-300" not in one.sent[0][2].text


def test_m18_what_is_shortened_stays_so_until_the_next_compaction() -> None:
    one = desk()
    messages = steps(8, words=600)
    messages = [*messages, one.call(messages), HumanMessage("and?")]
    one.call(messages)
    first, second = one.sent
    assert all(a is b for a, b in zip(first, second, strict=False))
    assert one.records[-1].action == "reuse"
    assert one.records[-1].after_tokens < 20_000


def test_m18_tools_can_be_left_out() -> None:
    one = desk(keep_results_of=["read"])
    one.call(steps(8, words=600))
    assert one.records[0].summary_calls >= 1
    never = desk(shorten_results=None)
    never.call(steps(8, words=600))
    assert never.records[0].summary_calls >= 1
