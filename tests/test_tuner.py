"""The tuner's Python side: knobs, bill, call details, exports; the meter; commands."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from ctxlab import RequestOnlySummarizationMiddleware, Settings
from ctxlab.__main__ import main
from ctxlab.lab import (
    FactKeeper,
    SimulatedChatModel,
    Transcript,
    load_transcript,
    replay,
    sweep,
    what_if,
)
from ctxlab.lab.replay_report import figures, middleware_for
from ctxlab.lab.tune_command import THREAD, VARIABLE, chosen_transcript
from ctxlab.lab.tune_command import run as run_tune
from ctxlab.lab.what_ifs.ledger import ledger
from ctxlab.lab.what_ifs.suggested import suggested
from ctxlab.panels import ContextMeter, frontier, tuner

WINDOW = 16_384
THREADS = "tests/data/threads"


@pytest.fixture(scope="module")
def talk():
    return load_transcript("mixed_scripts")


@pytest.fixture
def panel(talk, tmp_path):
    return tuner(talk, window=WINDOW, folder=tmp_path)


def figure(panel, name, side="yours"):
    return next(row[side] for row in panel.rows() if row["figure"] == name)


def test_m19_every_knob_of_the_config_block_is_in_the_settings(panel):
    values = {
        "trigger": 9_000,
        "keep": 3_000,
        "chunk": 6_000,
        "overhead": 500,
        "counter": "cjk",
        "window": 32_768,
        "reported": False,
    }
    for name, value in values.items():
        getattr(panel.controls, name).value = value
    settings = panel.settings()

    assert settings.trigger == ("tokens", 9_000)
    assert settings.keep == ("tokens", 3_000)
    assert settings.summary_chunk_tokens == 6_000
    assert settings.overhead_tokens == 500
    assert settings.counter == "cjk"
    assert settings.max_input_tokens == 32_768
    assert not settings.use_reported_usage


def test_a_moved_knob_changes_picture_bill_and_sentence(panel):
    before = repr(panel), panel.figures.value, list(panel.chart.data[3].y)
    panel.controls.trigger.value = 8_000
    panel.controls.keep.value = 4_000

    after = repr(panel), panel.figures.value, list(panel.chart.data[3].y)
    assert all(was != now for was, now in zip(before, after, strict=True))
    assert "trigger 8,000, keep 4,000" in repr(panel)
    drawn = [shape.name for shape in panel.chart.layout.shapes]
    assert drawn == ["trigger", "keep", "limit"]


def test_a_browser_that_rounds_the_start_moves_no_knob(talk):
    panel = tuner(talk, window=WINDOW)
    start, said = panel.settings(), repr(panel)
    knobs = panel.controls
    for slider in (knobs.trigger, knobs.keep, knobs.overhead):
        steps = round((slider.value - slider.min) / slider.step)
        slider.value = slider.min + steps * slider.step
    assert (panel.settings(), repr(panel)) == (start, said)
    knobs.trigger.value -= knobs.trigger.step
    assert panel.settings().trigger[1] == knobs.trigger.value
    assert tuner(talk, window=200_000).controls.keep.min == 1_000


def test_contradicting_knobs_are_said_and_the_picture_stays(panel):
    before = panel.chart.sentence
    panel.controls.keep.value = panel.controls.trigger.value + 100
    assert "a compaction would not shorten anything" in panel.said.value
    assert panel.chart.sentence == before

    panel.reset()
    assert "back where they began" in panel.said.value
    assert panel.settings().keep[1] < panel.settings().trigger[1]


def test_a_full_replay_shows_the_panels_figures(panel, talk):
    panel.controls.trigger.value = 9_000
    home = Settings.from_yaml(panel.to_yaml())
    assert home == panel.settings()

    middleware, writer = middleware_for(talk, home)
    lived = replay(talk, middleware, window=WINDOW, summary_model=writer)
    proof = figures(lived, writer)
    assert figure(panel, "summary tokens") == f"{proof['summary_tokens']:,}"
    assert figure(panel, "uncached tokens") == f"{proof['uncached_tokens']:,}"
    assert figure(panel, "peak") == f"{proof['peak_tokens']:,}"
    assert panel.first.calls == lived.calls


def test_a_window_without_room_beside_the_bill_is_said_and_the_picture_stays():
    usage = {"input_tokens": 9_000, "output_tokens": 1, "total_tokens": 9_001}
    talk = Transcript([HumanMessage("Hi"), AIMessage("Hello", usage_metadata=usage)])
    panel = tuner(talk, window=65_536)
    before = repr(panel)
    panel.controls.window.value = 8_192
    assert "no room is left; choose a larger window" in panel.said.value
    panel.beside.value = "nothing"
    assert repr(panel).startswith(before)
    assert panel.second.what_if.model.context_window == 65_536
    with pytest.raises(ValueError, match="no room is left"):
        panel.export()
    panel.controls.window.value = 16_384
    assert "window 16,384" in repr(panel)
    with pytest.raises(ValueError, match="no room is left"):
        tuner(talk, window=8_000)


def test_settings_that_have_no_knob_or_stand_below_it_go_home_too(talk):
    given = Settings(
        trigger=("tokens", 900),
        summary_chunk_tokens=300,
        counter="cjk",
        cjk_chars_per_token=0.5,
        model_name="openai:own",
        summary_prompt="Sum up: {payload}",
        max_input_tokens=WINDOW,
    )
    panel = tuner(talk, window=WINDOW, settings=given)
    assert panel.settings() == given == Settings.from_yaml(panel.to_yaml())
    assert repr(given.model_name) in panel.to_python()


def test_exports_load_again_and_the_report_needs_no_network(panel):
    panel.controls.shorten.value = 500
    panel.beside.value = "LangChain's rule"
    yaml, python, report = panel.export()

    assert Settings.from_yaml(yaml) == panel.settings()
    assert "shorten_results=500" in yaml.read_text("utf-8")
    names = {}
    text = python.read_text("utf-8").replace('"provider:your-summary-model"', "print")
    exec(text, names)
    assert names["middleware"].settings == panel.settings().model_copy(
        update={"profile": names["middleware"].settings.profile}
    )
    page = report.read_text("utf-8")
    assert page.count('class="plotly-graph-div"') == 2
    assert panel.chart.sentence in page
    assert "<script src" not in page
    assert "<link" not in page


def test_presets_stand_beside_and_held_ones_stay(panel):
    panel.beside.value = "nothing"
    assert int(figure(panel, "failed turns", "nothing")) > 0
    assert figure(panel, "failed turns") == "0"
    panel.beside.value = "yours, as they stand now"
    held = figure(panel, "compactions", "held")
    panel.controls.trigger.value = 8_000
    assert figure(panel, "compactions", "held") == held != figure(panel, "compactions")
    panel.beside.value = "nothing beside it"
    assert panel.second is None


def test_a_call_shows_what_was_sent_summarised_and_which_signal_won(panel):
    at = [record.action for record in panel.first.calls].index("compact")
    panel.call.value = at + 1

    said = panel.detail.value
    assert f"<b>Call {at + 1}</b>: compact" in said
    assert "decided; billed" in said
    assert "## SUMMARY" in said
    assert ">Σ</b>" in said


def test_a_click_chooses_the_call(panel):
    assert panel.chart.layout.hoverdistance == -1, "wide steps have few points"
    points = SimpleNamespace(xs=[7])
    panel.chart.data[3]._click_callbacks[0](None, points, None)
    assert panel.call.value == 7
    assert "<b>Call 7</b>" in panel.detail.value


def test_what_a_transcript_says_is_never_markup():
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    talk = Transcript([HumanMessage(evil), *load_transcript("order_desk").messages])
    panel = tuner(talk, window=8_192)
    for text in (panel.detail.value, panel.caption.value, panel.report()):
        assert "<img src=x" not in text
        assert "<script>alert" not in text
    assert "&lt;img" in panel.detail.value


def test_rates_change_the_cost_alone(panel):
    before = {row["figure"]: row["yours"] for row in panel.rows()}
    panel.controls.rates["uncached"].value = 30.0
    after = {row["figure"]: row["yours"] for row in panel.rows()}
    changed = {name for name, value in before.items() if after[name] != value}
    assert changed == {"cost"}
    assert after["cost"] in panel.figures.value


def test_without_the_middleware_the_ledger_sums_to_what_was_counted(talk):
    tried = what_if(talk, window=WINDOW)
    records = ledger(tried)
    assert len(records) == len(tried.exchanges)
    assert {r.action for r in records} == {"pass", "refuse"}
    for record in records:
        now = record.estimate
        assert sum(record.parts.values()) == now.local + now.fixed


def test_x12_recorded_usage_makes_the_bill():
    found = suggested(load_transcript(f"{THREADS}/greenhouse_anthropic.json"))
    assert found.overhead > 0
    assert found.note.startswith("billed as recorded:")
    nothing = suggested(load_transcript(f"{THREADS}/harbour_export.json"))
    assert (nothing.overhead, nothing.scale) == (0, 1.0)
    assert nothing.profile == "generic"
    assert nothing.note.startswith("no recorded usage")


def test_the_frontier_says_what_it_draws(talk):
    grid = {"trigger": [("tokens", 8_000), ("tokens", 13_000)]}
    swept = sweep([talk], grid, window=WINDOW)
    chart = frontier(swept, by="cost")
    assert repr(chart).startswith(f"2 configurations, {len(swept.frontier('cost'))} on")


@pytest.mark.parametrize("way", ["sync", "async", "stream"])
def test_a_meter_draws_every_call_of_a_running_agent(way):
    meter = ContextMeter(limit=65_536)
    middleware = RequestOnlySummarizationMiddleware(FactKeeper(), on_call=meter)
    model = SimulatedChatModel(replies=lambda messages: "Noted.")
    agent = create_agent(model, [], middleware=[middleware])
    assert repr(meter) == "no calls yet"
    asked = {"messages": [HumanMessage("Remember bed B-12.")]}
    if way == "sync":
        agent.invoke(asked)
    elif way == "async":
        asyncio.run(agent.ainvoke(asked))
    else:
        list(agent.stream(asked, stream_mode="messages"))

    assert repr(meter).startswith("1 call, peak ")
    assert len(meter.calls) == 1
    assert "decided" in meter.newest.value
    meter.clear()
    assert repr(meter) == "no calls yet"


def test_compare_prints_the_panels_figures(panel, capsys):
    panel.beside.value = "ctxlab's defaults"
    assert main(["compare", "mixed_scripts", "--window", str(WINDOW), "--json"]) == 0
    rows = {row["configuration"]: row for row in json.loads(capsys.readouterr().out)}
    found = rows["ctxlab's defaults"]
    side = "ctxlab's defaults"
    assert figure(panel, "peak", side) == f"{found['peak_tokens']:,}"
    assert figure(panel, "cached tokens", side) == f"{found['cached_tokens']:,}"
    assert set(rows) == {"ctxlab's defaults", "LangChain's rule", "nothing"}


def test_compare_takes_a_config_a_thread_and_prints_a_table(capsys, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text("trigger: {type: tokens, value: 3000}", encoding="utf-8")
    file = f"{THREADS}/greenhouse.sqlite"
    arguments = ["--thread", "bed-b12", "--config", str(config), "--window", "8192"]
    assert main(["compare", file, *arguments]) == 0
    said = capsys.readouterr().out
    assert "mine.yaml" in said
    assert "LangChain's rule" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compare", "no_such_name"], "compare: no transcript is named 'no_such_name'"),
        (
            ["compare", f"{THREADS}/greenhouse.sqlite"],
            "compare: greenhouse.sqlite: giv",
        ),
        (["compare", "order_desk", "--window", "10", "--overhead", "20"], "no room"),
        (["tune", "no_such_file.json"], "tune: no_such_file.json: no such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments, says):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.err.count("\n") == 1


def test_tune_opens_the_lesson_on_the_file(capsys, monkeypatch):
    started = []

    def start(command, env):
        started.append((command, env))
        return 0

    file = f"{THREADS}/harbour_export.json"
    assert run_tune(file, thread=None, start=start) == 0
    command, environment = started[0]
    assert command[-1].endswith("12_tune_on_a_transcript.ipynb")
    monkeypatch.setenv(VARIABLE, environment[VARIABLE])
    monkeypatch.setenv(THREAD, environment[THREAD])
    assert chosen_transcript("order_desk").name == "harbour_export"
