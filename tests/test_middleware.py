"""The reference middleware as people put it into their agents."""

from inspect import getdoc, signature
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRequest,
    PIIMiddleware,
    ToolCallLimitMiddleware,
    dynamic_prompt,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from ctxlab.calibration import RatioCalibration
from ctxlab.chain import Rules
from ctxlab.lab import FactKeeper, SimulatedChatModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import SummaryWriter, is_summary
from tests.agents import Agent, Way, refusal, words
from tests.well_formed import problems

SMALL: dict[str, Any] = {
    "trigger": ("tokens", 2_000),
    "keep": ("tokens", 900),
    "overhead_tokens": 0,
}
both_ways = pytest.mark.parametrize("way", ["sync", "async"])


class Order(BaseModel):
    """The state of an order."""

    number: str = Field(description="Number of the order, such as A-17")
    shipped: bool


def structured(messages: list[BaseMessage]) -> AIMessage:
    call = {"name": "Order", "args": {"number": "A1", "shipped": True}, "id": "o1"}
    return AIMessage("", tool_calls=[call])


# Structured answers


@both_ways
async def test_a_visible_answer_ends_cleanly_under_a_tool_strategy(way: Way) -> None:
    agent = Agent(
        way,
        replies=structured,
        response_format=ToolStrategy(Order),
        max_input_tokens=1_500,
        **SMALL,
    )
    answer = await agent.ask(words(2_000))
    assert refusal(answer) == "user_message_too_large"
    assert agent.model.requests == []
    state = agent.graph.get_state(agent.thread)
    assert state.values.get("structured_response") is None
    assert state.next == ()


@both_ways
async def test_a_second_overflow_ends_cleanly_under_a_tool_strategy(way: Way) -> None:
    always = SimulatedChatModel(failures=lambda _, __: ContextOverflowError("too long"))
    agent = Agent(way, model=always, response_format=ToolStrategy(Order))
    history = [HumanMessage(words(80)), AIMessage(words(80)), HumanMessage("And now?")]
    assert refusal(await agent.ask(*history)) == "provider_overflow"
    assert len(always.requests) == 2


async def test_a_structured_answer_comes_through_a_compaction() -> None:
    agent = Agent(replies=structured, response_format=ToolStrategy(Order), **SMALL)
    told = [HumanMessage(f"{n}: {words(80)}") for n in range(10)]
    result = agent.graph.invoke({"messages": told}, agent.thread)
    assert result["structured_response"] == Order(number="A1", shipped=True)
    assert agent.actions == ["compact"]


@pytest.mark.parametrize(
    "response_format", [ToolStrategy(Order), ProviderStrategy(Order), Order]
)
def test_the_schema_of_a_structured_answer_is_counted(response_format: Any) -> None:
    fixed_parts = RequestOnlySummarizationMiddleware(FactKeeper()).policy.fixed_parts
    model = SimulatedChatModel()
    bare = ModelRequest(model=model, messages=[])
    asked = ModelRequest(model=model, messages=[], response_format=response_format)
    assert fixed_parts.of(bare).tokens == 0
    assert fixed_parts.of(asked).tools > 50
    assert fixed_parts.of(asked).fingerprint != fixed_parts.of(bare).fingerprint


# Any summariser


async def test_x14_any_summariser_will_do() -> None:
    async def later(messages: Any) -> str:
        return "S."

    for writer in (
        lambda messages: "S.",
        RunnableLambda(lambda messages: "S."),
        SimulatedChatModel(replies=lambda messages: "S."),
        SummaryWriter(lambda messages: "S."),
    ):
        agent = Agent(writer=writer, **SMALL)
        await agent.ask(*[f"{n}: {words(80)}" for n in range(10)])
        assert is_summary(agent.model.requests[0][1])
    asynchronous = Agent("async", writer=later, **SMALL)
    await asynchronous.ask(*[f"{n}: {words(80)}" for n in range(10)])
    assert is_summary(asynchronous.model.requests[0][1])


def test_a_writer_and_its_parts_are_not_both_given() -> None:
    writer = SummaryWriter(lambda messages: "S.")
    with pytest.raises(ValueError, match="not to the middleware"):
        RequestOnlySummarizationMiddleware(writer, redact=str.upper)


# Steps of the ladder


async def test_x1_without_remembering_every_call_pays_for_a_summary() -> None:
    agent = Agent(
        remember=False,
        calibration=RatioCalibration(),
        trigger=("tokens", 2_000),
        keep=("messages", 4),
        overhead_tokens=0,
    )
    for turn in range(14):
        await agent.ask(f"{turn}: {words(80)}")
    over = [record for record in agent.records if record.before_tokens >= 2_000]
    assert len(agent.writer.requests) == len(over) > 3


# Among other middlewares (row X15)


def run_with(middlewares: list[Any], told: list[Any], tools: Any = ()) -> Any:
    model = SimulatedChatModel()
    graph: Any = create_agent(
        model,
        list(tools),
        system_prompt="BASE",
        middleware=middlewares,
        checkpointer=InMemorySaver(),
    )
    graph.invoke({"messages": told}, {"configurable": {"thread_id": "t"}})
    return model


LONG = [HumanMessage(f"{n}: {words(80)}") for n in range(10)]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("on_cal", r": did you mean 'on_call'\?"),
        ("triger", r": did you mean 'trigger'\?"),
        ("summarisation_prompt", r": did you mean 'summary_prompt'\?"),
        ("messages_to_keep", r": did you mean 'keep'\?"),
        ("settings", r"."),
        ("rule", r"."),
        ("writer", r"."),
        ("temperature", r"."),
    ],
)
def test_an_unknown_argument_is_named_with_the_nearest(name: str, hint: str) -> None:
    sentence = (
        f"^RequestOnlySummarizationMiddleware has no argument '{name}'{hint} "
        "Its docstring lists them, and ctxlab.chain.Rules its rules$"
    )
    with pytest.raises(TypeError, match=sentence):
        RequestOnlySummarizationMiddleware(words, **{name: None})


def test_an_unknown_argument_beside_settings_is_named_too() -> None:
    with pytest.raises(TypeError, match="no argument 'redakt': did you mean 'redact'"):
        RequestOnlySummarizationMiddleware.from_settings(words, redakt=str)


def test_the_lists_of_arguments_that_the_sentence_names_are_complete() -> None:
    listed = getdoc(RequestOnlySummarizationMiddleware) or ""
    rules = getdoc(Rules) or ""
    parameters = signature(RequestOnlySummarizationMiddleware).parameters
    assert all(f"\n    {name}: " in listed for name in parameters if name != "rules")
    assert all(f"\n    {name}: " in rules for name in Rules.__annotations__)


def test_b14_b34_what_outer_middlewares_add_is_counted_and_kept() -> None:
    @dynamic_prompt
    def longer(request: Any) -> str:
        return "BASE " + words(300, "rule")

    records: list[Any] = []
    ours = RequestOnlySummarizationMiddleware(
        FactKeeper(), on_call=records.append, **SMALL
    )
    model = run_with([longer, ours], LONG)
    assert records[0].parts["system"] > 600
    assert model.requests[0][0].text == "BASE " + words(300, "rule")
    assert isinstance(model.requests[0][0], SystemMessage)


def test_x15_a_fallback_inside_meets_the_overflow_first() -> None:
    """Outside the fallback, we see an overflow only when every model has failed."""
    small = SimulatedChatModel(context_window=1_200)
    large = SimulatedChatModel()
    ours = RequestOnlySummarizationMiddleware(FactKeeper())
    graph: Any = create_agent(
        small, [], middleware=[ours, ModelFallbackMiddleware(large)]
    )
    result = graph.invoke({"messages": LONG})
    assert result["messages"][-1].text == "Understood."
    assert len(small.requests) == len(large.requests) == 1


def test_x15_a_fallback_outside_lets_us_recover_first() -> None:
    small = SimulatedChatModel(context_window=1_500)
    large = SimulatedChatModel()
    ours = RequestOnlySummarizationMiddleware(FactKeeper(), keep=("tokens", 900))
    graph: Any = create_agent(
        small, [], middleware=[ModelFallbackMiddleware(large), ours]
    )
    graph.invoke({"messages": LONG})
    assert len(small.requests) == 2
    assert large.requests == []


class Redactor(AgentMiddleware):
    """Hide an address from the model, in the request only."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        hidden = [
            message.model_copy(
                update={"content": message.text.replace("a@b.example", "[mail]")}
            )
            for message in request.messages
        ]
        return handler(request.override(messages=hidden))


@pytest.mark.parametrize("outside", [True, False])
def test_b87_a_redactor_outside_or_redact_keeps_an_address_in(outside: bool) -> None:
    writer = FactKeeper()
    ours = RequestOnlySummarizationMiddleware(
        writer,
        redact=None if outside else lambda text: text.replace("a@b.example", "[mail]"),
        **SMALL,
    )
    order = [Redactor(), ours] if outside else [ours, Redactor()]
    told = [HumanMessage("write to a@b.example"), AIMessage("ok"), *LONG]
    model = run_with(order, told)
    (prompt,) = writer.requests
    texts = "".join(message.text for message in [*prompt, *model.requests[0]])
    assert "[mail]" in texts
    assert "a@b.example" not in texts


def test_x15_pii_and_limits_work_beside_it() -> None:
    writer = FactKeeper()
    ours = RequestOnlySummarizationMiddleware(writer, **SMALL)
    others = [PIIMiddleware("email"), ToolCallLimitMiddleware(run_limit=5)]
    told = [HumanMessage("write to someone@example.com"), *LONG]
    run_with([*others, ours], told)
    assert len(writer.requests) == 1


# Learned limits and pressure


async def test_x5_a_stated_limit_is_learned_and_not_met_again() -> None:
    agent = Agent(window=2_500, keep=("tokens", 1_000))
    for turn in range(30):
        assert refusal(await agent.ask(f"Turn {turn}: {words(80)}")) is None
    assert agent.actions.count("recover") == 1
    assert agent.middleware.policy.learned_limits == {"simulated-1": 2_500}


async def test_an_answer_cut_off_by_a_full_window_counts_as_pressure() -> None:
    def cut_off(messages: list[BaseMessage]) -> AIMessage:
        over = len(messages) > 8
        metadata = {"finish_reason": "length"} if over else {}
        return AIMessage(words(10), response_metadata=metadata)

    agent = Agent(replies=cut_off, max_input_tokens=700, keep=("tokens", 300))
    for turn in range(12):
        await agent.ask(f"Turn {turn}: {words(12)}")
    assert "compact" in agent.actions


# Provider's view of a tool loop


async def test_a_long_tool_loop_keeps_its_task_and_its_pairs() -> None:
    @tool
    def look(n: int) -> str:
        """Look at page n."""
        return f"page {n} {words(120, 'line')}"

    pages = iter(range(24))

    def rule(messages: list[BaseMessage]) -> AIMessage:
        page = next(pages, None)
        if page is None:
            return AIMessage("done")
        call = {"name": "look", "args": {"n": page}, "id": f"c{page}"}
        return AIMessage("", tool_calls=[call])

    agent = Agent(replies=rule, tools=[look], **SMALL)
    told = {"messages": [HumanMessage("TASK: read all 24 pages")]}
    config = {**agent.thread, "recursion_limit": 200}
    assert agent.graph.invoke(told, config)["messages"][-1].text == "done"
    for request in agent.model.requests:
        assert not problems(request)
        assert sum("TASK" in m.text and not is_summary(m) for m in request) == 1
    assert max(record.after_tokens for record in agent.records) < 2_600
