"""The simulated model: what it bills, caches, refuses, and what it must not know."""

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import ValidationError

from ctxlab import is_context_overflow, stated_limit
from ctxlab.lab import SimulatedChatModel
from ctxlab.lab.billing import bytes_over_three
from ctxlab.lab.vendor_errors import STYLES, VendorError, overflow_error


@tool
def lookup_order(order_id: str) -> str:
    """Say where an order is."""
    return f"Order {order_id} is on its way."


CALL = {"name": "lookup_order", "args": {"order_id": "订单-7"}, "id": "c1"}
WEIGHED = [  # a message and the UTF-8 bytes of it that are sent
    (HumanMessage("订单到哪了"), 15),
    (SystemMessage("Be brief."), 9),
    (HumanMessage([{"type": "text", "text": "one"}, "two"]), 6),
    (ToolMessage("gone", tool_call_id="c1", artifact={"big": "x" * 999}), 4),
    (AIMessage("", tool_calls=[CALL]), 12 + len('{"order_id": "订单-7"}'.encode())),
    (AIMessage("ok", additional_kwargs={"reasoning_content": "a long thought"}), 2),
    (AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s" * 99}]), 0),
]


@pytest.mark.parametrize(
    ("message", "size"), WEIGHED, ids=lambda value: repr(value)[:24]
)
def test_the_default_bill_is_bytes_over_three_plus_three_a_message(message, size):
    assert bytes_over_three([message]) == pytest.approx(size / 3 + 3)


def test_an_image_has_a_flat_price_and_its_base64_has_none():
    image = {"type": "image", "base64": "A" * 300_000, "mime_type": "image/png"}

    assert 1_000 < bytes_over_three([HumanMessage([image])]) < 1_010


def test_the_bill_is_overhead_plus_scale_times_the_true_count_with_tools():
    model = SimulatedChatModel(fixed_overhead=100, scale=2.0)
    chat = [SystemMessage("Be brief."), HumanMessage("Where is A7?")]

    plain = model.invoke(chat).usage_metadata["input_tokens"]
    with_tools = model.bind_tools([lookup_order]).invoke(chat)

    assert plain == math.ceil(100 + 2 * bytes_over_three(chat))
    schemas = model.log[-1].tools
    assert schemas[0]["function"]["name"] == "lookup_order"
    assert with_tools.usage_metadata["input_tokens"] == math.ceil(
        100 + 2 * bytes_over_three(chat, tools=schemas)
    )


def test_any_true_count_can_take_its_place():
    def words(messages, *, tools=None):
        return sum(len(message.text.split()) for message in messages)

    model = SimulatedChatModel(true_count=words, replies=["four words in all"])
    usage = model.invoke("one two three").usage_metadata

    assert (usage["input_tokens"], usage["output_tokens"]) == (3, 4)
    assert usage["total_tokens"] == 7


def test_reasoning_is_billed_as_output_and_said_apart():
    thinking = AIMessage("yes", additional_kwargs={"reasoning_content": "x" * 297})
    usage = SimulatedChatModel(replies=[thinking]).invoke("?").usage_metadata

    assert usage["output_token_details"]["reasoning"] == 102
    assert usage["output_tokens"] == 102 + 4


def test_cache_reads_are_the_prefix_an_earlier_request_had():
    model = SimulatedChatModel(fixed_overhead=50)
    first = [SystemMessage("Be brief."), HumanMessage("a" * 300)]
    second = [*first, AIMessage("Understood."), HumanMessage("b" * 30)]
    edited = [first[0], HumanMessage("c" * 300), *second[2:]]

    reads = [
        model.invoke(chat).usage_metadata["input_token_details"]["cache_read"]
        for chat in (first, second, second, edited)
    ]

    whole = model.log[1].input_tokens
    assert reads[0] == 0
    assert reads[1] == math.floor(50 + bytes_over_three(first))
    assert whole - 1 <= reads[2] <= whole
    assert reads[3] == math.floor(50 + bytes_over_three(first[:1]))


def test_other_tools_share_no_prefix_and_a_refused_request_leaves_none():
    model = SimulatedChatModel(failures={0: RuntimeError("503")})
    with pytest.raises(RuntimeError):
        model.invoke("hello")
    model.invoke("hello")
    model.bind_tools([lookup_order]).invoke("hello")

    assert [exchange.cached_tokens for exchange in model.log] == [0, 0, 0]


def test_usage_can_be_missing_as_it_is_behind_many_endpoints():
    answer = SimulatedChatModel(usage=False).invoke("hello")

    assert answer.usage_metadata is None
    assert answer.response_metadata["model_provider"] == "simulated"


def test_metadata_name_the_provider_that_tracing_sees():
    model = SimulatedChatModel(replies=["Hi."])
    answer = model.invoke("hello")

    provider = model._get_ls_params()["ls_provider"]
    assert answer.response_metadata == {
        "finish_reason": "stop",
        "model_name": "simulated-1",
        "model_provider": provider,
    }


def test_the_window_counts_input_only():
    model = SimulatedChatModel(context_window=10, replies=["long " * 200])

    assert model.invoke("tiny").usage_metadata["output_tokens"] > 10
    with pytest.raises(ContextOverflowError):
        model.invoke("word " * 20)
    assert [bool(exchange.error) for exchange in model.log] == [False, True]


def test_max_tokens_cuts_a_reply_off_and_says_so():
    answer = SimulatedChatModel(max_tokens=20, replies=["word " * 100]).invoke("go")

    assert answer.response_metadata["finish_reason"] == "length"
    assert 10 < answer.usage_metadata["output_tokens"] <= 20


def test_a_profile_states_the_window_only_when_asked():
    assert not SimulatedChatModel(context_window=500).profile
    stated = SimulatedChatModel(context_window=500, with_profile=True)
    assert stated.profile["max_input_tokens"] == 500


# -- replies ---------------------------------------------------------


def test_a_script_is_followed_and_its_end_is_an_error_that_says_so():
    script = ["one", AIMessage("", tool_calls=[CALL])]
    model = SimulatedChatModel(replies=script)

    assert model.invoke("a").text == "one"
    assert model.invoke("b").tool_calls[0]["name"] == "lookup_order"
    with pytest.raises(IndexError, match="replies holds 2 and all are given"):
        model.invoke("c")


def test_an_overflow_does_not_use_up_a_reply():
    model = SimulatedChatModel(context_window=20, replies=["the only reply"])
    with pytest.raises(ContextOverflowError):
        model.invoke("word " * 50)

    assert model.invoke("short").text == "the only reply"


def test_a_rule_sees_the_messages_and_an_agent_runs_its_calls():
    def rule(messages):
        if isinstance(messages[-1], ToolMessage):
            return f"Found: {messages[-1].text}"
        return AIMessage("", tool_calls=[CALL])

    model = SimulatedChatModel(replies=rule)
    state = create_agent(model, [lookup_order]).invoke({"messages": "Where is it?"})

    assert state["messages"][-1].text == "Found: Order 订单-7 is on its way."
    assert [len(request) for request in model.requests] == [1, 3]
    assert model.log[0].messages[0].text == "Where is it?"


def test_a_scripted_reply_is_not_changed_by_being_given():
    reply = AIMessage("kept", id="r-1")
    given = SimulatedChatModel(replies=[reply]).invoke("x")

    assert (given.text, given.id) == ("kept", "r-1")
    assert (reply.usage_metadata, reply.response_metadata) == (None, {})


def test_failures_come_at_their_index_or_by_a_rule():
    by_index = SimulatedChatModel(failures={1: TimeoutError("late")})
    by_rule = SimulatedChatModel(
        failures=lambda index, messages: OSError("long") if len(messages) > 1 else None
    )

    assert by_index.invoke("a").text == "Understood."
    with pytest.raises(TimeoutError, match="late"):
        by_index.invoke("b")
    assert by_index.invoke("c").text == "Understood."
    with pytest.raises(OSError, match="long"):
        by_rule.invoke([HumanMessage("a"), HumanMessage("b")])


def test_reset_and_fresh_forget_everything_else_stays():
    model = SimulatedChatModel(context_window=90, replies=["one"], error_style="qwen")
    model.invoke("a")
    copy = model.fresh(replies=["two"])
    model.reset()

    assert model.requests == []
    assert model.invoke("a").text == "one"
    assert (copy.invoke("a").text, copy.context_window, copy.error_style) == (
        "two",
        90,
        "qwen",
    )
    assert copy.log[0].cached_tokens == 0


# -- sync, async, streams --------------------------------------------


async def test_all_four_ways_give_the_same_message():
    reply = AIMessage("A reply of more than one piece. " * 3, tool_calls=[CALL], id="r")
    model = SimulatedChatModel(replies=lambda messages: reply)

    whole = model.invoke("go")
    awaited = await model.ainvoke("go")
    pieces = list(model.stream("go"))
    apieces = [piece async for piece in model.astream("go")]

    assert awaited.text == whole.text
    assert len(pieces) > 3
    for stream in (pieces, apieces):
        merged = sum(stream[1:], stream[0])
        assert isinstance(merged, AIMessageChunk)
        assert merged.text == whole.text
        assert merged.tool_calls == whole.tool_calls
        assert merged.id == "r"
        assert merged.response_metadata == whole.response_metadata
        assert (
            merged.usage_metadata["input_tokens"]
            == (whole.usage_metadata["input_tokens"])
        )


def test_fifty_conversations_at_once_keep_apart():
    def rule(messages):
        return f"answer to {messages[0].text}, turn {len(messages)}"

    model = SimulatedChatModel(replies=rule)

    def talk(number):
        chat = [HumanMessage(f"conversation {number} " + "x" * 100)]
        for _ in range(4):
            chat += [model.invoke(chat), HumanMessage("and then?")]
        return chat

    with ThreadPoolExecutor(16) as pool:
        chats = list(pool.map(talk, range(50)))

    for number, chat in enumerate(chats):
        answers = [m for m in chat if isinstance(m, AIMessage)]
        assert all(f"conversation {number} " in answer.text for answer in answers)
        # Other people's conversations share no first message, so no cache read.
        first, second = answers[0].usage_metadata, answers[1].usage_metadata
        assert first["input_token_details"]["cache_read"] == 0
        assert second["input_token_details"]["cache_read"] > 30
    assert len(model.log) == 200


async def test_fifty_tasks_at_once_are_all_answered():
    model = SimulatedChatModel(replies=lambda messages: messages[-1].text.upper())
    answers = await asyncio.gather(*(model.ainvoke(f"q{n}") for n in range(50)))

    assert [answer.text for answer in answers] == [f"Q{n}" for n in range(50)]


# -- errors ----------------------------------------------------------

NO_LIMIT_STATED = {"groq", "bedrock"}


@pytest.mark.parametrize("style", sorted(STYLES))
def test_x6_an_overflow_is_worded_like_the_vendor(style):
    model = SimulatedChatModel(context_window=12_345, error_style=style)
    with pytest.raises(VendorError) as caught:
        model.invoke("word " * 12_000)

    error = caught.value
    assert error.status_code == 400
    assert ("12345" in str(error)) == (style not in NO_LIMIT_STATED)
    assert error.message in str(error)
    assert error.body["message"] == error.message


def test_b61_langchain_recognises_only_some_of_them():
    recognised = {
        style
        for style in STYLES
        if isinstance(overflow_error(style, 9, 8), ContextOverflowError)
    }

    assert recognised == {"anthropic", "google", "groq", "openai"}


def test_llamacpp_states_its_sizes_as_numbers():
    error = overflow_error("llamacpp", asked=5_000, limit=4_096)

    assert error.type == "exceed_context_size_error"
    assert (error.body["n_prompt_tokens"], error.body["n_ctx"]) == (5_000, 4_096)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"context_window": 4_000, "fixed_overhead": 4_000}, "leaves no room"),
        ({"error_style": "opnai"}, "is none of: anthropic"),
        ({"scale": 0}, "greater than 0"),
    ],
)
def test_bad_settings_fail_at_construction(settings, says):
    with pytest.raises(ValidationError, match=says):
        SimulatedChatModel(**settings)


def test_an_unknown_style_names_the_known_ones():
    with pytest.raises(ValueError, match="expected one of: anthropic, bedrock"):
        overflow_error("acme", 2, 1)


@pytest.mark.parametrize("style", sorted(STYLES))
def test_x6_ctxlab_recognises_every_style_and_reads_the_limit(style):
    error = overflow_error(style, asked=23_456, limit=12_345)

    assert is_context_overflow(error)
    assert stated_limit(error) == (None if style in NO_LIMIT_STATED else 12_345)
