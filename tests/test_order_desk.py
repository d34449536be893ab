"""The order desk of row H1."""

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import HumanMessage, ToolMessage

from ctxlab.lab import FactKeeper, SimulatedChatModel, order_desk
from ctxlab.lab.order_desk import OrderDesk, simulated_clerk


@pytest.fixture(autouse=True)
def no_models_in_the_environment(monkeypatch):
    monkeypatch.delenv("MAIN_MODEL", raising=False)
    monkeypatch.delenv("SUMMARY_MODEL", raising=False)


def test_h1_the_second_turn_is_answered_from_memory():
    desk = OrderDesk()
    first = desk.ask("Where is order A123?")
    second = desk.ask("And when does that one arrive?")

    assert "Friday" in first and "Friday" in second
    assert desk.lookups == ["A123"], "looked up once, remembered once"


def test_h1_the_clerk_knows_only_what_it_is_sent():
    clerk = simulated_clerk()

    asked = clerk.invoke([HumanMessage("And when does that one arrive?")])
    assert asked.text == "Which order do you mean?"


def test_h1_another_order_is_looked_up():
    desk = OrderDesk()
    desk.ask("Where is order A123?")
    desk.ask("And B456?")

    assert desk.lookups == ["A123", "B456"]


def test_h1_models_come_from_the_environment(monkeypatch):
    known = {"main": simulated_clerk(), "writer": FactKeeper()}
    monkeypatch.setattr(order_desk, "init_chat_model", known.__getitem__)
    monkeypatch.setenv("MAIN_MODEL", "main")
    monkeypatch.setenv("SUMMARY_MODEL", "writer")
    OrderDesk().ask("Where is order A123?")

    assert len(known["main"].requests) == 2


def test_h1_langchains_middleware_is_set_as_the_row_says(monkeypatch):
    given = {}

    class Spy(SummarizationMiddleware):
        def __init__(self, model, **settings):
            given.update(settings)
            super().__init__(model, **settings)

    monkeypatch.setattr(order_desk, "SummarizationMiddleware", Spy)
    OrderDesk()

    assert given == {
        "trigger": [("tokens", 18_000), ("messages", 60)],
        "keep": ("messages", 8),
        "trim_tokens_to_summarize": 20_000,
    }


def test_h1_a_long_talk_is_summarised_and_the_order_still_known():
    clerk, writer = simulated_clerk(), FactKeeper(["arrives on Friday"])
    desk = OrderDesk(clerk, writer)
    desk.ask("Where is order A123?")
    for number in range(40):
        desk.ask(f"Where is order B{100 + number}?")

    assert len(writer.requests) >= 1
    assert isinstance(clerk, SimulatedChatModel)
    assert max(len(request) for request in clerk.requests) <= 62
    assert any(isinstance(m, ToolMessage) for m in clerk.requests[-1])
