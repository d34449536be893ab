"""The built transcripts: as large, as varied and as well-formed as they claim.

Tokens are UTF-8 bytes divided by 4 where results dominate and by 3 where text does
(the bill of the simulated model); both are named in the table below.
"""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctxlab.lab import load_transcript
from tests.build_transcripts.catalogue import built

FOLDER = Path(__file__).parents[1] / "data" / "transcripts"
KINDS = {"constraint", "identifier", "failed_attempt", "artefact", "unverified"}
UNSAFE = set('"\\\n<>&')  # a summary prompt escapes these, so a fact would not be found


class Size(NamedTuple):
    """What a transcript must measure; tokens are bytes of the messages ÷ `divisor`."""

    language: str
    turns: int
    calls: range
    tokens: range
    divisor: int
    facts: int


SIZES = {
    "engineering_tools": Size(
        "en", 200, range(250, 400), range(150_000, 250_001), 4, 15
    ),
    "tool_loop": Size("en", 1, range(60, 61), range(80_000, 120_001), 3, 15),
    "mixed_scripts": Size("mixed", 60, range(1), range(25_000, 35_001), 3, 15),
    "short_tools": Size("en", 3, range(1, 4), range(250), 3, 3),
    "chinese_chat": Size("zh", 200, range(1), range(60_000, 90_001), 3, 15),
}

names = pytest.mark.parametrize("name", SIZES)


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return content


def calls_of(transcript: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for m in transcript["messages"] for call in m.get("tool_calls", [])]


def size(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8"))


def test_generators_reproduce_the_committed_files_byte_for_byte():
    texts = dict(built())
    assert texts.keys() == SIZES.keys()
    for name, text in texts.items():
        assert text.encode("utf-8") == (FOLDER / f"{name}.json").read_bytes(), name


@names
def test_turns_calls_and_tokens_are_as_announced(name):
    transcript, expected = read(name), SIZES[name]
    messages = transcript["messages"]
    visible = sum(size(m["content"]) + size(m.get("tool_calls", "")) for m in messages)
    assert transcript["language"] == expected.language
    assert sum(m["type"] == "human" for m in messages) == expected.turns
    assert len(calls_of(transcript)) in expected.calls
    assert visible // expected.divisor in expected.tokens
    assert (FOLDER / f"{name}.json").stat().st_size < 1_200_000
    assert len(transcript["system"]) > 100


@names
def test_facts_stand_once_and_cover_the_kinds(name):
    transcript, expected = read(name), SIZES[name]
    contents = [message["content"] for message in transcript["messages"]]
    facts = transcript["facts"]
    assert len(facts) >= expected.facts
    if name != "short_tools":
        assert {fact["kind"] for fact in facts} == KINDS
    for fact in facts:
        places = [i for i, content in enumerate(contents) if fact["text"] in content]
        assert places == [fact["message"]], fact
        assert not UNSAFE & set(fact["text"]), fact


@names
def test_every_call_has_its_result_right_behind_it(name):
    transcript = read(name)
    ids = [call["id"] for call in calls_of(transcript)]
    assert len(ids) == len(set(ids))
    waiting: list[str] = []
    for message in transcript["messages"]:
        if message["type"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", [])]
    assert not waiting


@names
def test_calls_fit_the_schemas(name):
    transcript = read(name)
    schemas = {tool["name"]: tool["parameters"] for tool in transcript["tools"]}
    for call in calls_of(transcript):
        schema = schemas[call["name"]]
        assert call["args"].keys() <= schema["properties"].keys()
        assert set(schema.get("required", ())) <= call["args"].keys(), call


@names
def test_every_turn_ends_with_an_answer(name):
    messages = read(name)["messages"]
    ends = [before for before, after in pairwise(messages) if after["type"] == "human"]
    for message in [*ends, messages[-1]]:
        assert message["type"] == "ai"
        assert message["content"]
        assert not message.get("tool_calls")


@names
def test_sentences_of_the_assistant_hardly_repeat(name):
    answers = [m["content"] for m in read(name)["messages"] if m["type"] == "ai"]
    parts = [
        part.strip() for text in answers for part in re.split(r"[.!?。！？\n]", text)
    ]
    sentences = [part for part in parts if len(part) >= 12]
    assert len(set(sentences)) >= 0.9 * len(sentences)


@names
def test_the_package_reads_it(name):
    transcript = load_transcript(name)
    assert len(transcript.messages) == len(read(name)["messages"])
    assert len(transcript.facts_in(transcript.messages)) == len(read(name)["facts"])


@pytest.mark.parametrize("name", ["engineering_tools", "tool_loop"])
def test_results_range_from_short_to_ten_thousand_tokens(name):
    transcript = read(name)
    results = [
        size(m["content"]) // 4 for m in transcript["messages"] if m["type"] == "tool"
    ]
    assert 8_000 < max(results) <= 10_000
    assert sum(result < 100 for result in results) > 5
    assert sum(result > 1_000 for result in results) >= 10
    batches = Counter(len(m.get("tool_calls", [])) for m in transcript["messages"])
    assert batches[1] > 5
    assert batches[2] + batches[3] + batches[4] > 5


def test_short_tools_bills_about_eleven_thousand_tokens_for_almost_no_text():
    transcript = read("short_tools")
    fixed = size(transcript["system"]) + size(transcript["tools"])
    visible = sum(size(message["content"]) for message in transcript["messages"])
    assert 12 <= len(transcript["tools"]) <= 20
    assert fixed // 3 in range(10_500, 11_500)
    assert visible < 0.02 * fixed
