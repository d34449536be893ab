"""What the transcript `chinese_support` promises to those who measure on it."""

from collections import Counter
from functools import cache
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ctxlab.lab import Fact, Transcript, load_transcript
from ctxlab.lab.turns import Turn
from ctxlab.summaries import language_of
from ctxlab.tokens import CjkAwareCounter

KINDS = ("constraint", "identifier", "failed_attempt", "artefact", "unverified")
TRIVIAL = 8  # characters: a text this short may come twice ("好的，继续")

counter = CjkAwareCounter()


@cache
def transcript() -> Transcript:
    return load_transcript("chinese_support")


def user_messages() -> list[HumanMessage]:
    return [m for m in transcript().messages if isinstance(m, HumanMessage)]


def calls() -> list[tuple[int, dict[str, Any]]]:
    """Return every tool call with the index of its message, oldest first."""
    return [
        (index, dict(call))
        for index, message in enumerate(transcript().messages)
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


def facts_of(kind: str) -> list[Fact]:
    return [fact for fact in transcript().facts if fact.kind == kind]


def test_m20_the_history_before_the_long_paste_is_19_067_tokens():
    messages = transcript().messages
    paste = max(user_messages(), key=counter.message)
    before = messages[: messages.index(paste)]

    assert counter(before) == pytest.approx(19_067, rel=0.005)
    assert 2_000 <= counter.message(paste) <= 2_500


def test_m20_the_paste_lifts_the_bill_over_the_trigger():
    """The line through the two printed points of row M20 bills both histories."""
    messages = transcript().messages
    end = messages.index(max(user_messages(), key=counter.message)) + 1

    def billed(visible: int) -> float:
        return 15_063 + 1.6226 * visible

    assert (
        billed(counter(messages[: end - 1])) < 49_152 < billed(counter(messages[:end]))
    )


def test_m20_the_paste_is_the_only_long_user_message():
    sizes = sorted(counter.message(message) for message in user_messages())

    assert sizes[-2] <= 900


def test_m20_the_conversation_goes_on_from_the_paste():
    messages = transcript().messages
    paste = max(user_messages(), key=counter.message)
    later = [m.text for m in messages[messages.index(paste) + 1 :]]

    for article in ("第四条", "第十三条", "第十八条", "第二十八条"):
        assert article in paste.text
        assert any(article in text for text in later)


def test_the_whole_conversation_fits_no_32k_window():
    assert 33_500 <= counter(transcript().messages) <= 36_000
    assert 125 <= len(transcript().turns()) <= 150


def test_x8_the_conversation_and_its_system_prompt_are_chinese():
    assert language_of(m.text for m in user_messages()) == "zh"
    assert language_of([transcript().system]) == "zh"
    assert 150 <= len(transcript().system) <= 300
    assert transcript().language == "zh"


@pytest.mark.parametrize("kind", KINDS)
def test_x10_every_kind_of_fact_is_planted_at_least_six_times(kind):
    assert len(facts_of(kind)) >= 6


def test_x10_every_fact_stands_in_its_message_and_in_no_other():
    texts = [message.text for message in transcript().messages]

    for fact in transcript().facts:
        holders = [index for index, text in enumerate(texts) if fact.text in text]
        assert holders == [fact.message], fact
        assert 8 <= len(fact.text) <= 40, fact


def test_x10_four_facts_of_five_stand_before_the_long_paste():
    messages = transcript().messages
    paste = messages.index(max(user_messages(), key=counter.message))
    early = [fact for fact in transcript().facts if fact.message < paste]

    assert len(early) >= 0.8 * len(transcript().facts)
    assert {fact.kind for fact in early} == set(KINDS)


def test_every_call_has_one_result_right_behind_it():
    messages = transcript().messages
    for index, message in enumerate(messages):
        asked = getattr(message, "tool_calls", [])
        answers = messages[index + 1 : index + 1 + len(asked)]
        assert all(isinstance(answer, ToolMessage) for answer in answers)
        assert [a.tool_call_id for a in answers] == [c["id"] for c in asked]
        assert [a.name for a in answers] == [c["name"] for c in asked]

    results = [m for m in messages if isinstance(m, ToolMessage)]
    assert len(results) == len(calls())
    assert len({call["id"] for _, call in calls()}) == len(calls())
    assert all(100 <= len(result.text) <= 2_500 for result in results)


def test_calls_fit_the_schemas_of_their_tools():
    tools = {tool["name"]: tool["parameters"] for tool in transcript().tools}
    assert {call["name"] for _, call in calls()} == set(tools)

    for _, call in calls():
        schema = tools[call["name"]]
        assert set(schema["required"]) <= set(call["args"])
        for name, value in call["args"].items():
            allowed = schema["properties"][name].get("enum", [value])
            assert value in allowed, call


def test_a_fifth_of_the_turns_use_tools_and_some_ask_in_parallel():
    using = [turn for turn in transcript().turns() if turn_uses_tools(turn)]
    per_message = Counter(index for index, _ in calls())

    assert 20 <= len(using) <= 30
    assert sum(count > 1 for count in per_message.values()) >= 4


def turn_uses_tools(turn: Turn) -> bool:
    messages = transcript().messages[turn.start : turn.stop]
    return any(isinstance(message, ToolMessage) for message in messages)


def test_nobody_says_the_same_thing_twice():
    spoken = Counter(
        message.text
        for message in transcript().messages
        if not isinstance(message, ToolMessage) and len(message.text) > TRIVIAL
    )
    openings = Counter(text[:6] for text in spoken)

    assert [text for text, count in spoken.items() if count > 1] == []
    assert max(openings.values()) <= 3  # the shift hand-overs share a heading


def test_drafts_count_their_characters_right():
    """The sizes that `draft_notice` reports are those of the texts it was given."""
    results = {
        m.tool_call_id: m.text
        for m in transcript().messages
        if isinstance(m, ToolMessage)
    }
    drafts = [call for _, call in calls() if call["name"] == "draft_notice"]

    assert drafts
    for call in drafts:
        assert f'"chars": {len(call["args"]["body"])},' in results[call["id"]]
