"""The panels of lessons 02 and 03 agree with real runs, and answer quickly enough."""

import functools
from itertools import pairwise

import pytest

from ctxlab.lab import FactKeeper, SimulatedChatModel, replay
from ctxlab.lab.ladder import lone_results, opening, requests_holding, streamed
from ctxlab.lab.order_desk import build, simulated_writer
from ctxlab.middleware import NaiveSummarizationMiddleware, builtin_summarization
from ctxlab.panels.ladder import (
    Rewriting,
    fold_panel,
    folded,
    rewrite_panel,
    rewritten,
)
from ctxlab.summaries import is_summary

STOCK = "Previous conversation was too long to summarize."


def marks(chart, name):
    """The places where a chart marks a compaction or a refusal."""
    return next(list(t.x or ()) for t in chart.figure.data if t.name == name)


def places(tests):
    """The numbers, from one, of what is true."""
    return [number for number, each in enumerate(tests, 1) if each]


@functools.cache
def invoice():
    return opening("engineering_tools", 100)


@functools.cache
def naively(keep):
    naive = NaiveSummarizationMiddleware(
        FactKeeper(invoice().facts), trigger=("tokens", 6_000), keep=("messages", keep)
    )
    return replay(invoice(), [naive])


# --- lesson 02: the rewrite -------------------------------------------------------


@pytest.mark.parametrize("keep", [8, 6, 9])
def test_m1_the_panel_refuses_the_calls_that_a_strict_provider_refuses(keep):
    real = places(lone_results(request) for request in naively(keep).requests)
    assert marks(rewritten(invoice(), keep=keep), "refusal") == real
    assert bool(real) == (keep != 9)


def test_m1_the_panel_compacts_where_the_middleware_does():
    opened = [request[1].text for request in naively(9).requests]
    changed = places(a != b for a, b in pairwise(opened))
    drawn = marks(rewritten(invoice(), keep=9), "compaction")
    assert drawn == [at + 1 for at in changed]


@pytest.mark.parametrize("keep", range(1, 25))
def test_a_safe_cut_is_never_refused(keep):
    story = Rewriting(invoice())
    assert marks(rewritten(story, keep=keep, safe=True), "refusal") == []


def test_some_keeps_split_nothing_here_by_luck():
    story = Rewriting(invoice())
    lucky = [k for k in range(1, 25) if not marks(rewritten(story, keep=k), "refusal")]
    assert lucky == [4, 9]


# --- lesson 03: what the summary model is shown ------------------------------------


@functools.cache
def audited(trim):
    audit = opening("tool_loop", 104)
    writer = FactKeeper(audit.facts)
    builtin = builtin_summarization(writer, trim_tokens_to_summarize=trim)
    silent = SimulatedChatModel(usage=False)
    return replay(audit, [builtin], model=silent, summary_model=writer)


@pytest.mark.parametrize("trim", [4_000, 20_000])
def test_b51_the_panel_folds_where_langchains_class_does(trim):
    chart, lived = folded(opening("tool_loop", 104), trim=trim), audited(trim)
    opened = [request[1].id for request in lived.requests]
    changed = places(a != b for a, b in pairwise(opened))
    away, shown = chart.figure.data
    assert list(away.x) == [at + 1 for at in changed]
    assert [bool(tokens) for tokens in shown.y] == [trim == 20_000] * len(changed)
    assert bool(requests_holding(lived, STOCK)) == (trim == 4_000)


def test_b51_the_smallest_trim_that_always_shows_something():
    audit = opening("tool_loop", 104)
    blind = {
        trim: "0 with nothing" not in repr(folded(audit, trim=trim))
        for trim in (16_000, 17_000)
    }
    assert blind == {16_000: True, 17_000: False}


def test_b56_no_more_is_shown_than_the_trim():
    away, shown = folded(opening("tool_loop", 104), trigger=9_000).figure.data
    pairs = list(zip(away.y, shown.y, strict=True))
    assert all(seen <= min(old, 4_000) for old, seen in pairs)
    assert any(seen > 0 for _, seen in pairs)


def test_nothing_over_the_trigger_is_drawn_as_nothing():
    chart = folded(opening("order_desk", 6), trigger=9_000)
    assert repr(chart).startswith("0 compactions, 0 with nothing shown")


# --- both -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("panel", "plain"), [(rewrite_panel, rewritten), (fold_panel, folded)]
)
def test_a_panel_redraws_resets_and_says_what_it_shows(panel, plain):
    talk = opening("tool_loop", 60)
    shown = panel(talk)
    before = repr(shown)
    assert before == plain(talk).sentence
    shown.knobs["trigger"].value = 9_000
    shown.knobs["keep"].value = 3
    assert repr(shown) == plain(talk, trigger=9_000, keep=3).sentence != before
    shown.reset()
    assert repr(shown) == before
    assert len(shown.knobs) <= 5


@pytest.mark.parametrize("panel", [rewrite_panel, fold_panel])
def test_every_place_of_the_knobs_can_be_drawn(panel):
    shown = panel(opening("order_desk", 6))
    for knob in shown.knobs.values():
        for end in ("min", "max"):
            knob.value = getattr(knob, end, not knob.value)
    assert repr(shown)


def test_only_the_naive_step_streams_its_summary():
    small = {"trigger": ("messages", 5), "keep": ("messages", 1)}
    seen = []
    for step in (NaiveSummarizationMiddleware, builtin_summarization):
        desk = build([step(simulated_writer(), **small)])
        desk.ask("Where is order A123?")
        parts = streamed(desk, "And when does that one arrive?")
        seen.append("".join(each.text for each in parts if not is_summary(each)))
    assert seen[0].count("## SESSION INTENT") == 2, "as written, and as a message"
    assert seen[1].startswith("As looked up before:")
