"""Faults that people met elsewhere, in what a request carries: pairs, user, order.

H = HumanMessage, A = AIMessage, T x = ToolMessage for call x. The inputs and the right
values are those of the reports; a wrong one cost somebody a 400 or a lost task.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ctxlab.lab import FactKeeper
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import is_summary
from ctxlab.tokens import ApproximateCounter
from tests.requests import Desk, refused
from tests.well_formed import problems


def human(text: str) -> HumanMessage:
    return HumanMessage(text)


def said(text: str) -> AIMessage:
    return AIMessage(text)


def calling(*ids: str) -> AIMessage:
    calls = [{"name": "tool", "args": {"n": 1}, "id": call_id} for call_id in ids]
    return AIMessage("", tool_calls=calls)


def result(call_id: str, text: str = "found it") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, name="tool")


def compacting(messages: Sequence[BaseMessage], **settings: Any) -> Desk:
    """Return a desk whose middleware finds so many messages too many."""
    given: dict[str, Any] = {"trigger": ("messages", len(messages))}
    given |= {"counter": ApproximateCounter(), "overhead_tokens": 0, **settings}
    writer = given.pop("writer", lambda _: "S.")
    middleware = RequestOnlySummarizationMiddleware(writer, **given)
    return Desk(middleware, system="Be brief.")


def sent_for(messages: Sequence[BaseMessage], **settings: Any) -> list[BaseMessage]:
    """Return the one request that reaches the model for a history."""
    desk = compacting(messages, **settings)
    assert refused(desk.call(messages)) is None
    (request,) = desk.sent
    return request


def without_summary(request: Sequence[BaseMessage]) -> list[BaseMessage]:
    return [message for message in request if not is_summary(message)]


B01 = [
    human("q"),
    calling("old"),
    human("x"),
    calling("new"),
    result("old"),
    result("new"),
    human("go"),
]


@pytest.mark.parametrize("keep", range(1, 7))
def test_b01_no_result_stays_without_its_call(keep: int) -> None:
    request = sent_for(B01, keep=("messages", keep))
    assert not problems(request)
    # From keep 2 on, the group that starts behind q stays: nothing would be saved.
    assert len(request) == (2 if keep == 1 else 7)


def test_b02_parallel_results_move_together() -> None:
    history = [
        human("q"),
        calling("a", "b"),
        result("a", "x" * 4_000),
        result("b", "y" * 100),
        said("done"),
        human("next"),
    ]
    request = sent_for(history, trigger=("tokens", 600), keep=("tokens", 500))
    assert is_summary(request[0])
    assert request[1:] == history[4:]


def test_b01_keeping_all_seven_of_seven_is_no_compaction() -> None:
    with pytest.raises(ValueError, match="would not shorten anything"):
        sent_for(B01, keep=("messages", 7))


def test_b05_the_first_message_is_no_tool_result() -> None:
    history = [human("q"), calling("a"), result("a"), human("q2"), said("a2")]
    request = sent_for(history, keep=("messages", 3))
    assert request[0].type == "human"
    assert not problems(request)
    assert request[-2:] == history[3:]


async def test_b06_an_unfinished_step_is_left_alone() -> None:
    history = [human("q"), said("a"), human("b"), calling("x", "y")]
    prompts: list[Any] = []

    def writer(messages: Any) -> str:
        prompts.append(messages)
        return "S."

    desk = compacting(history, keep=("messages", 1), writer=writer)
    desk.call(history)
    (request,) = desk.sent
    assert request[-1] is history[-1]
    assert not problems(request)
    for prompt in prompts:
        assert {message.type for message in prompt} <= {"system", "human"}


@pytest.mark.parametrize("keep", range(1, 5))
def test_b07_a_note_between_results_splits_no_group(keep: int) -> None:
    history = [
        human("q"),
        calling("a", "b"),
        result("a"),
        human("note"),
        result("b"),
        said("done"),
    ]
    request = sent_for(history, keep=("messages", keep))
    assert not problems(request)
    assert sum(message is history[3] for message in request) == 1


def test_b09_every_call_and_result_appears_once() -> None:
    history = [human("x" * 2_000), calling("a", "b"), result("a"), result("b")]
    told: list[str] = []

    def writer(messages: Any) -> str:
        told.append("\n".join(message.text for message in messages))
        return "S."

    desk = compacting(history, keep=("messages", 3), writer=writer)
    desk.call(history)
    carried = [m for m in desk.sent[0] if isinstance(m, (AIMessage, ToolMessage))]
    assert carried == history[1:]
    assert not any('"tool_call_id": "a"' in text for text in told)


def test_b10_lone_results_pass_untouched_when_nothing_is_compacted() -> None:
    history = [
        result("z"),
        human("a"),
        said("b"),
        result("y"),
        human("c"),
        result("x"),
    ]
    calm = sent_for(history, trigger=("tokens", 9_000))
    assert all(a is b for a, b in zip(calm, history, strict=True))
    hasty = sent_for(history, keep=("messages", 2))
    assert problems(hasty).total() <= problems(history).total()


def rounds(count: int, size: int = 200) -> list[BaseMessage]:
    pairs = [(calling(f"c{n}"), result(f"c{n}", "r" * size)) for n in range(count)]
    return [message for pair in pairs for message in pair]


@pytest.mark.parametrize("older", [0, 2])
def test_b11_the_newest_user_message_stays_verbatim(older: int) -> None:
    before = [m for n in range(older) for m in (human(f"OLD {n}"), said("ok"))]
    task = human("TASK: do X")
    request = sent_for([*before, task, *rounds(6)], keep=("messages", 4))
    assert sum(message is task for message in request) == 1
    assert is_summary(request[0])
    assert request[1] is task
    assert not any("OLD" in message.text for message in without_summary(request))


def test_b12_a_user_message_is_left_when_it_alone_is_old() -> None:
    history = [
        human("x" * 2_000),
        calling("a", "b"),
        result("a", "y" * 40),
        result("b", "z" * 40),
    ]
    request = sent_for(history, trigger=("tokens", 505), keep=("tokens", 100))
    users = [m for m in without_summary(request) if isinstance(m, HumanMessage)]
    assert users == history[:1]


def test_b15_a_pinned_tool_stays_in_the_request() -> None:
    plan = ToolMessage("todos: B in progress", tool_call_id="p", name="write_todos")
    call = AIMessage("", tool_calls=[{"name": "write_todos", "args": {}, "id": "p"}])
    talk = [m for n in range(10) for m in (human(f"h{n}"), said(f"a{n}"))]
    history = [human("q"), said("ok"), call, plan, *talk]
    request = sent_for(history, keep=("messages", 4), pin=["write_todos"])
    assert sum(message is plan for message in request) == 1
    assert request[request.index(plan) - 1] is call
    assert not problems(request)


def test_b17_only_what_stands_before_the_cut_is_gone() -> None:
    history = [human("go"), *rounds(4)]
    request = sent_for(history, keep=("messages", 4))
    assert is_summary(request[0])
    assert all(a is b for a, b in zip(request[-4:], history[-4:], strict=True))
    assert request[1] is history[0]
    assert len(request) == 6


def thinking(call_id: str, thought: str = "") -> AIMessage:
    blocks: list[Any] = [
        {"type": "tool_use", "id": call_id, "name": "tool", "input": {"n": 1}}
    ]
    if thought:
        blocks.insert(0, {"type": "thinking", "thinking": thought, "signature": "sig"})
    calls = [{"name": "tool", "args": {"n": 1}, "id": call_id}]
    return AIMessage(blocks, tool_calls=calls)


def thoughts(messages: Sequence[BaseMessage]) -> int:
    return str([message.content for message in messages]).count("'thinking': ")


def test_b79_thinking_of_an_open_turn_is_dropped_together() -> None:
    history = [
        human("q"),
        thinking("a", "first"),
        result("a", "x" * 400),
        thinking("b"),
        result("b", "y" * 40),
        thinking("c", "third"),
        result("c"),
    ]
    request = sent_for(history, keep=("messages", 4))
    assert is_summary(request[0])
    assert thoughts(request) == 0
    assert not problems(request)
    assert [call["id"] for m in request for call in getattr(m, "tool_calls", [])] == [
        "b",
        "c",
    ]


def test_b79_the_model_is_told_to_run_without_thinking() -> None:
    history = [human("q"), thinking("a", "one"), result("a", "x" * 400)]
    history += [thinking("b", "two"), result("b")]
    desk = compacting(history, keep=("messages", 2))
    request = desk.request(history)
    request = request.override(
        model_settings={"thinking": {"type": "enabled", "budget_tokens": 2_000}}
    )
    seen: list[Any] = []

    def handler(asked: Any) -> Any:
        seen.append(asked.model_settings)
        return desk.answer(asked)

    desk.middleware.wrap_model_call(request, handler)
    assert seen == [{"thinking": {"type": "disabled"}}]


def test_b79_thinking_of_a_turn_kept_whole_stays() -> None:
    old = [human("first"), said("x" * 400)]
    turn = [human("q"), thinking("a", "one"), result("a"), thinking("b"), result("b")]
    request = sent_for([*old, *turn], keep=("messages", 5))
    assert all(a is b for a, b in zip(request[1:], turn, strict=True))
    assert thoughts(request) == 1


def test_b81_the_first_message_is_from_the_user_and_none_is_empty() -> None:
    history = [human("q"), said("ok"), human("go"), *rounds(3)]
    request = sent_for(history, keep=("messages", 2))
    assert request[0].type == "human"
    assert request[-2].type == "ai"
    assert not any(isinstance(message, SystemMessage) for message in request)
    assert all(m.text.strip() for m in request if not getattr(m, "tool_calls", None))


def test_b81_merge_summary_leaves_no_two_user_messages_in_a_row() -> None:
    history = [human("q"), said("x" * 200), human("go"), said("ok")]
    request = sent_for(history, keep=("messages", 2), merge_summary=True)
    assert [message.type for message in request] == ["human", "ai"]
    assert "S." in request[0].text
    assert request[0].text.endswith("go")


@pytest.mark.parametrize("merge", [False, True])
def test_b81_roles_alternate_behind_a_merged_summary_of_blocks(merge: bool) -> None:
    picture = {"type": "image", "mime_type": "image/png", "base64": "AAAA"}
    blocks = HumanMessage([{"type": "text", "text": "look"}, picture])
    history = [human("q"), said("x" * 200), blocks, said("ok")]
    request = sent_for(history, keep=("messages", 2), merge_summary=merge)
    roles = [message.type for message in request]
    assert roles == (["human", "ai"] if merge else ["human", "human", "ai"])
    assert request[-2].content[-1] == picture


def test_b63_two_requests_are_never_the_same_after_an_overflow() -> None:
    history = [m for n in range(6) for m in (human("w " * 200), said("v " * 200))]
    history = [*history, human("and now?")]
    desk = Desk(RequestOnlySummarizationMiddleware(FactKeeper()))
    desk.failures = {n: overflow_error("openai", 9_000, 8_000) for n in (1, 2, 3)}
    answer = desk.call(history)
    count = desk.middleware.policy.counter
    assert refused(answer) == "provider_overflow"
    assert len(desk.sent) == 2
    assert count(desk.sent[1]) < count(desk.sent[0])
    assert "too long" in answer.text
