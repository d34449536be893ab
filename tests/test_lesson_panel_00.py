"""The panel of lesson 00 agrees with a real run, and its questions have answers."""

import functools
from dataclasses import replace

import pytest

from ctxlab import RequestOnlySummarizationMiddleware
from ctxlab.lab import FactKeeper, load_transcript, replay
from ctxlab.panels.rescue import KEEP, TRIES, TRIGGER, rescue_panel, rescued

SMALL = {"window": 9_000, "hidden": 2_000}


def opening(messages):
    """The first messages of the lesson's conversation."""
    whole = load_transcript("chinese_support")
    facts = [fact for fact in whole.facts if fact.message < messages]
    return replace(whole, messages=whole.messages[:messages], facts=tuple(facts))


def bars(chart):
    """The height of each bar, in tokens."""
    traces = [trace for trace in chart.figure.data if trace.type == "bar"]
    return [sum(column) for column in zip(*(t.y for t in traces), strict=True)]


def part(chart, name):
    """One kind of every bar, in tokens."""
    return next(list(t.y) for t in chart.figure.data if t.name.endswith(name))


def marks(chart, name):
    """The turns that a chart marks with a compaction or a refusal."""
    return next(list(t.x or ()) for t in chart.figure.data if t.name == name)


@functools.cache
def lived():
    """The opening, through the real middleware."""
    writer = FactKeeper(opening(120).facts, language="zh")
    middleware = RequestOnlySummarizationMiddleware(
        writer, trigger=("tokens", 7_000), keep=("tokens", 4_000)
    )
    return replay(
        opening(120),
        [middleware],
        window=SMALL["window"],
        overhead=SMALL["hidden"],
        summary_model=writer,
    )


def test_a_bar_is_the_largest_request_of_its_turn_as_a_replay_bills_it():
    chart = rescued(lived().transcript, trigger=7_000, keep=4_000, **SMALL)
    largest = [row["largest"] for row in lived().rows()]
    assert bars(chart) == pytest.approx(largest, abs=0.1)


def test_the_panel_compacts_in_the_turns_in_which_the_middleware_does():
    chart = rescued(lived().transcript, trigger=7_000, keep=4_000, **SMALL)
    rows = lived().rows()
    compacted = [row["turn"] for row in rows if row["summaries"]]
    assert compacted
    assert marks(chart, "compaction") == compacted
    assert marks(chart, "refusal") == []


def test_hidden_tokens_stand_with_the_system_and_summaries_after_a_compaction():
    chart = rescued(lived().transcript, trigger=7_000, keep=4_000, **SMALL)
    first = marks(chart, "compaction")[0]
    assert min(part(chart, "system")) > SMALL["hidden"]
    told = [bool(tokens) for tokens in part(chart, "summary")]
    assert not any(told[: first - 1])
    assert all(told[first:])


def test_a_trigger_above_the_window_leaves_it_to_the_provider():
    chart = rescued(opening(160), trigger=20_000, keep=4_000, **SMALL)
    (turn,) = marks(chart, "refusal")[:1]
    assert max(bars(chart)) <= SMALL["window"]
    assert bars(chart)[turn - 1] < bars(chart)[turn - 2], "tried again, and shorter"


@functools.cache
def panel():
    return rescue_panel(load_transcript("chinese_support"))


def said(**knobs):
    """What the lesson's panel says when its knobs stand there."""
    panel().reset()
    for name, value in knobs.items():
        panel().knobs[name].value = value
    return repr(panel())


def test_the_panel_opens_where_the_lesson_is_and_resets():
    talk = load_transcript("chinese_support")
    assert said() == rescued(talk).sentence
    assert said().endswith("compaction at turn 99")
    assert said(keep=20_000, trigger=32_768) != said()
    assert len(panel().knobs) <= 5
    settings = RequestOnlySummarizationMiddleware(FactKeeper()).settings
    assert (settings.trigger, settings.keep) == (("tokens", TRIGGER), ("tokens", KEEP))


def test_the_three_questions_have_the_answers_that_the_panel_shows():
    assert len(TRIES) == 3
    lowest, highest = panel().knobs["trigger"].min, panel().knobs["keep"].max
    assert said(trigger=lowest).endswith("compactions at turns 58, 90, 111 and 137")
    assert said(trigger=lowest, keep=highest).endswith("(7 in all)")
    above = panel().knobs["trigger"].max
    assert above > 65_536
    assert said(trigger=above).endswith("refusal at turn 137")


def test_every_place_of_the_knobs_can_be_drawn():
    shown = rescue_panel(opening(12))
    for knob in shown.knobs.values():
        for end in (knob.min, knob.max):
            knob.value = end
            assert repr(shown).startswith("5 turns")
