"""A conversation measured once: sums, digests, edits, reloads, forks and threads."""

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ctxlab.history import PARTS, History, HistoryMeter, message_digest
from ctxlab.tokens import CjkAwareCounter, ScriptCounter
from tests.strategies import conversations


class SpyCounter(ScriptCounter):
    """Counts as usual and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[BaseMessage] = []

    def message(self, message: BaseMessage) -> float:
        self.asked.append(message)
        return super().message(message)


def talk(length: int, topic: str = "order") -> list[BaseMessage]:
    """Return a conversation of several kinds of messages, none alike."""
    history: list[BaseMessage] = [SystemMessage(f"Help with each {topic}.")]
    for i in range(length):
        call = {"name": "lookup", "args": {topic: i, "备注": "加急"}, "id": f"c{i}"}
        history += [
            HumanMessage(f"Where is {topic} {i}?", id=f"h{i}"),
            AIMessage("", tool_calls=[call], id=f"a{i}"),
            ToolMessage(f"{topic} {i}: 已发货", tool_call_id=f"c{i}", id=f"t{i}"),
            AIMessage(f"{topic} {i} is on its way.", id=f"b{i}"),
        ]
    return history


def reloaded(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return new objects with the same contents, as a checkpointer gives them."""
    serializer = JsonPlusSerializer()
    again: list[BaseMessage] = serializer.loads_typed(
        serializer.dumps_typed(list(messages))
    )
    return again


def assert_as_if_fresh(history: History, messages: Sequence[BaseMessage]) -> None:
    """Compare a history with a measurement by a meter that knows nothing."""
    fresh = HistoryMeter(ScriptCounter()).measure(messages)
    assert len(history) == len(messages)
    assert history.messages == list(messages)
    places = range(len(messages) + 1)
    assert [history.tokens(at) for at in places] == [fresh.tokens(at) for at in places]
    assert [history.digest(at) for at in places] == [fresh.digest(at) for at in places]
    assert history.parts() == fresh.parts()
    assert history.answers() == fresh.answers()
    assert history.answer_count == len(fresh.answers())
    assert history.newest_user == fresh.newest_user


class TestMeasuring:
    def test_tokens_of_any_stretch_are_the_sum_of_its_messages(self) -> None:
        counter, messages = ScriptCounter(), talk(5)
        history = HistoryMeter(counter).measure(messages)
        for start in range(len(messages)):
            for stop in range(start, len(messages) + 1):
                expected = sum(map(counter.message, messages[start:stop]))
                assert history.tokens(start, stop) == pytest.approx(expected)
        assert history.tokens(3, 1) == 0
        assert history.tokens(-1) == history.tokens(len(messages) - 1)

    def test_x7_parts_sum_to_the_tokens(self) -> None:
        messages = talk(4)
        history = HistoryMeter(ScriptCounter()).measure(messages)
        for start in range(len(messages)):
            parts = history.parts(start)
            assert tuple(parts) == PARTS
            assert sum(parts.values()) == pytest.approx(history.tokens(start))

    def test_x7_each_kind_of_message_is_its_own_part(self) -> None:
        counter = ScriptCounter()
        system, user, calling, result, answer = talk(1)
        parts = HistoryMeter(counter).measure([system, user, calling, result, answer])
        share = counter.calls(calling)
        assert share > 0
        assert parts.parts() == pytest.approx(
            {
                "system": counter.message(system),
                "user": counter.message(user),
                "assistant": counter.message(answer) + counter.message(calling) - share,
                "calls": share,
                "results": counter.message(result),
            }
        )

    def test_the_first_index_within_a_budget(self) -> None:
        messages = talk(6)
        history = HistoryMeter(CjkAwareCounter()).measure(messages)
        for budget in range(-1, int(history.tokens()) + 20, 7):
            for start in (0, 3, len(messages)):
                first = history.first_index_within(budget, start)
                fitting = [
                    at
                    for at in range(start, len(messages) + 1)
                    if history.tokens(at) <= budget
                ]
                assert first == (fitting[0] if fitting else len(messages))

    def test_an_empty_history(self) -> None:
        history = HistoryMeter(ScriptCounter()).measure([])
        assert (len(history), history.tokens(), history.newest_user) == (0, 0, None)
        assert history.answers() == []
        assert history.first_index_within(10) == 0
        assert history.digest(0) == HistoryMeter(ScriptCounter()).measure(
            talk(1)
        ).digest(0)

    def test_questions_are_what_users_said_within_the_history(self) -> None:
        summary = HumanMessage("s", additional_kwargs={"lc_source": "summarization"})
        said = [HumanMessage("a"), AIMessage("b"), summary, HumanMessage("c")]
        meter = HistoryMeter(CjkAwareCounter())
        whole = meter.measure(said)
        assert whole.questions() == [0, 3]
        assert meter.measure(said[:2]).questions() == [0]

    def test_newest_user_is_no_summary(self) -> None:
        mark = {"lc_source": "summarization"}
        summary = HumanMessage("so far …", additional_kwargs=mark)
        meter = HistoryMeter(ScriptCounter())
        assert meter.measure([summary]).newest_user is None
        messages = [HumanMessage("q"), AIMessage("a"), summary, AIMessage("b")]
        assert meter.measure(messages).newest_user == 0

    def test_the_newest_answers_are_the_last_ai_messages(self) -> None:
        history = HistoryMeter(ScriptCounter()).measure(talk(3))
        assert history.answers() == [2, 4, 6, 8, 10, 12]
        assert history.answers(2) == [10, 12]
        assert (history.answers(0), history.answer_count) == ([], 6)

    @pytest.mark.parametrize("bound", ["max_histories", "max_characters"])
    def test_a_bound_below_one_is_refused(self, bound: str) -> None:
        with pytest.raises(ValueError, match=f"{bound} must be at least 1, got 0"):
            HistoryMeter(ScriptCounter(), **{bound: 0})


class TestCountingOnlyWhatIsNew:
    def test_b71_a_call_on_a_long_history_counts_one_message(self) -> None:
        spy = SpyCounter()
        meter, messages = HistoryMeter(spy), talk(50)
        meter.measure(messages)
        assert len(spy.asked) == len(messages)
        messages.append(HumanMessage("One more thing"))
        meter.measure(messages)
        meter.measure(messages)
        assert spy.asked[201:] == messages[201:]

    def test_b71_a_reload_counts_nothing(self) -> None:
        spy = SpyCounter()
        meter, messages = HistoryMeter(spy), talk(20)
        before = meter.measure(messages)
        spy.asked.clear()
        again = reloaded(messages)
        after = meter.measure(again)
        assert not spy.asked
        assert after.digest(len(after)) == before.digest(len(before))
        assert_as_if_fresh(after, again)

    def test_a_replaced_object_is_seen_also_under_the_same_id(self) -> None:
        meter, messages = HistoryMeter(ScriptCounter()), talk(20)
        meter.measure(messages)
        for place in (0, 7, 40, len(messages) - 1):
            edited = list(messages)
            changed = {"content": f"edited at {place}"}
            edited[place] = messages[place].model_copy(update=changed)
            assert edited[place].id == messages[place].id
            assert_as_if_fresh(meter.measure(edited), edited)

    def test_an_equal_object_in_its_place_changes_nothing(self) -> None:
        meter, messages = HistoryMeter(ScriptCounter()), talk(20)
        meter.measure(messages)
        messages[7] = messages[7].model_copy()
        assert_as_if_fresh(meter.measure(messages), messages)

    def test_after_a_run_no_message_is_held_and_nothing_is_counted_anew(self) -> None:
        spy = SpyCounter()
        meter, messages = HistoryMeter(spy), talk(5)
        history = meter.measure(messages)
        held = [weakref.ref(message) for message in messages]
        meter.release(history)
        again = reloaded(messages)
        del history, messages
        spy.asked.clear()
        gc.collect()
        assert not any(ref() for ref in held)
        assert_as_if_fresh(meter.measure(again), again)
        assert not spy.asked

    def test_a_release_leaves_the_run_of_another_thread_alone(self) -> None:
        meter, messages = HistoryMeter(ScriptCounter()), talk(2)
        mine, theirs = meter.measure(messages), meter.measure(reloaded(messages))
        meter.release(mine)
        assert theirs.line.objects == theirs.messages
        assert_as_if_fresh(mine, messages)

    @pytest.mark.parametrize(
        ("place", "change"),
        [
            (1, {"name": "planner"}),
            (2, {"tool_calls": [{"name": "f", "args": {"a": 2}, "id": "c1"}]}),
            (3, {"status": "error"}),
            (3, {"tool_call_id": "c9"}),
            (4, {"content": [{"type": "text", "text": "in blocks"}]}),
        ],
        ids=["name", "args", "status", "call id", "blocks"],
    )
    def test_a_reload_with_one_field_changed_is_seen(
        self, place: int, change: dict[str, Any]
    ) -> None:
        meter, messages = HistoryMeter(ScriptCounter()), talk(3)
        before = meter.measure(messages)
        again = reloaded(messages)
        again[place] = again[place].model_copy(update=change)
        after = meter.measure(again)
        assert_as_if_fresh(after, again)
        assert after.digest(place) == before.digest(place)
        assert after.digest(place + 1) != before.digest(place + 1)

    def test_deletions_forks_and_prefixes(self) -> None:
        meter, messages = HistoryMeter(ScriptCounter()), talk(10)
        fork = [*messages[:20], HumanMessage("rather tell me about returns")]
        for variant in (
            messages,
            messages[:9] + messages[13:],
            messages[5:],
            fork,
            messages[:7],
            [*messages, AIMessage("end")],
            [*fork, AIMessage("Returns are free.")],
            messages,
        ):
            assert_as_if_fresh(meter.measure(variant), variant)

    def test_a_held_history_never_changes(self) -> None:
        meter, messages = HistoryMeter(ScriptCounter()), talk(3)
        held = meter.measure(messages)
        seen = held.tokens(), held.parts(), held.digest(13), held.newest_user
        meter.measure([*messages, HumanMessage("one way"), AIMessage("a")])
        meter.measure([*messages, HumanMessage("another way, longer")])
        messages[0] = SystemMessage("changed in the caller's list")
        assert held.messages[0].content == "Help with each order."
        assert len(held) == 13
        assert seen == (held.tokens(), held.parts(), held.digest(13), held.newest_user)

    def test_interleaved_conversations_are_each_extended(self) -> None:
        spy = SpyCounter()
        meter = HistoryMeter(spy)
        lines = [talk(8, topic) for topic in ("order", "invoice", "ticket")]
        shared = talk(8, "shared")
        lines += [[*shared, HumanMessage("left")], [*shared, HumanMessage("right")]]
        for line in lines:
            meter.measure(line)
        spy.asked.clear()
        for step in range(5):
            for line in lines:
                line.append(AIMessage(f"step {step} of {len(line)} {id(line)}"))
                meter.measure(line)
        assert len(spy.asked) == 5 * len(lines)
        for line in lines:
            assert_as_if_fresh(meter.measure(line), line)

    def test_memory_is_bounded(self) -> None:
        spy = SpyCounter()
        meter = HistoryMeter(spy, max_histories=2, max_characters=10_000)
        for i in range(200):
            meter.measure([HumanMessage(f"{i} " * 200)])
        assert len(meter._lines) == 2
        held = len(meter._memo._young) + len(meter._memo._old)
        assert held * 400 <= 2 * 10_000
        meter.measure([HumanMessage("199 " * 200)])  # new object, content remembered
        assert len(spy.asked) == 200
        meter.measure([HumanMessage("0 " * 200)])  # forgotten, counted again
        assert len(spy.asked) == 201

    def test_threads_share_a_meter(self) -> None:
        meter, common = HistoryMeter(ScriptCounter()), talk(30)

        def work(thread: int) -> None:
            mine = list(common)
            for step in range(40):
                mine.append(HumanMessage(f"{thread} says {step}"))
                history = meter.measure(mine)
                parts = sum(history.parts().values())
                assert history.tokens() == pytest.approx(parts)
                assert history.newest_user == len(mine) - 1
            assert_as_if_fresh(history, mine)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))

    def test_x7_a_thread_never_sees_the_parts_of_half_a_message(self) -> None:
        """Who finds the first part long enough reads the others without a lock."""
        history = HistoryMeter(ScriptCounter()).measure(talk(3))
        first, *others = history.line._parts

        class First(list[int]):
            def append(self, tokens: int) -> None:
                super().append(tokens)
                sums = [self[-1], *(other[len(self) - 1] for other in others)]
                assert sum(sums) == history.line.sums[len(self) - 1]

        history.line._parts[0] = First(first)
        assert sum(history.parts().values()) == pytest.approx(history.tokens())


class Edit:
    """One random change of a conversation."""

    @staticmethod
    def apply(kind: str, place: int, messages: list[BaseMessage]) -> list[BaseMessage]:
        at = place % (len(messages) + 1)
        if kind == "append":
            return [*messages, HumanMessage(f"more {place}")]
        if kind == "cut":
            return messages[:at]
        if kind == "drop":
            return messages[:at] + messages[at + 1 :]
        if kind == "insert":
            return [*messages[:at], AIMessage(f"note {place}"), *messages[at:]]
        if kind == "replace" and at < len(messages):
            changed = messages[at].model_copy(update={"content": f"new {place}"})
            return [*messages[:at], changed, *messages[at + 1 :]]
        if kind == "reload":
            return [message.model_copy() for message in messages]
        return list(messages)


EDITS = ["append", "append", "cut", "drop", "insert", "replace", "reload", "same"]


@given(
    conversations(),
    st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 40)), max_size=12),
)
def test_any_sequence_of_edits_measures_as_if_fresh(
    messages: list[BaseMessage], edits: list[tuple[str, int]]
) -> None:
    meter = HistoryMeter(ScriptCounter(), max_histories=4, max_characters=2_000)
    held = [(meter.measure(messages), messages)]
    for kind, place in edits:
        source = held[place % len(held)][1]  # any earlier state: time travel
        messages = Edit.apply(kind, place, source)
        held.append((meter.measure(messages), messages))
    for history, as_it_was in held:
        assert_as_if_fresh(history, as_it_was)


def content_of(message: BaseMessage) -> tuple[Any, ...]:
    """Return what a digest covers, to be compared by Python itself."""
    calls = [
        (call["name"], call["args"], call["id"])
        for call in getattr(message, "tool_calls", [])
    ]
    fields = message.__dict__
    call_id, status = fields.get("tool_call_id"), fields.get("status")
    return message.type, message.content, calls, message.name, call_id, status


class TestDigests:
    @given(conversations(), conversations())
    def test_digests_are_equal_exactly_when_contents_are(
        self, some: list[BaseMessage], others: list[BaseMessage]
    ) -> None:
        for one in [*some, *others]:
            for other in [*some, *others]:
                alike = content_of(one) == content_of(other)
                assert (message_digest(one) == message_digest(other)) == alike

    @pytest.mark.parametrize(
        "change",
        [
            {"content": "Done"},
            {"name": "planner"},
            {"tool_calls": [{"name": "f", "args": {"a": 2}, "id": "c1"}]},
            {"tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c2"}]},
            {"tool_calls": [{"name": "g", "args": {"a": 1}, "id": "c1"}]},
        ],
        ids=["content", "name", "args", "call id", "tool"],
    )
    def test_what_counts(self, change: dict[str, Any]) -> None:
        call: Any = {"name": "f", "args": {"a": 1}, "id": "c1"}
        message = AIMessage("Done.", tool_calls=[call])
        changed = message.model_copy(update=change)
        assert message_digest(message) != message_digest(changed)

    def test_status_and_call_id_of_a_result_count(self) -> None:
        result = ToolMessage("no such file", tool_call_id="c1")
        failed = result.model_copy(update={"status": "error"})
        other = result.model_copy(update={"tool_call_id": "c2"})
        assert len({message_digest(m) for m in (result, failed, other)}) == 3

    @pytest.mark.parametrize(
        "change",
        [
            {"id": "other"},
            {"usage_metadata": {"input_tokens": 1}},
            {"response_metadata": {"ctxlab": {}}},
            {"additional_kwargs": {"reasoning_content": "hm"}},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_what_does_not_count(self, change: dict[str, Any]) -> None:
        message = AIMessage("Done.")
        changed = message.model_copy(update=change)
        assert message_digest(message) == message_digest(changed)

    def test_an_artifact_does_not_count(self) -> None:
        bare = ToolMessage("ok", tool_call_id="c1")
        assert message_digest(bare) == message_digest(
            ToolMessage("ok", tool_call_id="c1", artifact=object())
        )

    def test_the_order_of_arguments_does_not_count(self) -> None:
        def calling(args: dict[str, Any]) -> AIMessage:
            return AIMessage("", tool_calls=[{"name": "f", "args": args, "id": "c"}])

        assert message_digest(calling({"a": 1, "b": 2})) == message_digest(
            calling({"b": 2, "a": 1})
        )

    @pytest.mark.parametrize("seed", ["0", "1", "random"])
    def test_a_digest_is_the_same_in_any_process(self, seed: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", DIGEST_PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            check=True,
        )
        here: dict[str, Any] = {}
        exec(DIGEST_PROGRAM, here)
        assert done.stdout.strip() == here["digest"]
        assert len(here["digest"]) == 32


DIGEST_PROGRAM = """
from langchain_core.messages import AIMessage, HumanMessage
from ctxlab.history import HistoryMeter
from ctxlab.tokens import CjkAwareCounter
args = {"tags": {"c", "a", "b"}, "when": b"\\xff", "k": "键", "odd": object()}
call = {"name": "f", "args": args, "id": "c1"}
messages = [HumanMessage("问"), AIMessage("", tool_calls=[call])]
digest = HistoryMeter(CjkAwareCounter()).measure(messages).digest(2)
print(digest)
"""
