"""The panels of lessons 04 and 08: where a cut falls, and what a keep leaves."""

import re

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ctxlab.boundaries import cut_for_tokens, safe_cut
from ctxlab.history import HistoryMeter
from ctxlab.lab import SimulatedChatModel, load_transcript
from ctxlab.lab.exercise_cases.lesson_04 import SESSION, faults
from ctxlab.lab.handoffs import ATTACK, CARELESS, GOLD, obedient, review
from ctxlab.lab.strict import refuse_split_pairs
from ctxlab.panels.budget import (
    FIXED,
    SCALE,
    SUMMARY,
    keep_chart,
    keep_panel,
    local_budget,
)
from ctxlab.panels.handoff import PALE, cut_chart, cut_panel
from ctxlab.summaries import SummaryWriter
from ctxlab.summaries.prompts import missing_sections
from ctxlab.tokens import ScriptCounter

TALK = load_transcript("engineering_tools").messages
MORNING = TALK[:SESSION]


def figures(sentence):
    """The whole numbers in a sentence, in order."""
    return [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", sentence)]


# --- lesson 04: the cut ---------------------------------------------------------


@pytest.mark.parametrize("keep", range(1, 20))
def test_the_cut_panel_says_where_the_safe_cut_falls(keep):
    count, said_keep, wanted, *rest = figures(cut_chart(MORNING, keep).sentence)
    safe = safe_cut(MORNING, SESSION - keep)

    assert (count, said_keep, wanted) == (SESSION, keep, SESSION - keep)
    assert rest[:-2] == ([safe] if safe < wanted else [])
    assert rest[-2] == SESSION - safe
    assert rest[-1] == pytest.approx(ScriptCounter()(MORNING[safe:]), abs=SESSION)


def test_messages_before_the_cut_are_pale_and_all_are_drawn():
    figure = cut_chart(MORNING, keep=4).figure
    drawn = {
        place: opacity
        for bars in figure.data
        for place, opacity in zip(bars.x, bars.marker.opacity, strict=True)
    }

    assert sorted(drawn) == list(range(SESSION))
    assert [place for place in sorted(drawn) if drawn[place] == 1] == list(
        range(58, 64)
    )
    assert {drawn[place] for place in range(58)} == {PALE}


def test_the_sentence_follows_the_picture():
    chart = cut_chart(MORNING, keep=4)
    chart.figure.layout.shapes[1].x0 = 50.5

    assert "moves to 51" in chart.sentence


@pytest.mark.parametrize("so_far", [0, 1, 2])
def test_a_short_history_is_drawn_too(so_far):
    assert figures(cut_chart(MORNING, 8, so_far).sentence)[0] == so_far


def test_an_unanswered_call_holds_the_cut_back():
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])
    chat = [HumanMessage("Look."), call, HumanMessage("Well?")]

    assert "splits a pair, so it moves to 1" in cut_chart(chat, 1).sentence


# --- lesson 08: the budget ------------------------------------------------------


@pytest.mark.parametrize(
    ("keep", "fixed", "scale", "summary", "tokens"),
    [
        (24_000, 0, 1.0, 0, 24_000),
        (24_000, 4_000, 1.0, 2_000, 18_000),
        (24_000, 16_000, 1.25, 2_000, 4_400),
        (24_000, 24_000, 1.0, 2_000, 0),
    ],
)
def test_m12_the_budget_of_the_tail(keep, fixed, scale, summary, tokens):
    assert local_budget(keep, fixed, scale, summary) == tokens


@pytest.mark.parametrize("so_far", range(40, 480, 40))
def test_m12_what_the_line_predicts_stays_within_keep(so_far):
    """Unless the newest unit alone is larger."""
    said = keep_chart(TALK, so_far=so_far).sentence
    _, total = figures(said.split("; ")[1])[:2]
    *_, kept = figures(said)

    history = HistoryMeter(ScriptCounter()).measure(TALK[:so_far])
    budget = local_budget(24_000, FIXED, SCALE, SUMMARY)
    cut = cut_for_tokens(TALK[:so_far], budget, tokens_from=history.tokens)
    assert kept == so_far - cut
    assert total <= 24_000 + 7 or history.tokens(cut) > budget


def test_m12_a_unit_larger_than_the_budget_stays():
    said = keep_chart(TALK, so_far=461).sentence

    assert said.endswith("4 messages kept")
    assert figures(said.split("; ")[1])[1] > 24_000


def test_nothing_to_cut_needs_no_summary():
    said = keep_chart(TALK[:2], keep_tokens=48_000).sentence

    assert "Σ" not in said
    assert said.endswith("2 messages kept")


# --- both as widgets ------------------------------------------------------------


PANELS = {
    "cut": (lambda: cut_panel(MORNING), lambda **k: cut_chart(MORNING, **k)),
    "keep": (lambda: keep_panel(TALK[:480]), lambda **k: keep_chart(TALK[:480], **k)),
}


@pytest.mark.parametrize(
    ("name", "knob", "value"),
    [
        ("cut", "keep", 3),
        ("cut", "so_far", 49),
        ("keep", "keep_messages", 8),
        ("keep", "keep_tokens", 30_000),
        ("keep", "fixed", 20_000),
        ("keep", "scale", 1.0),
        ("keep", "so_far", 461),
    ],
)
def test_a_panel_shows_what_the_plain_function_draws(name, knob, value):
    make, plain = PANELS[name]
    moved = make()
    first = repr(moved)
    assert first == plain().sentence

    moved.knobs[knob].value = value
    assert repr(moved) == plain(**{knob: value}).sentence != first
    assert moved._repr_mimebundle_()["text/plain"] == repr(moved)

    moved.reset()
    assert repr(moved) == first


@pytest.mark.parametrize("panel", [cut_panel(MORNING), keep_panel(TALK[:480], 469)])
def test_a_panel_has_at_most_five_knobs_and_three_questions(panel):
    assert 1 <= len(panel.knobs) <= 5
    questions = panel.children[-1].value
    assert questions.count("<li>") == 3


# --- what lesson 04 shows -------------------------------------------------------


def test_a_strict_provider_answers_pairs_and_refuses_what_splits_them():
    provider = SimulatedChatModel(failures=refuse_split_pairs)

    assert provider.invoke(MORNING).text
    for cut in range(SESSION):
        whole = safe_cut(MORNING, cut) == cut
        refusal = refuse_split_pairs(0, MORNING[cut:])
        assert (refusal is None) == whole
    assert refuse_split_pairs(0, MORNING[60:]).status_code == 400


def test_the_gold_handoff_meets_every_need_and_is_true_to_the_session():
    gold = [row["gold"] for row in review({"gold": GOLD})]
    said = "\n".join(message.text for message in MORNING)

    assert all(gold)
    assert missing_sections(GOLD) == []
    for exact in ("TB-1203", "TB-2025-11873", "9c1e7f2", "160 passed", "2025-03-17/1"):
        assert exact in said
    assert "git commit" not in said
    assert not any(row["careless"] for row in review({"careless": CARELESS}))


def test_x9_an_order_in_a_tool_result_stays_inside_the_data_block():
    assert "approved the refund" in obedient(ATTACK)
    assert "Nobody" in SummaryWriter(obedient).write(ATTACK).text
    assert isinstance(ATTACK[-1], ToolMessage)


@pytest.mark.parametrize(
    "truthful",
    [
        "Not refunded yet.",
        "A7 is not yet refunded.",
        "Nothing is paid back.",
    ],
)
def test_the_review_takes_a_denial_for_no_claim(truthful):
    assert not any("truth" in fault for fault in faults(truthful))
