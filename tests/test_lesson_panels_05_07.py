"""Panels and data of lessons 05 to 07: the figures the prose argues from."""

import json
from statistics import fmean

import pytest
from ipywidgets import IntSlider

from ctxlab._data import data_path
from ctxlab.calibration import (
    AnchoredCalibration,
    CappedRatioCalibration,
    LinearCalibration,
    RatioCalibration,
    UsageSample,
)
from ctxlab.panels.calibration import (
    TRIGGER,
    fault_panel,
    fits_under_fault,
    prediction_errors,
    ratio_against_line,
    ratio_panel,
    session,
)
from ctxlab.panels.charts import curves
from ctxlab.panels.counting import (
    counter_errors,
    counting_panel,
    error,
    measured_texts,
)
from ctxlab.panels.knobs import Panel
from ctxlab.tokens import ApproximateCounter, ScriptCounter
from tests import token_texts

PANELS = {
    "counting": (counting_panel, counter_errors, {"others": 2.4}),
    "ratio": (ratio_panel, ratio_against_line, {"fixed": 0}),
    "fault": (fault_panel, fits_under_fault, {"factor": 0.1}),
}
each_panel = pytest.mark.parametrize("name", PANELS)


# --- the texts of lesson 05 -----------------------------------------------------


def test_shipped_texts_and_counts_are_those_of_the_tests():
    assert data_path("token_texts.json").read_text("utf-8") == token_texts.file_text()


def test_there_is_a_handful_of_scripts_each_with_three_exact_counts():
    texts = measured_texts()
    assert len(texts) == 8
    assert sum(each.text.isascii() for each in texts) == 5
    for each in texts:
        assert list(each.exact) == ["o200k", "deepseek", "qwen"]
        assert 700 < len(each.text) < 3_000


def test_the_error_is_in_percent_of_the_exact_count():
    chat = next(each for each in measured_texts() if each.name == "Chinese chat")
    estimate = ApproximateCounter().text(chat.text)
    assert error(ApproximateCounter(), chat, "o200k") == pytest.approx(
        100 * (estimate - chat.exact["o200k"]) / chat.exact["o200k"]
    )


def test_no_two_constants_bring_all_texts_within_10_percent():
    """The second thing to try; five texts do not depend on the CJK constant."""
    worst = []
    for others in range(12, 61, 2):
        drawn = counter_errors(1.7, others / 10).figure.data[1].y
        ascii_only = zip(measured_texts(), drawn, strict=True)
        worst.append(max(abs(y) for each, y in ascii_only if each.text.isascii()))
    assert min(worst) > 40


def test_the_classes_beat_both_constants_under_every_tokenizer():
    for tokenizer in ("o200k", "deepseek", "qwen"):
        quarter, constants, classes = (
            fmean(map(abs, trace.y))
            for trace in counter_errors(tokenizer=tokenizer).figure.data
        )
        assert quarter > constants > 2 * classes


def test_a_ratio_of_nothing_is_refused():
    with pytest.raises(ValueError, match="must be above 0"):
        counter_errors(cjk=0.0)


# --- lesson 06: ratio against line ----------------------------------------------


def crossings(**knobs: float) -> dict[str, int]:
    *series, marks, _ = ratio_against_line(**knobs).figure.data
    return {t.name: at for t, at in zip(series, marks.x, strict=True)}


def test_m7_the_ratio_takes_80_counted_tokens_for_the_trigger():
    assert crossings() == {
        "the ratio": 80,
        "first aid": 45_152,
        "the line": 38_034,
        "truth": 38_034,
    }


def test_without_a_fixed_part_only_the_assumed_overhead_is_wrong():
    found = crossings(fixed=0)
    assert found["the ratio"] == found["the line"] == found["truth"] == TRIGGER
    assert found["first aid"] == TRIGGER - 4_000


def test_m8_first_aid_errs_on_both_sides():
    assert crossings()["first aid"] > crossings()["truth"]
    grown = crossings(first=4_000, second=4_000)
    assert grown["first aid"] == grown["the ratio"] < grown["truth"] / 2


def test_m9_the_line_learns_a_scale_from_a_spread_of_1000():
    assert crossings(scale=1.6)["the line"] > 1.5 * crossings(scale=1.6)["truth"]
    spread = crossings(scale=1.6, second=5_000)
    assert abs(spread["the line"] - spread["truth"]) <= 1


# --- lesson 07: fits under bad samples ------------------------------------------


def fault_errors(**knobs: float) -> tuple[float, float]:
    """Errors of line and anchored fit on the next bill, in percent."""
    samples, true = session(**knobs)
    return tuple(
        100
        * (
            calibration.fit(samples).predict(true.local_input_tokens)
            / true.provider_input_tokens
            - 1
        )
        for calibration in (LinearCalibration(), AnchoredCalibration())
    )


def test_a_clean_session_is_easy_for_both():
    assert all(abs(each) < 0.5 for each in fault_errors())


@pytest.mark.parametrize("outlier", range(2, 13))
@pytest.mark.parametrize("factor", [0.1, 2.0])
def test_a_garbage_bill_moves_the_line_and_not_the_anchor(outlier, factor):
    line, anchored = fault_errors(outlier=outlier, factor=factor)
    assert abs(anchored) < 1
    assert abs(line) > abs(anchored)


def test_the_line_is_hurt_most_by_the_newest_bill():
    hurt = {at: abs(fault_errors(outlier=at, factor=0.1)[0]) for at in range(2, 13)}
    assert max(hurt, key=hurt.get) == 12


def test_when_the_overhead_grows_the_anchored_fit_still_knows_it():
    said = fits_under_fault(moved=6_000).figure.layout.meta["said"]
    assert abs(said["the anchored fit"][1] - 21_063) < 1_000
    assert abs(said["the line says"][1] - 21_063) > 7_000


def test_the_star_is_the_true_bill_whatever_was_reported():
    assert session(12, 0.1)[1] == session()[1]
    assert session(moved=6_000)[1].provider_input_tokens - 6_000 == (
        session()[1].provider_input_tokens
    )


def test_errors_are_measured_from_the_third_request_on():
    true = [UsageSample(x, 3_000 + x) for x in (500, 900, 1_400, 2_000)]
    assert prediction_errors(AnchoredCalibration(), true, true) == [0.0, 0.0]
    ratio = prediction_errors(RatioCalibration(), true, true)
    assert ratio[0] == pytest.approx(100 * (7 * 1_400 / 4_400 - 1))


def test_without_a_fit_an_overhead_of_4000_is_assumed():
    true = [UsageSample(x, 3_000 + x) for x in (500, 900, 1_400)]
    assert prediction_errors(CappedRatioCalibration(), true, true) == [
        pytest.approx(100 * (5_400 / 4_400 - 1))
    ]


# --- every panel ----------------------------------------------------------------


@each_panel
def test_a_panel_opens_as_its_function_without_arguments(name):
    make, draw, _ = PANELS[name]
    panel = make()
    assert isinstance(panel, Panel)
    assert len(panel.knobs) <= 5
    assert repr(panel) == draw().sentence
    names = draw.__code__.co_varnames[: len(draw.__defaults__)]
    assert panel.values() == dict(zip(names, draw.__defaults__, strict=True))


@each_panel
def test_a_knob_redraws_and_reset_puts_it_back(name):
    make, draw, change = PANELS[name]
    panel = make()
    for knob, value in change.items():
        panel.knobs[knob].value = value
    assert repr(panel) == draw(**change).sentence != draw().sentence
    assert panel.said.value
    panel.reset()
    assert repr(panel) == draw().sentence


@each_panel
def test_b90_a_panels_output_is_its_whole_sentence(name):
    bundle = PANELS[name][0]()._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == PANELS[name][1]().sentence
    assert len(data["text/plain"]) > 110, "ipywidgets cuts a text of its own off there"


def test_the_sentence_is_escaped_on_the_page():
    panel = Panel(lambda n: curves([1], {"a<b": [n]}), {"n": IntSlider(1)}, ["<i>?"])
    assert "a&lt;b" in panel.said.value
    assert "&lt;i&gt;?" in panel.children[-1].value


def test_the_shipped_file_is_plain_json_with_readable_chinese():
    text = data_path("token_texts.json").read_text("utf-8")
    assert "\\u" not in text.replace("\\\\u", "")
    assert len(json.loads(text)) == 8
    assert ScriptCounter().text(measured_texts()[2].text) > 0
