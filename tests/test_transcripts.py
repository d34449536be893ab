"""Transcripts: fixed ids, facts that stand where they say, one clear error each."""

import json

import pytest
from hypothesis import given, settings
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import ValidationError

from ctxlab.lab import (
    Fact,
    Transcript,
    load_transcript,
    save_transcript,
    transcript_names,
)
from ctxlab.lab.turns import split_turns
from tests.strategies import conversations


def called(*ids, text=""):
    calls = [{"name": "look", "args": {"at": id}, "id": id} for id in ids]
    return AIMessage(text, tool_calls=calls)


def result(id, text="seen"):
    return ToolMessage(text, tool_call_id=id)


def written(tmp_path, value, name="chat.json"):
    path = tmp_path / name
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return path


OWN = {
    "format": "ctxlab-transcript",
    "version": 1,
    "name": "own",
    "language": "en",
    "messages": [{"type": "human", "content": "My order is A7."}],
}


# -- the transcripts that come with ctxlab ---------------------------


def test_h1_the_order_desk_is_two_turns_and_the_second_needs_no_tool():
    desk = load_transcript("order_desk")
    asked, remembered = desk.turns()

    assert desk.language == "zh"
    assert desk.system.startswith("你是商城的订单助手")
    assert [tool["name"] for tool in desk.tools] == ["lookup_order"]
    assert [len(step.reply.tool_calls) for step in asked.steps] == [1, 0]
    assert [len(step.reply.tool_calls) for step in remembered.steps] == [0]
    assert "周五" in remembered.steps[0].reply.text


@pytest.mark.parametrize("name", transcript_names())
def test_every_shipped_transcript_loads_and_every_turn_is_complete(name):
    transcript = load_transcript(name)

    assert transcript.name == name
    assert transcript.facts, "a transcript without facts measures nothing"
    assert transcript.facts_in(transcript.messages) == list(transcript.facts)
    assert all(turn.complete and not turn.rest for turn in transcript.turns())
    ids = [message.id for message in transcript.messages]
    assert len(set(ids)) == len(ids)


# -- what a transcript is --------------------------------------------


def test_ids_are_given_by_place_and_never_twice():
    chat = [HumanMessage("a"), AIMessage("b", id="mine"), HumanMessage("c", id="mine")]
    ids = [message.id for message in Transcript(chat, name="desk").messages]

    assert ids == ["desk-0000", "mine", "desk-0002"]


def test_tools_may_be_functions_and_become_schemas():
    def look(at: str) -> str:
        """Look at something."""
        return at

    (schema,) = Transcript([HumanMessage("a")], tools=[look]).tools

    assert schema["name"] == "look"
    assert schema["parameters"]["properties"]["at"] == {"type": "string"}


def test_facts_are_found_in_content_blocks_and_call_arguments():
    chat = [
        HumanMessage([{"type": "text", "text": "Use node 18, please."}]),
        called("src/报表.py"),
        result("src/报表.py"),
    ]
    facts = [
        Fact(kind="constraint", text="node 18", message=0),
        Fact(kind="artefact", text="src/报表.py", message=1),
    ]
    transcript = Transcript(chat, facts=facts)

    assert transcript.facts_in(chat[1:]) == facts[1:]
    assert transcript.facts_in([HumanMessage("summary: node 18")]) == facts[:1]


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        ({"kind": "identifier", "text": "B9", "message": 0}, "does not stand in"),
        ({"kind": "identifier", "text": "A7", "message": 3}, "index below 1"),
    ],
)
def test_a_fact_must_stand_in_its_message(fact, says):
    with pytest.raises(ValueError, match=says):
        Transcript([HumanMessage("A7")], facts=[Fact(**fact)])


def test_a_fact_has_one_of_five_kinds():
    with pytest.raises(ValidationError, match="failed_attempt"):
        Fact(kind="opinion", text="x", message=0)


# -- turns -----------------------------------------------------------


def shapes(messages):
    return [
        (
            len(turn.inputs),
            [len(step.results) for step in turn.steps],
            [message.type for message in turn.rest],
        )
        for turn in split_turns(messages)
    ]


TURNS = {
    "a question and its answer": (
        [HumanMessage("q"), AIMessage("a"), HumanMessage("q"), AIMessage("a")],
        [(1, [0], []), (1, [0], [])],
    ),
    "a tool loop with parallel calls": (
        [HumanMessage("q"), called("a", "b"), result("a"), result("b"), AIMessage("x")],
        [(1, [2, 0], [])],
    ),
    "a call id that is used again": (
        [HumanMessage("q"), called("a"), result("a"), called("a"), result("a", "new")],
        [(1, [1, 1], [])],
    ),
    "a system message after the user's": (
        [HumanMessage("q"), SystemMessage("files: none"), AIMessage("a")],
        [(2, [0], [])],
    ),
    "an answer after the answer": (
        [HumanMessage("q"), AIMessage("a"), AIMessage("b"), HumanMessage("r")],
        [(1, [0], ["ai"]), (1, [], [])],
    ),
    "a note of the user between two results": (
        [
            HumanMessage("q"),
            called("a", "b"),
            result("a"),
            HumanMessage("note"),
            result("b"),
            AIMessage("done"),
        ],
        [(1, [2, 0], ["human"])],
    ),
    "a user who does not wait for the result": (
        [HumanMessage("q"), called("a"), HumanMessage("stop"), AIMessage("ok")],
        [(1, [0], []), (1, [0], [])],
    ),
    "a result that comes after the next step": (
        [HumanMessage("q"), called("a"), AIMessage("x"), result("a")],
        [(1, [1, 0], [])],
    ),
    "a greeting before the first question": (
        [AIMessage("Welcome."), HumanMessage("q"), AIMessage("a")],
        [(2, [0], [])],
    ),
}


@pytest.mark.parametrize("case", TURNS)
def test_turns_of(case):
    messages, expected = TURNS[case]
    turns = split_turns(messages)

    assert shapes(messages) == expected
    assert [turn.start for turn in turns[1:]] == [turn.stop for turn in turns[:-1]]
    assert (turns[0].start, turns[-1].stop) == (0, len(messages))


@settings(deadline=None)
@given(conversations(malformed=True))
def test_turns_hold_every_message_once(messages):
    held = []
    for turn in split_turns(messages):
        held += [*turn.inputs, *turn.rest, *(step.reply for step in turn.steps)]
        held += [m for step in turn.steps for m in step.results.values()]

    assert sorted(m.id for m in held) == sorted(m.id for m in messages)


def test_a_reused_call_id_keeps_its_own_result():
    messages, _ = TURNS["a call id that is used again"]
    first, second = split_turns(messages)[0].steps

    assert (first.results["a"].text, second.results["a"].text) == ("seen", "new")


# -- files -----------------------------------------------------------


def test_a_saved_transcript_loads_as_it_was(tmp_path):
    chat = [
        HumanMessage([{"type": "text", "text": "看看 A7"}], id="h"),
        SystemMessage("no files"),
        called("a", text="let me look"),
        ToolMessage("none", tool_call_id="a", name="look", status="error"),
        AIMessage("不见了", additional_kwargs={"reasoning_content": "hm"}),
    ]
    before = Transcript(
        chat,
        tools=[{"name": "look", "description": "", "parameters": {"type": "object"}}],
        system="Be brief.",
        facts=[Fact(kind="identifier", text="A7", message=0)],
        name="trip",
        language="mixed",
        title="A round trip",
    )
    save_transcript(before, tmp_path / "trip.json")

    assert load_transcript(tmp_path / "trip.json") == before
    assert "看看 A7" in (tmp_path / "trip.json").read_text(encoding="utf-8")


def test_saving_twice_writes_the_same_bytes(tmp_path):
    for name in ("one.json", "two.json"):
        save_transcript(load_transcript("order_desk"), tmp_path / name)

    one, two = (tmp_path / name for name in ("one.json", "two.json"))
    assert one.read_bytes() == two.read_bytes()


BROKEN = {
    "not JSON": ('{"a": 1,\n  oops}', "chat.json, line 2, column 3: expected JSON"),
    "foreign JSON": (
        {"choices": []},
        "no conversation found; expected one of: ctxlab transcript.*keys 'choices'",
    ),
    "a list": ([1], "Got a JSON list"),
    "another format": ({**OWN, "format": "ctxlab-trace"}, "format: Input should be"),
    "another version": ({**OWN, "version": 2}, "version: Input should be 1, got 2"),
    "an unknown key": ({**OWN, "facets": []}, "facets: Extra inputs are not permitted"),
    "no message": ({**OWN, "messages": []}, "messages: List should have at least 1"),
    "an unknown type": (
        {**OWN, "messages": [{"type": "robot", "content": "x"}]},
        r"messages\[0\]: Input tag 'robot'.*'human', 'system', 'ai', 'tool'",
    ),
    "a result that names no call": (
        {**OWN, "messages": [{"type": "tool", "content": "x"}]},
        r"messages\[0\].*tool_call_id: Field required",
    ),
    "a result without its call": (
        {**OWN, "messages": [{"type": "tool", "content": "x", "tool_call_id": "c"}]},
        r"messages\[0\].tool_call_id 'c': expected a call with this id before it",
    ),
    "a fact that does not stand there": (
        {**OWN, "facts": [{"kind": "identifier", "text": "B9", "message": 0}]},
        r"facts\[0\].text 'B9' does not stand in messages\[0\]",
    ),
    "an unknown kind of fact": (
        {**OWN, "facts": [{"kind": "whim", "text": "A7", "message": 0}]},
        r"facts\[0\].kind: .*'constraint', 'identifier'.*got 'whim'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_x12_a_broken_file_is_one_error_that_names_file_and_place(case, tmp_path):
    content, says = BROKEN[case]
    with pytest.raises(ValueError, match=says) as caught:
        load_transcript(written(tmp_path, content))

    assert str(caught.value).startswith("chat.json")


def test_a_file_that_is_not_utf8_says_which_byte(tmp_path):
    path = tmp_path / "old.json"
    path.write_bytes("订单".encode("gbk"))

    with pytest.raises(ValueError, match=r"old\.json, line 1: byte 0 is not UTF-8"):
        load_transcript(path)


def test_an_unknown_name_lists_the_known_and_suggests_the_closest():
    with pytest.raises(ValueError, match="did you mean 'order_desk'.*There are: "):
        load_transcript("order_dsk")
    with pytest.raises(ValueError, match="There are: .*order_desk"):
        load_transcript("qqq")


def test_a_missing_file_is_named():
    with pytest.raises(ValueError, match=r"chats/mine\.json: no such file"):
        load_transcript("chats/mine.json")
