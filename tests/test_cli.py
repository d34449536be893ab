"""The command `replay`: what it prints, what it measures, what it refuses."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from ctxlab.__main__ import main
from ctxlab.lab import Fact, Transcript, load_transcript, replay, save_transcript

THREAD = Path(__file__).parent / "data" / "threads" / "harbour_export.json"
SMALL_WINDOW = ("--window", "32768", "--overhead", "6000")
CONFIG = """
summarization:
  trigger: {type: tokens, value: 24000}
  keep: {type: tokens, value: 12000}
  trim_tokens_to_summarize: 6000
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    return written(tmp_path / "config.yaml", CONFIG)


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return what `replay ... --json` prints."""
    assert main(["replay", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line on stderr with which `replay` refuses."""
    assert main(["replay", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("replay: ")
    return said.err


def test_a_recorded_thread_fails_in_a_small_window_without_middleware(capsys) -> None:
    found = report(capsys, str(THREAD), *SMALL_WINDOW, "--without")

    assert [each["turn"] for each in found["failed_turns"]] == [2, 3]
    assert all("maximum context" in each["reason"] for each in found["failed_turns"])
    assert found["failed"] == found["calls_refused"] == 2
    assert found["settings"] is None
    assert not found["checkpoint_as_without"]


def test_the_same_thread_lives_with_middleware_and_its_checkpoint_stays_whole(
    capsys, config
) -> None:
    found = report(capsys, str(THREAD), *SMALL_WINDOW, "--config", config)

    assert (found["failed"], found["failed_turns"]) == (0, [])
    assert found["checkpoint_as_without"]
    assert found["summary_calls"] >= 1
    assert found["compactions"] >= 1
    assert 24_000 > found["peak_tokens"] > 12_000
    assert found["settings"]["summary_chunk_tokens"] == 6_000


def test_the_figures_are_those_of_the_replay_itself(capsys) -> None:
    found = report(capsys, str(THREAD), *SMALL_WINDOW, "--without")
    lived = replay(load_transcript(THREAD), window=32_768, overhead=6_000)

    paid = [each for each in lived.exchanges if each.error is None]
    billed = sum(each.input_tokens for each in paid)
    assert found["calls"] == len(lived.exchanges)
    assert found["uncached_tokens"] + found["cached_tokens"] == billed
    assert found["peak_tokens"] == max(each.input_tokens for each in paid)
    assert [each["reason"] for each in found["failed_turns"]] == [
        each.reason for each in lived.failed_turns
    ]


def test_every_notable_call_has_a_row_that_says_what_it_did(capsys, config) -> None:
    found = report(capsys, str(THREAD), *SMALL_WINDOW, "--config", config)
    rows = found["notable_calls"]

    assert sum(row["action"] == "compact" for row in rows) == found["compactions"]
    assert sum(row["summaries"] for row in rows) == found["summary_calls"]
    assert all(row["request"] < row["history"] for row in rows)
    assert [row["call"] for row in rows] == sorted(row["call"] for row in rows)
    assert {row["turn"] for row in rows} <= {1, 2, 3}


def test_a_thread_without_facts_gets_a_bounded_summary_all_the_same(
    capsys, config
) -> None:
    found = report(capsys, str(THREAD), *SMALL_WINDOW, "--config", config)

    assert (found["facts"], found["facts_in_last_request"]) == (0, 0)
    assert any("how each message opens" in note for note in found["notes"])
    assert not any("no summary" in row["notes"] for row in found["notable_calls"])


def test_planted_facts_outlive_compactions(capsys, tmp_path) -> None:
    texts = [f"Crate {n} holds {n * 7} valves. " + "Noted. " * 60 for n in range(24)]
    facts = [
        Fact(kind="identifier", text=f"Crate {n} holds", message=2 * n)
        for n in range(6)
    ]
    chat = [m for text in texts for m in (HumanMessage(text), AIMessage("Taken."))]
    save_transcript(Transcript(chat, facts=facts), tmp_path / "crates.json")
    config = written(
        tmp_path / "small.yaml",
        "{trigger: {type: tokens, value: 1500}, keep: {type: tokens, value: 800}}",
    )
    found = report(capsys, str(tmp_path / "crates.json"), "--config", config)

    assert found["compactions"] >= 2
    assert found["facts_in_last_request"] == found["facts"] == 6
    assert found["checkpoint_as_without"]
    assert any("planted facts" in note for note in found["notes"])


def test_the_text_shows_the_figures_of_the_json(capsys, config) -> None:
    arguments = [str(THREAD), *SMALL_WINDOW, "--config", config]
    found = report(capsys, *arguments)
    assert main(["replay", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()

    shown = {line[:36].strip(): line[36:].strip() for line in lines}
    assert lines[0] == "harbour_export, with RequestOnlySummarizationMiddleware"
    assert shown["failed turns"] == "0"
    assert shown["tokens, cached"] == f"{found['cached_tokens']:,}"
    assert shown["summary calls"] == f"{found['summary_calls']:,}"
    assert shown["checkpoint as without middleware"] == "yes"
    heading = next(line for line in lines if line.startswith("turn  call"))
    rows = lines[lines.index(heading) + 1 :]
    assert rows.index("") == len(found["notable_calls"])


def test_the_text_lists_some_failed_turns_and_counts_the_others(capsys) -> None:
    assert main(["replay", "order_desk", "--without", "--window", "40"]) == 0
    said = capsys.readouterr().out

    assert "failed turn 1: VendorContextOverflow: Error code: 400" in said
    assert max(map(len, said.splitlines())) < 160


def test_defaults_are_a_window_of_65_536_tokens_and_no_overhead(capsys) -> None:
    found = report(capsys, "order_desk")

    assert (found["window_tokens"], found["overhead_tokens"]) == (65_536, 0)
    assert found["settings"]["trigger"] == ["tokens", 49_152]
    assert (found["failed"], found["notable_calls"]) == (0, [])


@pytest.mark.parametrize("name", ["greenhouse_openai_log.jsonl", "greenhouse.sqlite"])
def test_recorded_usage_and_a_thread_give_the_figures_of_compare(name, capsys, config):
    file = str(THREAD.parent / name)
    arguments = [file, "--config", config, "--json"]
    if name.endswith("sqlite"):
        arguments += ["--thread", "bed-b12"]
    assert main(["replay", *arguments]) == 0
    lived = json.loads(capsys.readouterr().out)
    assert main(["compare", *arguments]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    same = [key for key in row if key in lived and key != "facts"]
    assert {key: row[key] for key in same} == {key: lived[key] for key in same}
    assert {"uncached_tokens", "cached_tokens", "peak_tokens", "calls"} <= set(same)
    assert lived["overhead_tokens"] > 900
    assert any(note.startswith("billed as recorded") for note in lived["notes"])


def test_the_same_command_prints_the_same_bytes(capsys, config) -> None:
    arguments = ["replay", str(THREAD), *SMALL_WINDOW, "--config", config]
    said = []
    for _ in range(2):
        main(arguments)
        said.append(capsys.readouterr())

    assert said[0] == said[1]
    assert said[0].err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only_and_goes_away(
    monkeypatch, capsys
) -> None:
    report(capsys, "order_desk")
    assert capsys.readouterr().err == ""

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    report(capsys, "order_desk")
    assert "turn 2 of 2" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


BROKEN = {
    "broken.json": ('{"values": [1,', ("broken.json, line 1", "expected JSON")),
    "deep.json": ("[" * 200_000, ("deep.json", "nested too deeply")),
    "empty.json": ("", ("empty.json, line 1", "expected JSON")),
    "foreign.json": ('{"hello": 1}', ("no conversation found", "'hello'")),
    "silent.json": ('{"values": {"messages": []}}', ("holds no messages",)),
    "odd.json": (
        '{"values": {"messages": [{"type": "robot", "content": "x"}]}}',
        ("messages[0].type is 'robot'", "human"),
    ),
    "old.json": (
        '{"format": "ctxlab-transcript", "version": 9, "name": "a"}',
        ("old.json", "version"),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_conversation_is_one_clear_error(
    name, capsys, tmp_path
) -> None:
    text, parts = BROKEN[name]
    said = complaint(capsys, written(tmp_path / name, text))

    assert all(part in said for part in parts)


@pytest.mark.parametrize("kind", ["human", "ai"])
def test_a_thread_without_a_whole_turn_is_no_error(kind, capsys, tmp_path) -> None:
    thread = {"values": {"messages": [{"type": kind, "content": "Hello?"}]}}
    found = report(capsys, written(tmp_path / "one.json", json.dumps(thread)))

    assert (found["turns"], found["calls"], found["failed"]) == (1, 0, 0)
    assert found["peak_tokens"] == 0
    assert any("turn 1" in note for note in found["notes"])


def test_an_unknown_transcript_is_one_clear_error_with_the_nearest_name(capsys) -> None:
    assert "did you mean 'order_desk'?" in complaint(capsys, "oder_desk")


def test_a_missing_file_is_one_clear_error(capsys) -> None:
    assert "nowhere.json: no such file" in complaint(capsys, "nowhere.json")


def test_a_file_that_is_no_text_is_one_clear_error(capsys, tmp_path) -> None:
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00")

    assert "byte 0 is not UTF-8" in complaint(capsys, str(path))


WRONG_SETTINGS = {
    "triger: 3": "unknown setting 'triger'",
    "trigger: {type: tokens, value: many}": "'many'",
    "{trigger: {type: tokens, value: 100}, keep: {type: tokens, value: 200}}": (
        "lower keep or raise trigger"
    ),
    "trigger: {type: fraction, value: 0.8}": "give max_input_tokens",
    "profile: klingon": "klingon",
    "trigger: [": "is not YAML",
    "just words": "expected settings",
    "1: 2": "wrong.yaml",
}


@pytest.mark.parametrize("text", WRONG_SETTINGS)
@pytest.mark.parametrize("way", [(), ("--without",)], ids=["with", "without"])
def test_wrong_settings_are_one_clear_error(text, way, capsys, tmp_path) -> None:
    config = written(tmp_path / "wrong.yaml", text)

    said = complaint(capsys, "order_desk", "--config", config, *way)
    assert WRONG_SETTINGS[text] in said


def test_a_missing_config_is_one_clear_error(capsys) -> None:
    said = complaint(capsys, "order_desk", "--config", "none.yaml")

    assert "none.yaml is not a file" in said


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        (("--window", "4000", "--overhead", "6000"), "leaves no room"),
        (("--window", "6000", "--overhead", "6000"), "leaves no room"),
        (("--window", "0"), "leaves no room"),
        (("--overhead", "-1"), "give 0 or more"),
    ],
)
def test_sizes_without_room_are_one_clear_error(sizes, says, capsys) -> None:
    assert says in complaint(capsys, "order_desk", *sizes)


def test_a_size_that_is_no_number_is_a_usage_error(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["replay", "order_desk", "--window", "wide"])
    assert "invalid int value: 'wide'" in capsys.readouterr().err
