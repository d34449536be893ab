"""Threads of other programs come in as they are; what was guessed is said."""

import itertools
import json
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from ctxlab.lab import SimulatedChatModel, load_transcript, save_transcript
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


GREENHOUSE = {
    "greenhouse_openai.json": ("prompt", "schemas", "no usage"),
    "greenhouse_openai.jsonl": ("prompt", "calls", "no usage"),
    "greenhouse_openai_log.jsonl": ("prompt", "schemas", "usage"),
    "greenhouse_anthropic.json": ("prompt", "schemas", "usage"),
    "greenhouse_messages_to_dict.json": ("prompt", "calls", "usage"),
    "greenhouse_dumpd.json": ("prompt", "calls", "usage"),
    "greenhouse.sqlite": ("no prompt", "calls", "other usage"),
}


@pytest.mark.parametrize("name", GREENHOUSE)
def test_x12_one_conversation_is_the_same_in_every_format(name):
    found = load_transcript(THREAD.parent / name, thread_id="bed-b12")
    prompt, tools, _ = GREENHOUSE[name]
    text = [message.text for message in found.messages]

    assert [message.type for message in found.messages] == [
        *("human", "ai", "tool", "tool", "ai", "human", "ai")
    ]
    assert text[0] == "Bed B-12 looks dry. Is it? Never water the ferns at noon."
    assert text[2] == "moisture 11 %, sensor S-0417, read at 09:40"
    assert text[6] == "可信：刚换过电池，而且与植株状态一致。还没有核实的是空气湿度。"
    assert [call["id"] for call in found.messages[1].tool_calls] == [
        *("call_soil", "call_air")
    ]
    assert found.messages[1].tool_calls[0]["args"] == {"bed": "B-12", "kind": "soil"}
    assert [m.tool_call_id for m in found.messages[2:4]] == ["call_soil", "call_air"]
    assert found.system.startswith("You look after") is (prompt == "prompt")
    assert [tool["name"] for tool in found.tools] == ["read_sensor"]
    assert bool(found.tools[0]["description"]) is (tools == "schemas")


@pytest.mark.parametrize("name", GREENHOUSE)
def test_x12_recorded_usage_comes_in(name):
    found = load_transcript(THREAD.parent / name, thread_id="bed-b12")
    billed = [
        message.usage_metadata["input_tokens"]
        for message in found.messages
        if getattr(message, "usage_metadata", None)
    ]
    expected = {"usage": [1_312, 1_420, 1_509], "no usage": []}
    assert billed == expected.get(GREENHOUSE[name][2], billed)
    if GREENHOUSE[name][2] == "other usage":
        assert len(billed) == 3


def test_x12_a_checkpoint_file_asks_which_thread():
    path = THREAD.parent / "greenhouse.sqlite"
    with pytest.raises(ValueError, match="give a thread id; threads: bed-b12, short"):
        load_transcript(path)
    with pytest.raises(ValueError, match="no thread 'x'; threads: bed-b12, short"):
        load_transcript(path, thread_id="x")
    assert len(load_transcript(path, thread_id="short").messages) == 2


def test_x12_a_checkpoint_file_is_read_while_an_agent_writes_it(tmp_path):
    """Its newest state stands in the write-ahead log; nothing beside it changes."""
    path = tmp_path / "live.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent = create_agent(SimulatedChatModel(replies=["Hello."]), checkpointer=saver)
        agent.invoke({"messages": "Hi"}, {"configurable": {"thread_id": "1"}})
        before = sorted(file.name for file in tmp_path.iterdir())
        found = load_transcript(path)
        assert sorted(file.name for file in tmp_path.iterdir()) == before

    assert [message.text for message in found.messages] == ["Hi", "Hello."]


def test_x12_the_longest_request_of_a_log_is_taken_and_said():
    found = load_transcript(THREAD.parent / "greenhouse_openai_log.jsonl")
    assert list(found.notes) == ["the longest of 3 requests is taken: line 3"]


def test_x12_a_history_of_states_gives_its_newest():
    states = [
        {"values": {"messages": [{"type": "human", "content": text}]}}
        for text in ("newest", "older")
    ]
    found = import_conversation(Source("h.json", json.dumps(states).encode()))
    assert [message.text for message in found.messages] == ["newest"]


def test_x12_arguments_that_are_no_json_come_in_as_an_invalid_call():
    call = {"id": "1", "function": {"name": "f", "arguments": '{"a": '}}
    chat = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    found = import_conversation(Source("c.json", json.dumps(chat).encode()))

    assert found.messages[0].invalid_tool_calls[0]["args"] == '{"a": '
    assert "calls whose arguments are no JSON object: 1" in found.notes


def test_x12_a_line_of_jsonl_ends_at_a_newline_and_nowhere_else():
    lines = (
        '{"role": "user", "content": "a\u2028b\x85c"}\n{"role": "user", "content": ""}'
    )
    found = import_conversation(Source("log.jsonl", lines.encode()))
    assert found.messages[0].text == "a\u2028b\x85c"


def test_x12_the_old_single_call_of_openai_is_a_call():
    call = {"name": "find", "arguments": '{"q": "x"}'}
    chat = [
        {"role": "system", "content": [{"type": "text", "text": None}]},
        {"role": "user", "content": "Find x."},
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "find", "content": "found"},
    ]
    found = import_conversation(Source("chat.json", json.dumps(chat).encode()))
    assert found.system == ""
    assert found.messages[1].tool_calls[0]["args"] == {"q": "x"}
    assert found.messages[1].tool_calls[0]["id"] == found.messages[2].tool_call_id


def test_x12_anthropic_blocks_beside_a_system_role_are_calls_and_results():
    use = {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "x"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "found"}
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Find x."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    found = import_conversation(Source("chat.json", json.dumps(chat).encode()))
    assert found.system == "Be brief."
    assert [message.type for message in found.messages] == ["human", "ai", "tool"]


def test_arguments_with_half_a_character_come_in_as_an_invalid_call():
    call = {"id": "1", "function": {"name": "f", "arguments": '{"a": "\\ud83d"}'}}
    chat = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    found = import_conversation(Source("chat.json", json.dumps(chat).encode()))
    assert not found.messages[0].tool_calls
    assert found.messages[0].invalid_tool_calls[0]["args"] == '{"a": "\\ud83d"}'


def test_a_call_without_an_id_goes_by_its_name():
    call = {"function": {"name": "find", "arguments": "{}"}}
    talk = [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "find", "content": "found"},
    ]
    found = import_conversation(Source("f.json", json.dumps(talk).encode()))
    assert found.messages[1].tool_calls[0]["id"] == found.messages[2].tool_call_id
