"""Threads of other programs come in as they are; what was guessed is said."""

import itertools
import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from ctxlab.lab import load_transcript, save_transcript
from ctxlab.lab.billing import bytes_over_three
from ctxlab.lab.importers import (
    IMPORTERS,
    Conversation,
    Importer,
    Source,
    import_conversation,
    tools_from_calls,
)

THREAD = Path(__file__).parent / "data" / "threads" / "harbour_export.json"


@pytest.fixture(scope="module")
def thread():
    return load_transcript(THREAD)


def thread_of(*messages):
    return Source("t.json", json.dumps({"values": {"messages": messages}}).encode())


def test_the_fixture_has_the_shape_of_real_threads(thread):
    """Blocks, reasoning, parallel calls, late system messages, ids used again."""
    messages = thread.messages
    calls = [call["id"] for m in messages for call in getattr(m, "tool_calls", [])]
    pairs = list(itertools.pairwise(messages))

    assert len(messages) >= 56
    assert bytes_over_three(messages) > 35_000
    assert any(isinstance(m.content, list) for m in messages)
    assert any("reasoning_content" in m.additional_kwargs for m in messages)
    assert any(len(getattr(m, "tool_calls", [])) > 1 for m in messages)
    assert any(
        isinstance(a, HumanMessage) and isinstance(b, SystemMessage) for a, b in pairs
    )
    assert any(isinstance(a, AIMessage) and isinstance(b, AIMessage) for a, b in pairs)
    assert len(set(calls)) < len(calls)
    assert any(isinstance(m, ToolMessage) and m.status == "error" for m in messages)


def test_x12_a_langgraph_thread_keeps_ids_names_and_reasoning(thread):
    saved = json.loads(THREAD.read_text(encoding="utf-8"))["values"]["messages"]

    assert [m.id for m in thread.messages] == [record["id"] for record in saved]
    assert [m.type for m in thread.messages] == [record["type"] for record in saved]
    assert [m.content for m in thread.messages] == [r["content"] for r in saved]
    assert [m.additional_kwargs for m in thread.messages] == [
        record["additional_kwargs"] for record in saved
    ]


def test_what_a_thread_does_not_hold_is_said(thread):
    assert thread.imported
    assert thread.system == ""
    assert thread.title == "Nightly export refuses to publish"
    assert list(thread.notes) == [
        "system prompt unknown: a thread does not hold it",
        "schemas of 9 tools taken from their calls",
    ]


def test_tools_are_inferred_from_the_calls_alone():
    calls = [
        {"name": "find", "args": {"text": "a", "most": 3}, "id": "1"},
        {"name": "find", "args": {"text": "b", "in": ["x"], "fast": True}, "id": "2"},
    ]
    (tool,) = tools_from_calls([AIMessage("", tool_calls=calls)])

    assert tool["name"] == "find"
    assert tool["parameters"]["required"] == ["text"]
    assert tool["parameters"]["properties"] == {
        "text": {"type": "string"},
        "most": {"type": "integer"},
        "in": {"type": "array", "items": {}},
        "fast": {"type": "boolean"},
    }


def test_an_imported_thread_survives_our_own_format(thread, tmp_path):
    save_transcript(thread, tmp_path / "harbour_export.json")
    again = load_transcript(tmp_path / "harbour_export.json")

    assert [m.id for m in again.messages] == [m.id for m in thread.messages]
    assert [m.content for m in again.messages] == [m.content for m in thread.messages]
    assert (again.tools, again.notes, again.title) == (
        thread.tools,
        thread.notes,
        thread.title,
    )


def test_bare_state_values_are_a_thread_too():
    source = Source("s.json", b'{"messages": [{"type": "human", "content": "Hi"}]}')

    assert import_conversation(source).messages[0].text == "Hi"


def test_b10_results_without_a_call_and_calls_without_a_result_come_in_unrepaired(
    tmp_path,
):
    path = tmp_path / "real.json"
    call = {"name": "f", "args": {}, "id": "open", "type": "tool_call"}
    messages = [
        {"type": "tool", "content": "late", "tool_call_id": "gone"},
        {"type": "human", "content": "q", "name": None},
        {"type": "ai", "content": None, "tool_calls": [call], "usage_metadata": None},
    ]
    path.write_text(json.dumps({"values": {"messages": messages}}), encoding="utf-8")
    transcript = load_transcript(path)

    assert [message.type for message in transcript.messages] == ["tool", "human", "ai"]
    assert [message.id for message in transcript.messages] == [
        "real-0000",
        "real-0001",
        "real-0002",
    ]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"type": "weird", "content": ""}, r"messages\[0\].type is 'weird', expected"),
        ({"type": "tool", "content": ""}, r"messages\[0\].tool_call_id is missing"),
        ({"type": "human", "content": 7}, r"messages\[0\].content.*got 7"),
    ],
)
def test_a_broken_thread_message_is_named(record, says):
    with pytest.raises(ValueError, match="t.json, " + says):
        import_conversation(thread_of(record))


def test_an_empty_thread_is_no_conversation():
    with pytest.raises(ValueError, match="t.json: the conversation holds no messages"):
        import_conversation(thread_of())


def test_a_new_format_is_one_more_entry(monkeypatch):
    lines = Importer(
        "one question a line",
        matches=lambda source: source.data.startswith(b"Q: "),
        read=lambda source: Conversation(
            [HumanMessage(line[3:]) for line in source.text.splitlines()]
        ),
    )
    monkeypatch.setattr("ctxlab.lab.importers.IMPORTERS", [lines, *IMPORTERS])

    found = import_conversation(Source("q.txt", b"Q: one\nQ: two"))
    assert [message.text for message in found.messages] == ["one", "two"]
    assert import_conversation(thread_of({"type": "human", "content": "x"})).messages
