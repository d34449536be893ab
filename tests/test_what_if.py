"""A what-if is a replay without the agent: the same calls, bills and failures."""

import random
from datetime import date
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ctxlab.lab import Transcript, load_transcript, replay, what_if
from ctxlab.lab.replay_report import figures, fingerprint, middleware_for
from ctxlab.lab.what_ifs import bench_for
from ctxlab.settings import Settings

THREAD = Path(__file__).parent / "data" / "threads" / "harbour_export.json"
SETTINGS = {
    "defaults": Settings(),
    "small trigger": Settings(trigger=("tokens", 12_000)),
    "keep messages": Settings(trigger=("tokens", 9_000), keep=("messages", 6)),
    "by messages": Settings(trigger=("messages", 15), keep=("messages", 5)),
    "own window": Settings(max_input_tokens=14_000, overhead_tokens=900),
    "LangChain's rule": Settings(
        trigger=("tokens", 9_000),
        counter="approximate",
        use_reported_usage=False,
        overhead_tokens=0,
    ),
    "one large chunk": Settings(
        trigger=("tokens", 8_000), summary_chunk_tokens=50_000, counter="cjk"
    ),
}


@pytest.fixture(scope="module")
def transcripts():
    names = ("order_desk", "tool_loop", "mixed_scripts", "chinese_support", THREAD)
    return {Path(name).stem: load_transcript(name) for name in names}


def assert_same(transcript, settings, *, rules=None, **prices):
    middleware, keeper = middleware_for(transcript, settings)
    for each in middleware:
        for name, value in (rules or {}).items():
            setattr(each.policy, name, value)
    lived = replay(transcript, middleware, summary_model=keeper, **prices)
    tried = what_if(transcript, settings, **prices, **(rules or {}))

    assert tried.calls == lived.calls
    assert tried.failed_turns == lived.failed_turns
    assert fingerprint(tried) == fingerprint(lived)
    bills = [
        [(e.input_tokens, e.cached_tokens, e.output_tokens) for e in each.exchanges]
        for each in (tried, lived)
    ]
    assert bills[0] == bills[1]
    assert [[m.text for m in r] for r in tried.requests] == [
        [m.text for m in request] for request in lived.requests
    ]
    if prices.get("window"):
        summaries = tried.summary_model if settings else keeper
        assert figures(tried, summaries) == figures(lived, keeper)
    return tried


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("beside", [True, False])
def test_calls_whose_arguments_are_broken_are_lived_as_in_a_replay(answered, beside):
    """LangChain writes a result for such a call, where the recording has none."""
    broken = {"name": "find", "args": "{cut", "id": "b", "error": "cut"}
    whole = {"name": "read", "args": {}, "id": "a"} if beside else None
    asks = AIMessage(
        "",
        tool_calls=[whole] if whole else [],
        invalid_tool_calls=[{**broken, "type": "invalid_tool_call"}],
    )
    results = [ToolMessage("text " * 90, tool_call_id="a")] if beside else []
    results += [ToolMessage("no", tool_call_id="b")] if answered else []
    turn = [HumanMessage("word " * 200), asks, *results, AIMessage("Done. " * 99)]
    talk = Transcript(turn * 4, imported=True)
    for trigger in (300, 40_000):
        small = Settings(trigger=("tokens", trigger), keep=("tokens", 200))
        assert_same(talk, small, window=3_000)
    assert fingerprint(replay(talk)) == fingerprint(replay(talk))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", ["tool_loop", "mixed_scripts", "harbour_export"])
def test_x12_a_what_if_equals_a_full_replay_call_by_call(transcripts, name, settings):
    tried = assert_same(transcripts[name], SETTINGS[settings], window=16_384)
    assert tried.calls
    assert len(tried.details) == len(tried.calls)


def test_a_what_if_of_a_long_chinese_conversation_equals_a_replay(transcripts):
    settings = Settings(trigger=("tokens", 20_000))
    tried = assert_same(
        transcripts["chinese_support"], settings, window=32_768, overhead=3_000
    )
    assert sum(record.summary_calls for record in tried.calls) > 3


@pytest.mark.parametrize("window", [None, 20_000, 4_000])
def test_without_the_middleware_turns_fail_as_in_a_replay(transcripts, window):
    tried = assert_same(transcripts["mixed_scripts"], None, window=window)
    assert bool(tried.failed_turns) is (window is not None)


@pytest.mark.parametrize("rules", [{"shorten_results": None}, {"remember": False}])
def test_rules_of_the_middleware_hold(transcripts, rules):
    settings = Settings(trigger=("tokens", 9_000))
    assert_same(transcripts["harbour_export"], settings, rules=rules, window=30_000)


def test_a_request_that_the_provider_refuses_is_recovered_as_in_a_replay(transcripts):
    """The window is smaller than anybody told the middleware."""
    tried = assert_same(
        transcripts["mixed_scripts"], Settings(overhead_tokens=0), window=9_000
    )
    assert "recover" in {record.action for record in tried.calls}


def test_details_say_which_requests_and_prompts_belong_to_a_call(transcripts):
    tried = what_if(
        transcripts["mixed_scripts"], Settings(trigger=("tokens", 9_000)), window=16_384
    )
    for record, detail in zip(tried.calls, tried.details, strict=True):
        sent = tried.exchanges[slice(*detail.requests)]
        assert len(sent) == (0 if record.action == "refuse" else 1)
        assert record.provider_input_tokens in [each.input_tokens for each in sent]
        prompts = tried.summaries[slice(*detail.summaries)]
        assert len(prompts) == record.summary_calls
    assert tried.details[-1].turn == len(transcripts["mixed_scripts"].turns())


def test_a_knob_moved_back_gives_the_remembered_result(transcripts):
    small, large = (Settings(trigger=("tokens", n)) for n in (9_000, 12_000))
    bench = bench_for(transcripts["tool_loop"])
    first = what_if(bench, small, window=16_384)
    assert what_if(bench, large, window=16_384) is not first
    assert what_if(bench, small, window=16_384) is first


def broken_off() -> Transcript:
    """A user who speaks before the agent has looked at the tool's result."""
    call = {"name": "read", "args": {}, "id": "c1"}
    return Transcript(
        [
            HumanMessage("Read it."),
            AIMessage("", tool_calls=[call]),
            ToolMessage("a long line " * 50, tool_call_id="c1", name="read"),
            HumanMessage("And now?"),
            AIMessage("Nothing."),
        ]
    )


def test_what_follows_a_call_that_was_never_recorded_is_billed_once():
    tried = assert_same(broken_off(), Settings(), window=16_384)
    first, ended, next_ = (each.input_tokens for each in tried.exchanges)
    assert first < ended < next_ < ended + 20


def test_sizes_of_contents_without_a_key_are_not_taken_for_one_another():
    """A date can be no part of a key, and the entry of its message is soon gone."""
    odd = {"additional_kwargs": {"when": date(2020, 1, 1)}}
    rng = random.Random(7)
    messages = [
        message
        for at in range(40)
        for message in (
            HumanMessage(f"q{at} " + "word " * rng.choice([1, 1, 200, 30]), **odd),
            AIMessage(f"a{at} " + "word " * rng.choice([1, 100]), **odd),
        )
    ]
    settings = Settings(
        trigger=("tokens", 900), keep=("tokens", 300), summary_chunk_tokens=200
    )
    assert_same(Transcript(messages), settings, window=16_384)


def test_a_rule_that_is_a_function_is_asked_every_time():
    talk = Transcript(
        [
            message
            for at in range(12)
            for message in (
                HumanMessage(f"q{at} " + "word " * 60),
                AIMessage(f"a{at} " + "word " * 20),
            )
        ]
    )
    small = Settings(trigger=("tokens", 600), keep=("tokens", 200))
    for at in range(6):
        begins = f"q{at} "
        tried = what_if(talk, small, pin=lambda m, begins=begins: begins in m.text)
        assert any(begins in message.text for message in tried.exchanges[-1].messages)
