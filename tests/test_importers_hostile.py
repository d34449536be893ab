"""Files that are broken, huge or hostile: one error that says where; nothing runs."""

import json
import pickle
import sqlite3
from pathlib import Path

import ormsgpack
import pytest

from ctxlab.lab import load_transcript
from ctxlab.lab.importers import Source, import_conversation
from ctxlab.lab.importers.source import MAX_DEPTH

THREADS = Path(__file__).parent / "data" / "threads"
HI = {"role": "user", "content": "Hi"}


class Trap:
    """Leaves a file behind when it is built or unpickled."""

    path: Path

    def __reduce__(self):
        return Path.touch, (self.path,)


def fault_in(data, name="f.json"):
    if not isinstance(data, bytes):
        data = json.dumps(data).encode()
    with pytest.raises(ValueError, match=r".") as caught:
        import_conversation(Source(name, data))
    return str(caught.value)


def checkpoint_file(path, kind, checkpoint):
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, "
            "checkpoint_id TEXT, type TEXT, checkpoint BLOB)"
        )
        row = ("t", "", "1", kind, checkpoint)
        database.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?)", row)
    database.close()
    return path


def msgpack_state(*messages):
    return ormsgpack.packb(
        {"channel_values": {"messages": list(messages)}},
        option=ormsgpack.OPT_NON_STR_KEYS,
    )


def named(code, module, name, fields, method=None):
    packed = ormsgpack.packb(
        (module, name, fields, method), option=ormsgpack.OPT_NON_STR_KEYS
    )
    return ormsgpack.Ext(code, packed)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"messages": [', "f.json, line 1, column 15: expected JSON"),
        (b'[\n {"role": "user"', "f.json, line 2, column 17: expected JSON"),
        (b'{"role": "user", "content": "a"}\n{"role": ', "f.json, line 2, column 10"),
        (b"", "f.json, line 1, column 1: expected JSON"),
        (b"\xff\xfe", "f.json, line 1: byte 0 is not UTF-8 text"),
        (b"1" * 5_000, "f.json, line 1: expected JSON"),
        ({"hello": 1}, "expected one of: ctxlab transcript, LangGraph checkpoint"),
        ([], "f.json: the conversation holds no messages"),
        ([1, 2], "Got a JSON list"),
        (
            [HI, HI, {"content": "x"}],
            "f.json, messages[2]: expected a message with a r",
        ),
        ({"messages": [HI, {"type": "ai"}]}, "f.json, messages[1]: expected a message"),
        (b'{"role": "user", "content": "a"}\n\n{"text": "b"}', "f.json, line 3: expec"),
        (b'{"role": "user"}\n{"role": "\\ud83d"}', "f.json, line 2, ['role']: half of"),
        ([{**HI, "\ud83d": 1}], "f.json, [0]['key']: half of a surrogate pair"),
        (
            {"messages": [HI], "tools": [{"name": "f", "parameters": 1}]},
            "tools[0].para",
        ),
        ([{"lc": 1, "type": "constructor", "id": ["langchain", []]}], "messages[0].id"),
    ],
)
def test_x12_a_broken_or_unknown_file_is_one_error_with_its_place(data, says):
    assert says in fault_in(data)


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([{"role": "robot", "content": ""}], "messages[0].role: expected one of"),
        ([HI, {"role": "user", "content": 7}], "messages[1].content: expected text"),
        ([{"role": "tool", "content": "x"}], "messages[0].tool_call_id: expected the"),
        (
            [{"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}],
            "messages[0].tool_calls[0]: expected a call with a function",
        ),
        (
            [{"role": "assistant", "content": "", "tool_calls": 5}],
            "messages[0].tool_calls: expected a list of calls, got 5",
        ),
    ],
)
def test_x12_a_broken_openai_message_is_named(messages, says):
    assert "f.json, " + says in fault_in(messages)


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ({"type": "tool_use", "name": "f"}, "content[0]: expected a call with name"),
        ("bare text", "content[0]: expected a block with a type"),
    ],
)
def test_x12_a_broken_anthropic_block_is_named(block, says):
    chat = {"system": "s", "messages": [{"role": "assistant", "content": [block]}]}
    assert "messages[0]." + says in fault_in(chat)


def test_x12_a_broken_line_of_jsonl_is_named_by_its_line():
    lines = b'{"role": "user", "content": "a"}\n\n{"role": "bot", "content": "b"}\n'
    assert "log.jsonl, line 3.role: expected one of" in fault_in(lines, "log.jsonl")


def test_x12_a_serialised_object_that_is_no_message_is_refused():
    popen = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "subprocess", "Popen"],
        "kwargs": {"args": ["touch", "/tmp/never"]},
    }
    assert "messages[0].id: expected a message class" in fault_in({"messages": [popen]})
    for hidden in ([popen], {"deep": [{"deeper": popen}]}):
        record = {"type": "human", "data": {"content": "", "additional_kwargs": {}}}
        record["data"]["response_metadata"] = {"found": hidden}
        assert "a transcript is never executed" in fault_in([record])


def test_x12_a_pickled_checkpoint_is_refused_unread(tmp_path):
    Trap.path = tmp_path / "sprung"
    payload = pickle.dumps({"channel_values": {"messages": [Trap()]}})
    for kind in ("pickle", "msgpack", "json"):
        path = checkpoint_file(tmp_path / f"{kind}.sqlite", kind, payload)
        with pytest.raises(ValueError, match=f"{kind}.sqlite, thread 't'.*expected"):
            load_transcript(path)
    assert not Trap.path.exists()


@pytest.mark.parametrize("code", range(8))
def test_x12_classes_that_a_checkpoint_names_are_never_called(tmp_path, code):
    trap = tmp_path / "sprung"
    state = msgpack_state(
        named(5, "langchain_core.messages.human", "HumanMessage", {"content": "Hi"}),
        named(code, "pathlib", "Path", [str(trap)], "touch"),
    )
    path = checkpoint_file(tmp_path / "evil.sqlite", "msgpack", state)
    with pytest.raises(ValueError, match=r"evil.sqlite, thread 't', messages\[1\]"):
        load_transcript(path)
    assert not trap.exists()


def test_x12_fields_that_have_no_name_are_refused(tmp_path):
    human = "langchain_core.messages.human", "HumanMessage"
    state = msgpack_state(named(5, *human, {1: 2, "content": "Hi"}))
    path = checkpoint_file(tmp_path / "odd.sqlite", "msgpack", state)
    with pytest.raises(ValueError, match=r"odd.sqlite, thread 't', messages\[0\]: exp"):
        load_transcript(path)


def test_x12_a_message_class_of_another_module_is_no_message(tmp_path):
    state = msgpack_state(named(5, "evil.messages", "HumanMessage", {"content": "Hi"}))
    path = checkpoint_file(tmp_path / "evil.sqlite", "msgpack", state)
    with pytest.raises(ValueError, match="type is 'evil.messages.HumanMessage'"):
        load_transcript(path)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'{"messages": ' * (MAX_DEPTH + 2) + b"1" + b"}" * (MAX_DEPTH + 2),
    ],
)
def test_x12_deep_nesting_is_refused(data):
    assert "f.json" in (said := fault_in(data))
    assert "nested too deeply" in said


def test_x12_deep_msgpack_is_refused(tmp_path):
    path = checkpoint_file(tmp_path / "deep.sqlite", "msgpack", b"\x91" * 50_000)
    with pytest.raises(ValueError, match="deep.sqlite, thread 't': expected msgpack"):
        load_transcript(path)


@pytest.mark.parametrize("claim", [b"\xc6\x06\x40\x00\x00", b"\xdd\x06\x40\x00\x00"])
def test_x12_a_value_that_claims_a_hundred_megabytes_is_refused(tmp_path, claim):
    """Bytes (c6) and an array (dd) of 104,857,600, with nothing behind the header."""
    path = checkpoint_file(tmp_path / "claim.sqlite", "msgpack", claim)
    with pytest.raises(ValueError, match="expected msgpack"):
        load_transcript(path)


def test_x12_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(100_000_001)  # a sparse file: nothing is written
    with pytest.raises(ValueError, match="huge.json: the file has 100,000,001 bytes"):
        load_transcript(path)


def test_x12_half_a_character_is_refused_with_its_place():
    said = fault_in(b'[{"role": "user", "content": "\\ud83d"}]')
    assert said.startswith("f.json, [0]['content']: half of a surrogate pair")


def test_x12_a_database_without_checkpoints_is_said(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE VIEW checkpoints AS SELECT 1")
    database.close()
    with pytest.raises(
        ValueError, match="other.sqlite: expected a table 'checkpoints'"
    ):
        load_transcript(path)


def test_x12_a_truncated_database_is_one_error(tmp_path):
    path = tmp_path / "cut.sqlite"
    path.write_bytes((THREADS / "greenhouse.sqlite").read_bytes()[:2_000])
    with pytest.raises(ValueError, match="cut.sqlite: expected a SQLite file of Lang"):
        load_transcript(path)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_a_number_that_no_checkpoint_can_hold_is_said_with_its_call(number):
    call = {"id": "c", "function": {"name": "find", "arguments": f'{{"n": {number}}}'}}
    said = fault_in([HI, {"role": "assistant", "content": "", "tool_calls": [call]}])
    assert said.startswith(f"message 2, call of find: {number} has more than 64")
