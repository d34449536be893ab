"""The table of data/transcripts/README.md says what the files hold."""

import re
from pathlib import Path

import pytest

from ctxlab.lab import load_transcript, transcript_names
from ctxlab.tokens import CjkAwareCounter

README = Path(__file__).parent.parent / "data" / "transcripts" / "README.md"
ROW = re.compile(
    r"^\| `(?P<name>\w+)` \| (?P<language>\w+) \| (?P<turns>[\d,]+) "
    r"\| (?P<tokens>[\d,]+) \| (?P<facts>[\d,]+) \|",
    re.MULTILINE,
)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def rows() -> dict[str, re.Match[str]]:
    found = ROW.finditer(README.read_text(encoding="utf-8"))
    return {row["name"]: row for row in found}


def test_every_transcript_has_a_row():
    missing = set(transcript_names()) - set(rows())
    assert not missing, "\n".join(["Rows to add:", *map(row_of, sorted(missing))])
    assert set(rows()) <= set(transcript_names())


def row_of(name: str) -> str:
    """Return the row that a transcript should have, its purpose left open."""
    transcript = load_transcript(name)
    tokens = round(CjkAwareCounter()(transcript.messages), -2)
    return (
        f"| `{name}` | {transcript.language} | {len(transcript.turns())} "
        f"| {tokens:,} | {len(transcript.facts)} | … |"
    )


@pytest.mark.parametrize("name", sorted(rows()))
def test_a_row_says_what_the_file_holds(name):
    row, transcript = rows()[name], load_transcript(name)
    tokens = CjkAwareCounter()(transcript.messages)

    assert row["language"] == transcript.language, row_of(name)
    assert number(row["turns"]) == len(transcript.turns()), row_of(name)
    assert number(row["facts"]) == len(transcript.facts), row_of(name)
    assert number(row["tokens"]) == pytest.approx(tokens, rel=0.03, abs=50)
