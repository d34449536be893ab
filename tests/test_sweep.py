"""A sweep tries a grid on transcripts, anywhere, and goes on where it was stopped."""

import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest

from ctxlab.lab import load_transcript, sweep, sweeps, what_if
from ctxlab.lab.what_ifs.totals import Rates, totals
from ctxlab.settings import Settings

GRID = {
    "trigger": [("tokens", 9_000), ("tokens", 14_000)],
    "keep": [("tokens", 4_000), ("tokens", 12_000)],
}
WINDOW = 16_384


@pytest.fixture(scope="module")
def transcripts():
    return [load_transcript("mixed_scripts"), load_transcript("tool_loop")]


@pytest.fixture(scope="module")
def done(transcripts):
    return sweep(transcripts, GRID, window=WINDOW)


def test_a_row_holds_the_figures_of_a_what_if(transcripts, done):
    row = done.rows[0]
    settings = Settings(**{k: v[0] for k, v in GRID.items()}, max_input_tokens=WINDOW)
    found = totals(what_if(transcripts[0], settings, window=WINDOW))

    assert row["transcript"] == "mixed_scripts"
    assert row["settings"] == {"trigger": ["tokens", 9_000], "keep": ["tokens", 4_000]}
    assert {name: row[name] for name in found.as_row()} == found.as_row()
    assert row["tokens"] == found.tokens > 0


def test_impossible_combinations_are_said_not_tried(done):
    assert len(done.rows) == 2 * 3
    (reason,) = done.skipped
    assert "keep is 12000 tokens and trigger is 9000 tokens" in reason
    assert repr(done).endswith("1 combinations skipped")


def test_the_frontier_holds_what_no_other_beats(done):
    frontier = done.frontier()
    assert frontier
    for row in done.rows:
        beaten = [
            other
            for other in frontier
            if other["transcript"] == row["transcript"]
            and other["tokens"] <= row["tokens"]
            and other["peak_tokens"] <= row["peak_tokens"]
        ]
        assert beaten or row["failed"]


@pytest.mark.parametrize(
    "start",
    [
        lambda: ThreadPoolExecutor(max_workers=2),
        lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
    ],
    ids=["threads", "processes"],
)
def test_any_executor_gives_the_same_rows(transcripts, done, start):
    with start() as executor:
        assert sweep(transcripts, GRID, executor, window=WINDOW).rows == done.rows


def test_a_stopped_sweep_goes_on_where_it_was(transcripts, done, tmp_path):
    path = tmp_path / "sweep.jsonl"
    lines = [json.dumps(row) for row in done.rows]
    path.write_text("\n".join([*lines[:4], lines[4][:30]]), encoding="utf-8")
    steps = []
    again = sweep(
        transcripts,
        GRID,
        window=WINDOW,
        resume=path,
        progress=lambda *step: steps.append(step),
    )

    assert (again.rows, again.resumed) == (done.rows, 4)
    assert steps[-1] == (6, 6)
    assert sweep(transcripts, GRID, window=WINDOW, resume=path).resumed == 6
    assert sweep(transcripts, GRID, window=WINDOW + 1, resume=path).resumed == 0


def test_a_file_cut_inside_a_character_is_taken_up(tmp_path):
    talk = replace(load_transcript("order_desk"), name="订单")
    path = tmp_path / "sweep.jsonl"
    grid = {"trigger": [("tokens", 9_000), ("tokens", 9_000), ("tokens", 8_000)]}
    whole = sweep([talk], grid, window=WINDOW, resume=path)
    assert len(whole.rows) == 2  # what the grid says twice is tried once
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex("订".encode()) + 1])
    again = sweep([talk], grid, window=WINDOW, resume=path)
    assert (again.rows, again.resumed) == (whole.rows, 1)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_transcript_that_fails_is_named_and_costs_no_other_its_rows(
    tmp_path, monkeypatch, workers
):
    talk = load_transcript("order_desk")
    talks = [replace(talk, name=name) for name in ("first", "bad", "last")]
    monkeypatch.setattr(sweeps, "what_if", failing_on("bad"))
    path, grid = tmp_path / "sweep.jsonl", {"trigger": [("tokens", 9_000)]}
    with ThreadPoolExecutor(2) as pool, pytest.raises(RuntimeError) as caught:
        executor = pool if workers else None
        sweep(talks, grid, executor, window=WINDOW, resume=path)
    assert "on 'bad'" in caught.value.__notes__[0]
    lines = path.read_text("utf-8").splitlines()
    written = [json.loads(line)["transcript"] for line in lines]
    assert written == (["first", "last"] if workers else ["first"])


def failing_on(name):
    def tried(transcript, settings, **prices):
        if transcript.name == name:
            raise RuntimeError("broken")
        return what_if(transcript, settings, **prices)

    return tried


def test_rows_of_another_name_or_of_other_facts_are_not_taken_over(tmp_path):
    talk = load_transcript("order_desk")
    grid, path = {"trigger": [("tokens", 9_000)]}, tmp_path / "sweep.jsonl"
    sweep([talk], grid, window=WINDOW, resume=path)
    for other in (replace(talk, name="copy"), replace(talk, facts=())):
        assert sweep([other], grid, window=WINDOW, resume=path).resumed == 0


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ({"triger": [1]}, "unknown setting 'triger'"),
        ({"trigger": [("tokens", -1)]}, "no combination of the grid is possible"),
    ],
)
def test_a_wrong_grid_is_said(transcripts, grid, says):
    with pytest.raises(ValueError, match=says):
        sweep(transcripts, grid, window=WINDOW)


def test_x11_cost_is_tokens_times_rates(done, transcripts):
    found = totals(what_if(transcripts[1], Settings(), window=WINDOW))
    rates = Rates(uncached=2, cached=1, written=4, summary=3)
    expected = (
        2 * found.uncached_tokens
        + found.cached_tokens
        + 4 * found.written_tokens
        + 3 * found.summary_tokens
    )
    assert found.cost(rates) == pytest.approx(expected / 1_000_000)
    with pytest.raises(ValueError, match="the rate cached is -1; give 0 or more"):
        Rates(cached=-1)
