"""Calm calls are those of the chain: with them and without, everything is the same."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ctxlab.calibration import LinearCalibration, RatioCalibration
from ctxlab.lab import Transcript, load_transcript, what_if
from ctxlab.lab.what_ifs.bench import Bench, Results
from ctxlab.lab.what_ifs.calm import CalmCalls
from ctxlab.settings import Settings
from tests.test_what_if import assert_same

THREAD = Path(__file__).parent / "data" / "threads" / "harbour_export.json"
NAMES = ("tool_loop", "mixed_scripts", THREAD)


@pytest.fixture(scope="module")
def benches():
    made = {str(name): Bench(load_transcript(name)) for name in NAMES}
    for bench in made.values():
        bench.results = Results(0)  # every run is lived
    return made


def told(tried):
    """Return all that a what-if tells, to be compared."""
    bills = [
        (e.input_tokens, e.cached_tokens, e.output_tokens, repr(e.error))
        for e in [*tried.exchanges, *tried.summaries]
    ]
    requests = [list(e.messages) for e in [*tried.exchanges, *tried.summaries]]
    lists = tried.calls, tried.details, tried.failed_turns, tried.state_messages
    return [*lists, bills, requests]


@st.composite
def trials(draw):
    """Settings, prices and rules, sensible ones and tight ones."""
    trigger = draw(st.integers(600, 14_000))
    share = draw(st.floats(0.1, 0.9))
    keep = draw(
        st.one_of(
            st.just(("tokens", max(100, int(share * trigger)))),
            st.integers(1, 20).map(lambda count: ("messages", count)),
        )
    )
    knobs = Settings(
        trigger=("tokens", trigger),
        keep=keep,
        counter=draw(st.sampled_from(["script", "cjk", "approximate"])),
        use_reported_usage=draw(st.booleans()),
        overhead_tokens=draw(st.sampled_from([None, 0, 50])),
        summary_chunk_tokens=draw(st.sampled_from([500, 3_000, 50_000])),
        max_input_tokens=draw(st.one_of(st.none(), st.integers(2_000, 30_000))),
    )
    prices = {
        "window": draw(st.one_of(st.none(), st.integers(1_500, 30_000))),
        "overhead": draw(st.sampled_from([0, 700, 6_000])),
        "scale": draw(st.sampled_from([1.0, 0.4, 1.7, 6.0])),
    }
    if prices["window"] is not None and prices["overhead"] >= prices["window"]:
        prices["overhead"] = 0
    rules = {
        "shorten_results": draw(st.sampled_from([None, 300, 2_000])),
        "remember": draw(st.sampled_from([True, True, True, False])),
        "merge_summary": draw(st.booleans()),
        "on_failure": draw(st.sampled_from(["answer", "raise"])),
        "calibration": draw(
            st.sampled_from([None, None, None, LinearCalibration(), RatioCalibration()])
        ),
        "pin": draw(st.sampled_from([None, None, ["read_file"]])),
    }
    return knobs, {**prices, **rules}


@given(name=st.sampled_from([str(name) for name in NAMES]), trial=trials())
@settings(max_examples=30)
def test_calm_calls_change_nothing(benches, name, trial):
    knobs, rest = trial
    quick = told(what_if(benches[name], knobs, **rest))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CalmCalls, "answer", lambda self, step: None)
        chained = told(what_if(benches[name], knobs, **rest))
    for now, expected in zip(quick, chained, strict=True):
        assert now == expected


def test_most_calls_are_calm(benches, monkeypatch):
    answers = []
    answer = CalmCalls.answer

    def counted(self, step):
        answers.append(answer(self, step))
        return answers[-1]

    monkeypatch.setattr(CalmCalls, "answer", counted)
    tried = what_if(
        benches["mixed_scripts"], Settings(trigger=("tokens", 9_000)), window=16_384
    )
    actions = [record.action for record in tried.calls]
    calm = [said for said, given in zip(actions, answers, strict=True) if given]
    assert set(calm) == {"pass", "reuse"}
    assert len(calm) > 0.8 * len(actions)


def test_a_listener_hears_of_calm_calls_and_may_fail(benches, caplog):
    heard = []

    def listener(record):
        heard.append(record)
        raise RuntimeError("not today")

    tried = what_if(benches["mixed_scripts"], Settings(), on_call=listener)
    assert heard == tried.calls
    assert caplog.messages.count("a listener failed") == len(heard)


@pytest.mark.parametrize("answers", [1, 2])
def test_answers_that_nobody_was_billed_for_end_a_calm_stretch(answers):
    said = [AIMessage("One more thing."), AIMessage("And another.")][:answers]
    turns = [HumanMessage("word " * 50), AIMessage("Yes."), *said]
    talk = Transcript([*turns * 6, HumanMessage("Thanks."), AIMessage("Bye.")])
    assert_same(talk, Settings(trigger=("tokens", 400), keep=("tokens", 200)))


@pytest.mark.parametrize("limit", [150, 190])
def test_a_call_that_was_never_recorded_is_refused_as_in_a_replay(limit):
    call = {"name": "read_log", "args": {}, "id": "c1"}
    messages = [
        HumanMessage("Read the log."),
        AIMessage("", tool_calls=[call]),
        ToolMessage("long line " * 900, tool_call_id="c1", name="read_log"),
        HumanMessage("And now?"),
        AIMessage("Nothing."),
    ]
    known = Settings(max_input_tokens=limit, overhead_tokens=10)
    tried = assert_same(Transcript(messages), known, window=4_000)
    assert [record.action for record in tried.calls][:2] == ["pass", "refuse"]
