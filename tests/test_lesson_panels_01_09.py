"""The panels of lessons 01 and 09 agree with real runs, and answer quickly enough."""

import functools
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from ctxlab import RequestOnlySummarizationMiddleware, ScriptCounter
from ctxlab.lab import FactKeeper, load_transcript, replay
from ctxlab.lab.replay_report import openings
from ctxlab.panels.ledger import Ledger, fill, ledger_panel
from ctxlab.panels.views import (
    Story,
    costs,
    prefix_changes,
    request_through,
    sent,
    stored,
    views_panel,
)


def opening(name, messages):
    """The first messages of a transcript."""
    whole = load_transcript(name)
    return replace(whole, messages=whole.messages[:messages], facts=())


def bars(chart):
    """The height of each bar, in tokens."""
    traces = [trace for trace in chart.figure.data if trace.type == "bar"]
    return [sum(column) for column in zip(*(t.y for t in traces), strict=True)]


def marks(chart, name):
    """The places where a chart marks a compaction or a refusal."""
    return next(list(t.x or ()) for t in chart.figure.data if t.name == name)


# --- lesson 01: what fills the window ---------------------------------------------


@functools.cache
def short_session():
    return replay(load_transcript("short_tools"))


def test_m4_the_parts_of_a_turn_are_the_largest_request_of_its_replay():
    lived, count = short_session(), ScriptCounter()
    tools = lived.transcript.tools
    last = [lived.requests[at] for at in (1, 2, 3)]  # the first turn makes two calls
    rows = Ledger(lived.transcript).rows()
    for request, row in zip(last, rows, strict=True):
        assert sum(row.values()) == pytest.approx(count(request, tools=tools), abs=1)


def test_m4_almost_all_of_a_short_request_is_system_prompt_and_tools():
    row = Ledger(load_transcript("short_tools")).rows()[-1]
    assert row["system"] + row["tools"] > 0.98 * sum(row.values())


def test_a_bar_is_refused_when_it_is_larger_than_the_room():
    talk = opening("engineering_tools", 210)
    chart = fill(talk, window=40_000, hidden=8_000)
    over = [n for n, tokens in enumerate(bars(chart), 1) if tokens > 32_000]
    assert over
    assert marks(chart, "refusal") == over


def test_fewer_tools_and_smaller_results_make_smaller_requests():
    ledger = Ledger(opening("engineering_tools", 210))
    whole = ledger.rows()
    without = ledger.rows(tools=0)
    cut = ledger.rows(most_per_result=500)
    assert all(row["tools"] == 0 for row in without)
    assert all(a["results"] <= b["results"] for a, b in zip(cut, whole, strict=True))
    assert cut[-1]["results"] < whole[-1]["results"] / 2
    assert ledger.rows(tools=ledger.tools) == whole


def test_a_turn_that_ends_without_an_answer_counts_all_its_messages():
    talk = opening("order_desk", 1)
    assert [type(m) for m in talk.messages] == [HumanMessage]
    assert Ledger(talk).rows()[0]["user"] == ScriptCounter().message(talk.messages[0])


def test_the_ledger_panel_redraws_resets_and_says_what_it_shows():
    talk = opening("engineering_tools", 210)
    panel = ledger_panel(talk)
    before = repr(panel)
    assert before == fill(talk).sentence
    panel.knobs["hidden"].value = 15_000
    panel.knobs["most_per_result"].value = 500
    assert repr(panel) == fill(talk, hidden=15_000, most_per_result=500).sentence
    assert repr(panel) != before
    panel.reset()
    assert repr(panel) == before
    assert len(panel.knobs) <= 5


# --- lesson 09: with and without memory -------------------------------------------


@functools.cache
def lived(remember):
    """Half of the lesson's talk, through the real middleware."""
    talk = opening("chinese_chat", 160)
    keeper = FactKeeper(openings(talk), language="zh")
    middleware = RequestOnlySummarizationMiddleware(
        keeper,
        trigger=("tokens", 10_000),
        keep=("tokens", 5_000),
        summary_chunk_tokens=50_000,
        use_reported_usage=False,
        overhead_tokens=1,
        remember=remember,
    )
    return replay(talk, [middleware], summary_model=keeper)


@pytest.mark.parametrize("remember", [True, False])
def test_x1_the_panel_compacts_about_as_often_as_the_middleware(remember):
    real = [record.action for record in lived(remember).calls].count("compact")
    drawn = marks(sent(lived(remember).transcript, remember=remember), "compaction")
    assert real > 0
    assert abs(len(drawn) - real) <= 1


def test_x1_without_memory_every_call_over_the_trigger_compacts():
    talk = opening("chinese_chat", 160)
    sizes = bars(sent(talk, trigger=10**6))
    chart = sent(talk, trigger=10_000, remember=False)
    over = [n for n, tokens in enumerate(sizes, 1) if tokens > 10_000]
    assert marks(chart, "compaction") == over
    assert len(over) > 10


def test_a_compaction_brings_a_request_within_keep():
    chart = sent(opening("chinese_chat", 200), trigger=10_000, keep=5_000)
    sizes, compacted = bars(chart), marks(chart, "compaction")
    assert compacted
    assert all(sizes[n - 1] <= 5_000 for n in compacted)
    assert max(sizes) <= 10_000


def test_a_cut_never_parts_a_call_from_its_result():
    talk = opening("engineering_tools", 210)
    story = Story(talk)
    for end in story.ends:
        cut = story.cut(end, 4_000)
        assert talk.messages[cut].type != "tool"


@pytest.mark.parametrize(
    "sizes",
    [
        {"trigger": 5_000, "keep": 5_000},
        {"trigger": 5_000, "keep": 9_000},
        {"keep": 900, "summary": 1_000},
    ],
)
def test_sizes_that_contradict_each_other_are_refused(sizes):
    with pytest.raises(ValueError, match="each must be smaller than the next"):
        sent(opening("order_desk", 2), **sizes)


def test_the_views_panel_redraws_resets_and_says_what_it_shows():
    talk = opening("chinese_chat", 200)
    panel = views_panel(talk)
    before = repr(panel)
    assert before == sent(talk).sentence
    panel.knobs["remember"].value = False
    assert repr(panel) == sent(talk, remember=False).sentence != before
    panel.reset()
    assert repr(panel) == before
    assert len(panel.knobs) <= 5


def test_every_place_of_the_knobs_can_be_drawn():
    talk = opening("order_desk", 4)
    for panel in (views_panel(talk), ledger_panel(talk)):
        for knob in panel.knobs.values():
            for end in ("min", "max"):
                knob.value = getattr(knob, end, not knob.value)
        assert repr(panel)


def test_x2_a_remembered_prefix_changes_at_most_once_a_compaction():
    compactions = [record.action for record in lived(True).calls].count("compact")
    assert 0 < costs(lived(True))["prefix changes"] <= compactions


def test_prefix_changes_counts_requests_that_begin_differently():
    one, two, three = map(HumanMessage, ["one", "two", "three"])
    assert prefix_changes([]) == prefix_changes([[one]]) == 0
    assert prefix_changes([[one], [one, two], [one, two, three]]) == 0
    assert prefix_changes([[one, two], [one], [two]]) == 2  # shorter is a change


def test_the_costs_of_a_replay_are_its_own_though_the_writer_wrote_on():
    before = costs(lived(False))
    lived(False).summary_model.invoke("one more summary, for somebody else")
    assert costs(lived(False)) == before
    assert before["summaries"] > costs(lived(True))["summaries"]
    assert before["tokens for them"] > costs(lived(True))["tokens for them"]
    billed = sum(each.input_tokens for each in lived(False).exchanges)
    assert 0 < before["not cached"] < billed


def test_m2_the_checkpoint_stands_as_recorded_and_a_lost_message_shows():
    assert stored(lived(True)) == {
        "messages": 160,
        "summaries": 0,
        "as recorded": True,
    }
    spoiled = replace(lived(True), state_messages=lived(True).state_messages[1:])
    assert stored(spoiled) == {"messages": 159, "summaries": 0, "as recorded": False}


def test_m3_a_request_under_the_trigger_carries_the_same_objects():
    middleware = RequestOnlySummarizationMiddleware(FactKeeper())
    messages = [HumanMessage("Is it open?"), AIMessage("Yes."), HumanMessage("Thanks.")]
    passed = request_through(middleware, messages)
    assert len(passed) == 3
    assert all(a is b for a, b in zip(passed, messages, strict=True))
