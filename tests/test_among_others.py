"""The middleware among others: which order, and what another order does (X15)."""

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
)
from langchain_core.exceptions import ModelRateLimitError
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from tests.agents import words

SIZES = {"trigger": ("tokens", 1_500), "keep": ("tokens", 600), "overhead_tokens": 50}


def look_up(number: str) -> str:
    """Look a parcel up."""
    return words(60, f"parcel-{number}")


def with_tool(messages) -> AIMessage:
    newest = messages[-1]
    if newest.type != "human":
        return AIMessage(words(20, "answer"))
    number = newest.text.split("-")[0]
    call = {"name": "look_up", "args": {"number": number}, "id": f"call-{number}"}
    return AIMessage("", tool_calls=[call])


class Desk:
    """An agent whose middlewares a test puts in order around `rescue`."""

    def __init__(self, order, model=None, **settings) -> None:
        self.records, self.writer = [], FactKeeper()
        self.model = model or SimulatedChatModel()
        self.rescue = RequestOnlySummarizationMiddleware(
            self.writer, on_call=self.records.append, **(SIZES | settings)
        )
        middleware = [m if m is not RESCUE else self.rescue for m in order]
        self.agent = create_agent(
            self.model, [look_up], middleware=middleware, checkpointer=InMemorySaver()
        )

    def ask(self, text: str) -> AIMessage:
        thread = {"configurable": {"thread_id": "t"}}
        return self.agent.invoke({"messages": [HumanMessage(text)]}, thread)[
            "messages"
        ][-1]

    def talk(self, turns: int) -> None:
        for turn in range(turns):
            self.ask(words(60, f"q{turn}"))

    @property
    def actions(self) -> list[str]:
        return [record.action for record in self.records]


RESCUE = object()


def test_x15_pii_is_gone_before_a_summary_model_reads_it():
    desk = Desk([PIIMiddleware("email"), RESCUE])
    for turn in range(5):
        desk.ask(f"I am mara{turn}@example.com. {words(80)}")

    assert "compact" in desk.actions
    seen = [*desk.model.requests, *desk.writer.requests]
    assert not any("@example.com" in m.text for request in seen for m in request)
    assert any("[REDACTED_EMAIL]" in m.text for m in desk.writer.requests[0])


def small(name: str, **settings) -> SimulatedChatModel:
    return SimulatedChatModel(model_name=name, context_window=700, **settings)


def test_x15_fallback_outside_an_overflow_is_recovered_on_the_first_model():
    first, second = small("first"), small("second")
    desk = Desk([ModelFallbackMiddleware(second), RESCUE], first, trigger=None)
    desk.talk(6)

    assert "recover" in desk.actions
    assert second.requests == []


def test_x15_fallback_outside_another_model_has_a_limit_of_its_own():
    down = SimulatedChatModel(
        model_name="first", failures=lambda index, messages: ConnectionError("down")
    )
    second = small("second")
    desk = Desk([ModelFallbackMiddleware(second), RESCUE], down, trigger=None)
    desk.talk(6)

    assert set(desk.rescue.policy.learned_limits) == {"second"}


def test_x15_fallback_inside_takes_the_overflow_away_from_the_middleware():
    first, second = small("first"), SimulatedChatModel(model_name="second")
    desk = Desk([RESCUE, ModelFallbackMiddleware(second)], first, trigger=None)
    desk.talk(6)

    assert "recover" not in desk.actions
    assert second.requests, "the second model got what was too long for the first"


def rate_limited_once() -> SimulatedChatModel:
    return SimulatedChatModel(failures={2: ModelRateLimitError("slow down")})


def test_x15_retry_inside_is_one_call_of_the_chain():
    quick = {"initial_delay": 0.0, "jitter": False, "on_failure": "error"}
    desk = Desk([RESCUE, ModelRetryMiddleware(**quick)], rate_limited_once())
    desk.talk(4)

    assert len(desk.model.requests) == 5
    assert len(desk.records) == 4


@pytest.mark.parametrize("on_failure", ["error", "continue"])
def test_x15_retry_inside_does_not_repeat_an_overflow(on_failure):
    quick = {"initial_delay": 0.0, "jitter": False, "on_failure": on_failure}
    desk = Desk([RESCUE, ModelRetryMiddleware(**quick)], small("m"), trigger=None)
    desk.talk(6)

    recovered = desk.actions.count("recover")
    assert recovered >= 1
    assert len(desk.model.requests) == 6 + recovered


def test_x15_retry_outside_writes_no_summary_twice():
    quick = {"initial_delay": 0.0, "jitter": False, "on_failure": "error"}
    flaky = SimulatedChatModel(
        failures=lambda index, messages: (
            ModelRateLimitError("slow down") if index % 2 == 0 else None
        )
    )
    desk = Desk([ModelRetryMiddleware(**quick), RESCUE], flaky)
    desk.talk(5)

    plain = Desk([RESCUE])
    plain.talk(5)
    assert len(desk.writer.requests) == len(plain.writer.requests) >= 1


class MarksTheLast(AgentMiddleware):
    """Stands for prompt caching: marks what it is given as far as the cache may go."""

    def __init__(self) -> None:
        self.marked: list[list[str]] = []

    def wrap_model_call(self, request, handler):
        self.marked.append([message.text for message in request.messages])
        return handler(request.override(model_settings={"cache_control": "ephemeral"}))


def test_x15_prompt_caching_inside_marks_prefixes_that_only_grow():
    caching = MarksTheLast()
    desk = Desk([RESCUE, caching])
    desk.talk(6)

    pairs = zip(caching.marked, caching.marked[1:], desk.actions[1:], strict=False)
    grown = [
        now[: len(before)] == before for before, now, did in pairs if did != "compact"
    ]
    assert "compact" in desk.actions
    assert grown and all(grown)


ROOMY = {"trigger": ("tokens", 4_000), "keep": ("tokens", 2_500)}


def edited(order_of) -> Desk:
    edit = ClearToolUsesEdit(trigger=300, keep=1)
    editing = ContextEditingMiddleware(edits=[edit])
    desk = Desk(order_of(editing), SimulatedChatModel(replies=with_tool), **ROOMY)
    desk.talk(14)
    return desk


def test_x15_context_editing_inside_leaves_the_remembered_views_alone():
    plain = Desk([RESCUE], SimulatedChatModel(replies=with_tool), **ROOMY)
    plain.talk(14)
    inside = edited(lambda editing: [RESCUE, editing])

    assert len(inside.writer.requests) == len(plain.writer.requests) >= 1
    assert any(m.text == "[cleared]" for r in inside.model.requests for m in r)
    assert not any("[cleared]" in m.text for m in inside.writer.requests[-1])


def test_x15_context_editing_outside_hides_results_from_the_summary():
    outside = edited(lambda editing: [editing, RESCUE])
    assert any("[cleared]" in m.text for r in outside.writer.requests for m in r)
