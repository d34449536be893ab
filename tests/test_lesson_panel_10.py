"""The panel of lesson 10 walks the real chain; its exercises ask what that asks."""

import logging

import pytest
from langchain_core.messages import AIMessage

from ctxlab import RequestOnlySummarizationMiddleware
from ctxlab.lab import FactKeeper, SimulatedChatModel, load_transcript
from ctxlab.lab.exercise_cases import lesson_10
from ctxlab.lab.exercises import exercises
from ctxlab.panels.protected import HANDOFF, TRIGGER, WINDOW, Desk, walk
from ctxlab.panels.protection import Outcome, outcomes, path, protection_panel
from ctxlab.summaries import is_summary
from ctxlab.summaries.prompts import missing_sections
from ctxlab.tokens import ScriptCounter
from tests.requests import Desk as Office
from tests.requests import refused

TALK = load_transcript("engineering_tools")
DESK = Desk(TALK)


def names(led):
    return [step["name"] for step in led.steps]


def said(led):
    return [step["said"] for step in led.steps]


def tokens(step):
    return sum(step["parts"].values()) + step["hidden"]


# --- each layer fires ---------------------------------------------------------------


def test_under_the_trigger_what_is_asked_is_sent():
    led = walk(DESK, history=8_000)
    assert names(led) == ["asked", "sent"]
    assert tokens(led.steps[0]) == tokens(led.steps[1])
    assert (led.calls, said(led)[-1]) == (1, "answered")


def test_m15_an_oversize_message_reaches_no_other_layer():
    led = walk(DESK, history=8_000, newest=20_000)
    assert names(led) == ["asked"]
    assert (led.calls, said(led)) == (0, ["visible answer"])


def test_m18_stale_results_make_room_without_a_summary():
    led = walk(DESK, history=15_000)
    assert names(led) == ["asked", "2 shorten", "sent"]
    assert tokens(led.steps[1]) < TRIGGER < tokens(led.steps[0])
    assert led.steps[1]["parts"]["summary"] == 0


def test_m22_else_a_summary_brings_it_below_keep():
    led = walk(DESK)
    assert names(led) == ["asked", "3 summary", "sent"]
    assert tokens(led.steps[-1]) <= TRIGGER // 2
    assert led.steps[-1]["parts"]["summary"] > 0


def test_m16_an_overflow_is_retried_once_and_smaller():
    led = walk(DESK, history=8_000, hidden=9_000)
    assert names(led) == ["asked", "sent", "5 summary", "5 sent"]
    assert said(led)[1::2] == ["refused", "answered"]
    first, second = (sum(led.steps[at]["parts"].values()) for at in (1, 3))
    assert second <= first / 2
    assert led.calls == 2


def test_m16_a_second_overflow_ends_in_a_visible_answer():
    led = walk(DESK, hidden=WINDOW)
    assert led.calls == 2
    assert said(led)[-1] == "refused, visible answer"


def test_m16_what_cannot_get_smaller_is_not_sent_again():
    led = walk(DESK, history=0, hidden=WINDOW)
    assert led.calls == 1
    assert said(led)[-1] == "refused, visible answer"


def test_m13_what_is_still_too_large_is_not_sent_at_all():
    led = walk(DESK, newest=WINDOW - 50)
    assert led.calls == 0
    assert said(led)[-1].endswith("visible answer")
    assert len(led.steps) > 1, "the guard let it pass"


def test_a_walk_logs_nothing(caplog):
    with caplog.at_level(logging.WARNING):
        walk(DESK, newest=15_000)
    assert not caplog.records


# --- the walk and the middleware agree ----------------------------------------------


@pytest.mark.parametrize("history", [8_000, 15_000, 20_000, 35_000])
@pytest.mark.parametrize("newest", [50, 5_000, 24_000])
def test_the_walk_sends_what_the_middleware_sends(history, newest):
    request = DESK.request(history, newest)
    middleware = RequestOnlySummarizationMiddleware(
        SimulatedChatModel(replies=lambda messages: HANDOFF),
        trigger=("tokens", TRIGGER),
        keep=("tokens", TRIGGER // 2),
        overhead_tokens=0,
        max_input_tokens=WINDOW,
    )
    office = Office(middleware, system=TALK.system)
    answer = office.call(request.messages)
    led = walk(DESK, history=history, newest=newest)

    assert (refused(answer) is None) == (said(led)[-1] == "answered")
    assert len(office.sent) == led.calls
    for messages in office.sent:
        sent = next(step for step in led.steps if step["name"] == "sent")
        assert DESK.parts(messages) == pytest.approx(sent["parts"])
    assert office.records[0].before_tokens == pytest.approx(tokens(led.steps[0]), abs=2)


def test_the_canned_handoff_has_every_section():
    assert not missing_sections(HANDOFF)


# --- the picture --------------------------------------------------------------------


def test_the_chart_says_what_its_bars_say():
    chart = path(DESK, history=8_000, hidden=9_000)
    led = walk(DESK, history=8_000, hidden=9_000)
    for step in led.steps:
        assert f"{round(tokens(step)):,}" in chart.sentence
        assert step["said"] in chart.sentence
    assert chart.sentence.endswith("calls to the provider: 2")
    chart.figure.data[0].y = [0] * len(led.steps)
    assert chart.sentence != path(DESK, history=8_000, hidden=9_000).sentence


def test_bars_of_one_name_are_not_drawn_as_one():
    chart = path(DESK, hidden=WINDOW)
    assert len(set(chart.figure.data[0].x)) == len(chart.figure.data[0].x)


def test_the_panel_redraws_resets_and_says_what_it_shows():
    panel = protection_panel(TALK)
    before = repr(panel)
    assert before == path(DESK).sentence
    panel.knobs["hidden"].value = 12_000
    assert repr(panel) == path(DESK, hidden=12_000).sentence != before
    panel.reset()
    assert repr(panel) == before
    assert len(panel.knobs) <= 5


def test_every_end_of_every_knob_can_be_drawn():
    panel = protection_panel(TALK)
    for knob in panel.knobs.values():
        for end in (knob.min, knob.max):
            knob.value = end
            assert "calls to the provider" in repr(panel)


def test_what_the_panel_asks_to_try_is_there_to_see():
    short, long = path(DESK, history=15_000).sentence, path(DESK).sentence
    assert "summary" in long
    assert "summary" not in short
    assert "5 sent" in path(DESK, history=8_000, hidden=9_000).sentence
    assert path(DESK, newest=20_050).sentence.count(";") == 1


# --- the lesson's own figures -------------------------------------------------------


def test_the_requests_of_the_lesson_end_where_a_model_is_called():
    for name, messages in lesson_10.lesson_requests().items():
        assert messages[-1].type in ("human", "tool"), name
    assert lesson_10.WINDOW == WINDOW


def test_one_of_six_is_answered_and_one_refused_one_looks_small():
    requests, count = lesson_10.lesson_requests(), ScriptCounter()
    assert lesson_10.answered_without_protection() == 1
    assert sum(count(messages) < WINDOW for messages in requests.values()) == 2


def test_x6_the_errors_of_the_exercise_are_told_apart_by_the_library():
    (exercise,) = (e for e in exercises(10) if e.number == "10.1")
    right = [case.wanted() for case in exercise.cases]
    overflows = len(lesson_10.OVERFLOWS)
    assert right == [True] * overflows + [False] * len(lesson_10.OTHERS)
    assert min(overflows, len(lesson_10.OTHERS)) >= 6


def test_m15_the_guard_of_the_exercise_fires_and_rests():
    (exercise,) = (e for e in exercises(10) if e.number == "10.2")
    right = [case.wanted() for case in exercise.cases]
    assert right.count(True) >= 3
    assert right.count(False) >= 3
    edge = next(case for case in exercise.cases if case.args[0] is not None)
    assert edge.wanted() is True


def test_a_full_limit_is_too_large_and_a_summary_is_nobodys_message():
    (exercise,) = (e for e in exercises(10) if e.number == "10.2")
    for case in exercise.cases:
        messages, limit, count = case.args
        if is_summary(messages[-1]):
            assert case.wanted() is False
        elif count(messages[-1:]) == limit:
            assert case.wanted() is True


def test_outcomes_are_read_from_the_records():
    middleware = RequestOnlySummarizationMiddleware(FactKeeper())
    office = Office(middleware)
    answer = office.call(DESK.request(0, 50).messages)
    run = Outcome("small", answer, office.records[0], len(office.sent))
    assert isinstance(answer, AIMessage)
    assert outcomes(run).cells[0][:2] == ("small", "pass")
    assert outcomes(run).cells[0][-1] == "1"
