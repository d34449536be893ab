"""What a what-if makes late, or remembers, is what it would have made at once."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ctxlab.calibration import AnchoredCalibration, UsageSample
from ctxlab.calibration.anchored import AnchoredTrack
from ctxlab.chain.asked import COMPACT_TOOL
from ctxlab.chain.learning import CUT_OFF
from ctxlab.lab import Transcript, load_transcript, what_if
from ctxlab.lab.what_ifs import bench as benches_module
from ctxlab.lab.what_ifs.bench import Bench, Results
from ctxlab.lab.what_ifs.later import Later
from ctxlab.lab.what_ifs.totals import totals
from ctxlab.settings import Settings
from tests.test_what_if import assert_same
from tests.test_what_if_calm import NAMES, benches, told, trials

__all__ = ["benches"]  # the fixture: benches that only grow wiser


@given(name=st.sampled_from([str(name) for name in NAMES]), trial=trials())
@settings(max_examples=25)
def test_a_bench_that_remembers_tells_what_a_new_one_does(benches, name, trial):
    knobs, rest = trial
    fresh = what_if(Bench(benches[name].transcript), knobs, **rest)
    first, again = (what_if(benches[name], knobs, **rest) for _ in range(2))
    assert told(first) == told(fresh)
    assert told(again) == told(fresh)


@given(name=st.sampled_from([str(name) for name in NAMES]), trial=trials())
@settings(max_examples=25)
def test_totals_are_the_same_before_anybody_looks_and_after(benches, name, trial):
    knobs, rest = trial
    tried = what_if(benches[name], knobs, **rest)
    before = totals(tried)
    records, exchanges = list(tried.calls), list(tried.exchanges)
    assert totals(tried) == before
    paid = [each for each in exchanges if each.error is None]
    assert before.calls == len(exchanges)
    assert before.uncached_tokens + before.cached_tokens == sum(
        each.input_tokens for each in paid
    )
    assert before.written_tokens == sum(each.output_tokens for each in paid)
    assert before.dropped_messages == max(
        (each.dropped_messages for each in records), default=0
    )


def test_what_nobody_looks_at_is_not_made(benches, monkeypatch):
    made = []
    looked = Later.__getitem__

    def counted(self, index):
        made.append(index)
        return looked(self, index)

    monkeypatch.setattr(Later, "__getitem__", counted)
    tried = what_if(benches["mixed_scripts"], Settings(), window=65_536)
    totals(tried)
    assert made == [-1] or made == [len(tried.exchanges) - 1]  # facts of the last
    assert tried.calls[-1].provider_input_tokens == tried.exchanges[-1].input_tokens


def test_a_call_in_the_middle_is_made_alone_and_stays_the_same(benches):
    small = Settings(trigger=("tokens", 9_000))
    looked, whole = (
        what_if(benches["mixed_scripts"], small, window=16_384) for _ in range(2)
    )
    middle = len(whole.calls) // 2
    assert looked.calls[middle] is looked.calls[middle - len(looked.calls)]
    assert looked.calls[middle] == list(whole.calls)[middle]
    assert looked.details[middle] == list(whole.details)[middle]
    sent = looked.exchanges[middle].messages
    assert list(sent) == list(whole.exchanges[middle].messages)
    assert sent == looked.requests[middle]


@st.composite
def talks(draw):
    """Conversations with repetitions, tools, gaps, and answers out of place."""
    sizes, messages = st.sampled_from([1, 30, 30, 200]), []
    for turn in range(draw(st.integers(2, 9))):
        words = draw(st.sampled_from(["word ", "好的", "<a> & b "]))
        messages.append(HumanMessage(words * draw(sizes)))
        for step in range(draw(st.integers(0, 3))):
            name = draw(st.sampled_from(["read", "read", COMPACT_TOOL]))
            call = {"name": name, "args": {"n": turn}, "id": f"c{turn}-{step}"}
            messages.append(AIMessage(words * draw(sizes), tool_calls=[call]))
            if draw(st.integers(0, 9)):
                text = "line of a file " * draw(sizes)
                messages.append(ToolMessage(text, tool_call_id=call["id"], name=name))
        answers = draw(st.sampled_from([1, 1, 1, 1, 0, 2]))
        noted = {"ctxlab": {"local_input_tokens": 9, "provider_input_tokens": 99}}
        metadata = draw(st.sampled_from([{}, {}, noted, {"finish_reason": "length"}]))
        said = AIMessage("Yes. " * draw(sizes), response_metadata=metadata)
        messages += [said] * answers
    return Transcript(messages)


@given(
    talk=talks(),
    trigger=st.integers(150, 3_000),
    window=st.sampled_from([None, 700, 2_000, 9_000]),
    knobs=st.fixed_dictionaries(
        {
            "use_reported_usage": st.booleans(),
            "overhead_tokens": st.sampled_from([None, 0]),
            "max_input_tokens": st.sampled_from([None, None, 600, 2_500]),
        }
    ),
    overhead=st.sampled_from([0, 90]),
)
@settings(max_examples=40)
def test_a_what_if_of_any_conversation_equals_a_replay(
    talk, trigger, window, knobs, overhead
):
    share = ("tokens", max(50, trigger // 3))
    wanted = Settings(trigger=("tokens", trigger), keep=share, **knobs)
    assert_same(talk, wanted, window=window, overhead=overhead)


@given(
    samples=st.lists(
        st.tuples(st.integers(0, 9_000), st.integers(1, 40_000), st.sampled_from("ab")),
        min_size=1,
        max_size=40,
    ),
    size=st.floats(0, 50_000),
)
def test_a_track_predicts_as_its_line(samples, size):
    track = AnchoredTrack(AnchoredCalibration(), 40.0)
    for local, billed, fingerprint in samples:
        track.add(UsageSample(local, billed, 40.0, fingerprint))
        line = track.line(40.0)
        assert track.predict(size) == line.predict(size)
        assert track.tokenizer_scale == line.tokenizer_scale


def test_a_summary_of_the_same_span_is_written_once(benches, monkeypatch):
    bench = Bench(benches["mixed_scripts"].transcript)
    keeping, asked = bench.keeper.replies, []
    told_by = type(keeping).told

    def counted(self, *given):
        asked.append(given)
        return told_by(self, *given)

    monkeypatch.setattr(type(keeping), "told", counted)
    runs = []
    for trigger in (9_000, 9_001):
        small = Settings(trigger=("tokens", trigger), keep=("tokens", 4_000))
        runs.append(what_if(bench, small, window=16_384))
        runs[-1].asked = len(asked)
    assert runs[0].summaries
    assert runs[0].asked == runs[1].asked > 0
    assert runs[0].summaries == runs[1].summaries


def test_recorded_replies_end_on_their_own(benches):
    """So no answer of a calm stretch was cut off by a full window."""
    for bench in benches.values():
        for reply in bench.replies.values():
            metadata = reply.message.response_metadata
            assert metadata["finish_reason"] not in CUT_OFF
            assert "stop_reason" not in metadata


def test_answers_belong_to_their_run(benches):
    bench, knobs = benches["tool_loop"], Settings(trigger=("tokens", 12_000))
    expected = told(what_if(bench, knobs, window=32_768))
    lived = what_if(bench, knobs, window=32_768)
    for message in lived.state_messages:
        if isinstance(message, AIMessage):
            message.usage_metadata = None
            message.response_metadata.clear()
    lived.state_messages.clear()
    assert told(what_if(bench, knobs, window=32_768)) == expected


def test_what_was_not_looked_at_is_pickled_as_a_list(benches):
    knobs = Settings(trigger=("tokens", 12_000))
    lived = what_if(benches["tool_loop"], knobs, window=32_768)
    for made in (lived.calls, lived.details, lived.exchanges):
        copies = pickle.loads(pickle.dumps(made)), copy.deepcopy(made), [*made]
        assert all(type(each) is list and each == made for each in copies)
        assert made + made == [*made, *made]
    assert repr(lived.exchanges[0].messages).startswith("[SystemMessage")


def test_a_bench_begins_anew_when_it_holds_much(monkeypatch):
    bench = Bench(load_transcript("tool_loop"))
    knobs = [Settings(trigger=("tokens", 9_000 + 500 * n)) for n in range(8)]
    monkeypatch.setattr(benches_module, "MOST_HELD", 10**9)
    expected, held = [], []
    for each in knobs:
        expected.append(told(what_if(bench, each, window=32_768)))
        held.append(bench.held)
    assert sorted(held) == held
    monkeypatch.setattr(benches_module, "MOST_HELD", held[0])
    for each, before in zip(knobs, expected, strict=True):
        bench.results = Results(0)
        assert told(what_if(bench, each, window=32_768)) == before
        assert bench.held < held[-1]


def test_later_is_a_list_whose_objects_are_made_once():
    asked = []

    def make(at):
        asked.append(at)
        return f"made {at}"

    objects = Later()
    objects.append("here")
    objects.promise(0, make)
    objects.promise(2, make, lambda at: f"glance {at}")
    objects.append("there")
    objects.promise(1, make)
    known = ["here", "glance 0", "glance 1", "there"]
    assert list(objects.glances()) == [*known, "made 0"]
    asked.clear()
    assert objects[2] == objects[-3] == "made 1"
    assert asked == [1]
    assert objects[1:3] == ["made 0", "made 1"]
    assert objects == ["here", "made 0", "made 1", "there", "made 0"]
    assert objects != ["here"] and objects != "here"
    first, last = ["first"], ["last"]
    assert first + objects + last == [*first, *objects, *last]
    assert objects + last == [*objects, *last]
    assert list(objects.glances()) == list(objects)
    assert repr(objects) == repr(list(objects))
    with pytest.raises(IndexError):
        objects[5]
