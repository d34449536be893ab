"""Faults that people met elsewhere, in budgets, usage, loops, summaries and cost.

Where it matters a real agent runs on a real checkpointer. The inputs and the right
values are those of the reports; estimates are 4 characters a token.
"""

import itertools
import json
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool

from ctxlab.lab import FactKeeper, FailingWriter, SimulatedChatModel
from ctxlab.lab.vendor_errors import VendorError
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import SummaryError, is_summary
from ctxlab.tokens import ApproximateCounter
from tests.agents import Agent, refusal, words
from tests.requests import Desk, refused

FOUR = ApproximateCounter()


def human(text: str) -> HumanMessage:
    return HumanMessage(text)


def billed(text: str, tokens: int | None, **more: Any) -> AIMessage:
    """Return an answer with a usage of so many input tokens, or without."""
    usage: Any = None
    if tokens is not None:
        usage = {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}
    return AIMessage(text, usage_metadata=usage, **more)


def answered(tokens: int, output: int = 0, **details: int) -> AIMessage:
    usage: Any = {
        "input_tokens": tokens,
        "output_tokens": output,
        "total_tokens": tokens + output,
        "input_token_details": details,
    }
    return AIMessage("a", usage_metadata=usage)


def desk(writer: Any = None, *, system: str = "", **settings: Any) -> Desk:
    given = {"counter": FOUR, "overhead_tokens": 0, **settings}
    middleware = RequestOnlySummarizationMiddleware(writer or (lambda _: "S."), **given)
    return Desk(middleware, system=system)


def tokens_of(messages: Sequence[BaseMessage], **settings: Any) -> int:
    """Return the estimate that decides, for a history."""
    one = desk(**settings)
    one.call(messages)
    return one.records[-1].before_tokens


class Rounds:
    """Call a tool so many times, then say "done"."""

    def __init__(self, rounds: int) -> None:
        self.rounds, self.calls = rounds, 0

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        self.calls += 1
        if self.calls > self.rounds:
            return AIMessage("done")
        call = {"name": "look", "args": {"n": self.calls}, "id": f"c{self.calls}"}
        return AIMessage("", tool_calls=[call])


@tool
def look(n: int) -> str:
    """Look at page n."""
    return f"page {n}: " + "text " * 20


# Provider usage misread


def test_b27_missing_usage_is_unknown_and_not_zero() -> None:
    system = "s" * 16_000
    history = [human("q"), billed("a", None), human("n")]
    assert tokens_of(history, system=system, trigger=("tokens", 1_000)) >= 4_000
    history = [human("q"), billed("a", 5_000), human("n"), billed("a", None)]
    assert tokens_of([*history, human("m")], trigger=("tokens", 1_000)) >= 5_000


@pytest.mark.parametrize("provider", ["other", None, "bedrock_converse"])
def test_b28_usage_counts_whatever_the_provider_is_called(provider: str | None) -> None:
    metadata = {"model_provider": provider} if provider else {}
    answer = billed("a", 5_000, response_metadata=metadata)
    assert tokens_of([human("q"), answer, human("n")]) >= 5_000


def test_b29_a_calibrated_count_follows_the_bill() -> None:
    text = "请把这份合同逐条核对一遍" * 120
    one = desk()
    one.bill = lambda messages: round(1.0 * sum(len(m.text) for m in messages))
    reply = one.call([human(text)])
    one.call([human(text), reply, human("继续")])
    assert one.records[-1].before_tokens >= 1_200


async def test_b29_usage_from_before_a_summary_is_not_used_after_it() -> None:
    agent = Agent(
        trigger=("tokens", 80_000),
        keep=("tokens", 2_000),
        overhead_tokens=0,
        counter=FOUR,
    )
    history = [human("x" * 40_000), billed("a", 90_000), human("n")]
    await agent.ask(*history)
    (record,) = agent.records
    assert record.action == "compact"
    assert record.before_tokens >= 90_000
    assert record.after_tokens < 200


def test_b30_all_results_behind_the_last_bill_are_added() -> None:
    calls = [{"name": "t", "args": {}, "id": call_id} for call_id in "abc"]
    history = [human("q"), billed("", 900, tool_calls=calls)]
    for call_id, size in (("a", 1_600), ("b", 1_600), ("c", 10)):
        history.append(ToolMessage("x" * size, tool_call_id=call_id))  # type: ignore[arg-type]
    size = tokens_of(history)
    assert size >= 900 + 802
    assert size < 900 + 802 + 120  # framing and the calls themselves


def test_b32_cache_figures_are_parts_of_the_input() -> None:
    usual = answered(10_000, 10, cache_read=9_000, cache_creation=500)
    assert 10_000 <= tokens_of([human("q"), usual, human("n")]) < 10_100
    apart = answered(500, 10, cache_read=9_000, cache_creation=500)
    assert 10_000 <= tokens_of([human("q"), apart, human("n")]) < 10_100


# Budget arithmetic


async def test_b34_system_and_tools_count_and_are_named_when_they_are_too_large(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = desk(system="s" * 16_000, trigger=("tokens", 1_000))
    with caplog.at_level(logging.WARNING, "ctxlab"):
        for _ in range(3):
            one.call([human("q")])
    assert one.records[0].before_tokens >= 4_000
    assert [record.summary_calls for record in one.records] == [0, 0, 0]
    (warning,) = caplog.records
    assert "4,0" in warning.message
    assert "1,000" in warning.message


@pytest.mark.parametrize(
    ("history_tokens", "compacts"), [(600, True), (300, False), (440, True)]
)
def test_b35_room_for_the_answer_is_set_aside(
    history_tokens: int, compacts: bool
) -> None:
    """A window of 1,000, 800 asked for: at most half of it is set aside."""
    model = SimulatedChatModel(
        context_window=1_000, max_tokens=800, with_profile=True, replies=["ok"]
    )
    one = desk(keep=("tokens", 200))
    one.model = model
    half = "x" * (2 * history_tokens)
    one.call([human(half), AIMessage(half), human("n")])
    assert (one.records[0].action == "compact") is compacts


def test_b38_a_fraction_without_a_window_says_which_setting_is_missing() -> None:
    with pytest.raises(ValueError, match="max_input_tokens"):
        desk(trigger=("fraction", 0.8)).call([human("q")])


def test_b38_a_fraction_works_with_a_given_window() -> None:
    one = desk(trigger=("fraction", 0.8), max_input_tokens=65_536)
    budget = one.middleware.policy.budget(one.request([human("q")]))
    assert budget.trigger_tokens == 52_428


def test_b39_an_unknown_window_has_a_stated_trigger_that_is_low_enough() -> None:
    budget = desk().middleware.policy.budget(desk().request([human("q")]))
    assert budget.limit is None
    assert budget.trigger_tokens == 49_152


def test_b40_a_window_that_was_given_wins_over_a_profile() -> None:
    one = desk(trigger=("fraction", 0.8), max_input_tokens=32_768)
    one.model.profile = {"max_input_tokens": 1_000_000}
    budget = one.middleware.policy.budget(one.request([human("q")]))
    assert budget.trigger_tokens == 26_214


async def test_b42_the_handler_sees_the_short_list_and_the_state_keeps_all() -> None:
    agent = Agent(trigger=("messages", 8), keep=("messages", 3))
    for turn in range(30):
        await agent.ask(f"turn {turn}")
    assert len(agent.state) == 60
    assert max(len(request) for request in agent.model.requests) <= 1 + 8


# Loops and compactions without progress


async def test_b43_a_fixed_part_over_the_trigger_costs_one_summary_and_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rounds = Rounds(6)
    model = SimulatedChatModel(
        true_count=lambda messages, *, tools=None: 5_010, replies=rounds
    )
    agent = Agent(
        model=model, tools=[look], trigger=("tokens", 4_000), keep=("messages", 2)
    )
    with caplog.at_level(logging.WARNING, "ctxlab"):
        answer = await agent.ask("go")
    assert answer.text == "done"
    assert rounds.calls == len(model.requests) == 7
    assert len(agent.writer.requests) <= 1
    assert len(caplog.records) == 1


async def test_b45_an_endless_overflow_ends_after_one_recovery() -> None:
    always = SimulatedChatModel(
        failures=lambda index, _: ContextOverflowError("too long")
    )
    agent = Agent(model=always)
    answer = await agent.ask(human(words(80)), AIMessage(words(80)), human("And now?"))
    assert refusal(answer) == "provider_overflow"
    assert len(always.requests) == 2
    assert len(agent.writer.requests) == 1
    assert answer.response_metadata["ctxlab"]["cause"]


async def test_b45_or_with_the_original_error() -> None:
    errors = [ContextOverflowError("first"), ContextOverflowError("second")]
    model = SimulatedChatModel(failures=dict(enumerate(errors)))
    agent = Agent(model=model, on_failure="raise")
    with pytest.raises(ContextOverflowError) as caught:
        await agent.ask(human(words(80)), AIMessage(words(80)), human("And now?"))
    assert caught.value in errors


@pytest.mark.parametrize("text", ["short", "a"])
async def test_b45_two_short_messages_cannot_be_made_smaller(text: str) -> None:
    always = SimulatedChatModel(
        failures=lambda index, _: ContextOverflowError("too long")
    )
    agent = Agent(model=always)
    answer = await agent.ask(text)
    assert refusal(answer) == "provider_overflow"
    assert len(always.requests) == 1
    assert len(agent.writer.requests) == 0


def test_b46_keeping_more_messages_than_there_are_still_compacts() -> None:
    prompts: list[Any] = []

    def writer(messages: Any) -> str:
        prompts.append(messages)
        return "S."

    one = desk(
        writer,
        trigger=("tokens", 100),
        keep=("messages", 20),
        summary_chunk_tokens=200_000,
        max_input_tokens=200_000,
    )
    sizes = "abcde"
    history = [human(letter * 100_000) for letter in sizes]
    one.call(history)
    (record,) = one.records
    assert record.action == "compact"
    assert len(prompts) == 1
    assert record.after_tokens < 60_000
    assert one.sent[0][-1] is history[-1]


def test_b47_one_huge_result_is_clipped_in_the_request_only() -> None:
    call = {"name": "read", "args": {}, "id": "a"}
    huge = ToolMessage("x" * 2_000_000, tool_call_id="a", name="read")
    history = [human("q"), AIMessage("", tool_calls=[call]), huge]
    prompts: list[Any] = []

    def writer(messages: Any) -> str:
        prompts.append(messages)
        return "S."

    one = desk(writer, max_input_tokens=32_000)
    assert refused(one.call(history)) is None
    (request,) = one.sent
    clipped = request[-1].text
    assert FOUR(request) < 32_000
    assert clipped.startswith("x") and clipped.endswith("x")
    assert "of 2,000,000 characters" in clipped
    assert len(huge.text) == 2_000_000
    assert len(prompts) <= 1


def test_b49_a_trigger_below_the_fixed_part_warns_and_does_not_repeat(
    caplog: pytest.LogCaptureFixture,
) -> None:
    schema = {"name": "f", "description": "d" * 1_600, "parameters": {}}
    one = desk(trigger=("tokens", 50), keep=("tokens", 20))
    one.tools = [schema]
    history = [human("q " * 40), AIMessage("a " * 40), human("n")]
    with caplog.at_level(logging.WARNING, "ctxlab"):
        reply = one.call(history)
        one.call([*history, reply, human("m")])
    assert [record.summary_calls for record in one.records][1] == 0
    (warning,) = caplog.records
    assert "50" in warning.message
    assert "raise the trigger" in warning.message


# The summary call fails or returns rubbish

B50 = [
    human("fact is 42"),
    AIMessage("ok"),
    human("b"),
    AIMessage("c"),
    human("d"),
]


def test_b50_an_error_text_never_becomes_a_summary() -> None:
    tries: list[Any] = []

    def writer(messages: Any) -> str:
        tries.append(messages)
        raise ValueError("boom")

    one = desk(writer, trigger=("messages", 3), keep=("messages", 1))
    reply = one.call(B50)
    one.call([*B50, reply, human("next turn")])
    assert len(one.sent[0]) == 5
    assert not any("boom" in message.text for sent in one.sent for message in sent)
    assert len(tries) == 2  # the next turn tries again
    assert [record.summary_calls for record in one.records] == [1, 1]


def test_b50_failures_raise_when_that_was_asked_for() -> None:
    one = desk(
        FailingWriter("raising"),
        trigger=("messages", 3),
        keep=("messages", 1),
        on_failure="raise",
    )
    with pytest.raises(SummaryError):
        one.call(B50)
    assert one.sent == []


def test_b51_a_long_tool_loop_is_summarised_by_the_model() -> None:
    history: list[BaseMessage] = [human("TASK")]
    for n in range(8):
        call = {"name": "look", "args": {"n": n}, "id": f"c{n}"}
        history.append(AIMessage("", tool_calls=[call]))
        history.append(ToolMessage(f"R{n} " + "x" * 8_000, tool_call_id=f"c{n}"))
    prompts: list[str] = []

    def writer(messages: Any) -> str:
        prompts.append("\n".join(message.text for message in messages))
        return "SUM."

    one = desk(writer, trigger=("tokens", 8_000), keep=("messages", 2))
    one.call(history)
    assert prompts and all(text.strip() for text in prompts)
    assert any("R0" in text for text in prompts)
    texts = [message.text for message in one.sent[0]]
    assert not any("too long to summarize" in text for text in texts)
    assert "TASK" in texts


@pytest.mark.parametrize("kind", ["blank", "tool_calls_only", "refusing"])
def test_b52_rubbish_is_a_failure_and_the_history_stays(kind: str) -> None:
    one = desk(FailingWriter(kind), trigger=("messages", 3), keep=("messages", 1))
    one.call(B50)
    assert all(a is b for a, b in zip(one.sent[0], B50, strict=True))
    assert one.records[0].action == "pass"


@pytest.mark.parametrize(
    "content",
    [
        "<think>x</think>SUM",
        [{"type": "reasoning", "reasoning": "x"}, {"type": "text", "text": "SUM"}],
    ],
)
def test_b52_b53_only_the_text_of_a_reply_is_the_summary(content: Any) -> None:
    model = SimulatedChatModel(replies=[AIMessage(content)])
    one = desk(model, trigger=("messages", 3), keep=("messages", 1))
    one.call(B50)
    note = one.sent[0][0]
    assert is_summary(note)
    assert "\nSUM\n" in note.text
    assert "think" not in note.text and "reasoning" not in note.text


def test_b55_each_summary_call_fits_the_window_of_its_model() -> None:
    sizes: list[int] = []

    def keep_sizes(messages: list[BaseMessage]) -> str:
        sizes.append(FOUR(messages))
        return "S."

    small = SimulatedChatModel(
        context_window=8_000,
        with_profile=True,
        replies=keep_sizes,
        true_count=lambda messages, *, tools=None: FOUR(messages),
    )
    one = desk(small, trigger=("tokens", 50_000), keep=("tokens", 10_000))
    lines = [f"line {n} " + "w" * 990 for n in range(240)]
    history = [human("\n".join(lines[at : at + 12])) for at in range(0, 240, 12)]
    one.call([*history, human("now?")])
    assert max(sizes) <= 8_000
    assert one.records[0].action == "compact"
    # 8,000 less instructions, answer and safety leave about 4,000 a chunk here.
    assert len(sizes) <= 60_000 // 3_500 + 2


def test_b56_no_old_message_is_left_out_of_the_summary_input() -> None:
    prompts: list[str] = []

    def writer(messages: Any) -> str:
        prompts.append("\n".join(message.text for message in messages))
        return "S."

    filler = [human(f"filler {n} " + "x" * 800) for n in range(60)]
    one = desk(
        writer, trigger=("tokens", 5_000), keep=("messages", 2), max_input_tokens=30_000
    )
    one.call([human("FACT: code is 7781"), *filler])
    assert sum("7781" in text for text in prompts) == 1
    for n in range(58):
        assert any(f"filler {n} " in text for text in prompts)


def test_b57_pictures_leave_a_marker_in_the_prompt_and_stay_in_kept_messages() -> None:
    prompts: list[str] = []

    def writer(messages: Any) -> str:
        prompts.append("\n".join(message.text for message in messages))
        return "S."

    picture = {"type": "image", "mime_type": "image/png", "base64": "iVBO" * 10_000}
    seen = HumanMessage([{"type": "text", "text": "look"}, picture])
    also = HumanMessage([{"type": "text", "text": "and this"}, picture])
    one = desk(writer, trigger=("messages", 3), keep=("messages", 1))
    one.call([seen, AIMessage("ok"), also])
    (prompt,) = prompts
    assert "image/png, 30 kB" in prompt
    assert "iVBOiVBO" not in prompt
    assert one.sent[0][-1] is also


def test_b59_braces_in_history_and_prompt_are_only_braces() -> None:
    text = '{"a": {b}} {messages} {0}'
    prompts: list[str] = []

    def writer(messages: Any) -> str:
        prompts.append("\n".join(message.text for message in messages))
        return "S."

    one = desk(
        writer,
        trigger=("messages", 3),
        keep=("messages", 1),
        summary_prompt='Return JSON like {"facts": []}\n{messages}',
    )
    one.call([human(text), AIMessage("ok"), human("n")])
    assert json.dumps(text)[1:-1] in prompts[0]
    with pytest.raises(ValueError, match="placeholder|payload"):
        desk(writer, summary_prompt="Summarise!")


def test_b60_a_broken_summary_model_is_named_once_and_the_main_model_steps_in(
    caplog: pytest.LogCaptureFixture,
) -> None:
    main = FactKeeper()
    one = desk(
        FailingWriter("raising"),
        fallback_models=[main],
        trigger=("messages", 3),
        keep=("messages", 1),
    )
    one.call(B50)
    assert len(main.requests) == 1
    assert any("401" in note for note in one.records[0].notes)


def test_b60_without_a_fallback_ten_turns_warn_once_with_the_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = desk(FailingWriter("raising"), trigger=("messages", 3), keep=("messages", 1))
    history: list[BaseMessage] = list(B50)
    with caplog.at_level(logging.WARNING, "ctxlab"):
        for turn in range(10):
            history = [*history, one.call(history), human(f"turn {turn}")]
    assert len(one.sent) == 10
    (warning,) = caplog.records
    assert "401" in warning.message


# Overflow not recognised, or badly recovered from

OVERFLOWS = {
    "vllm": "This model's maximum context length is 8192 tokens. You requested "
    "9000 tokens.",
    "llama.cpp": "the request exceeds the available context size (4096 tokens)",
    "qwen": "Range of input length should be [1, 30720]",
    "moonshot": "Invalid request: Your request exceeded model token limit: 8192",
    "gemini": "The input token count (1200000) exceeds the maximum number of tokens "
    "allowed (1048576).",
    "bedrock": "Input is too long for requested model.",
}
OTHERS = {
    "order": (400, "messages with role 'tool' must be a response to a preceding call"),
    "max_tokens": (400, "max_tokens is too large: 100000. Supports at most 4096"),
    "rate": (429, "Rate limit reached: 30000 tokens per min (TPM). Limit 30000"),
}
LONG = [m for n in range(8) for m in (human(words(60)), AIMessage(words(60)))]


@pytest.mark.parametrize("vendor", OVERFLOWS)
def test_b61_overflows_of_every_vendor_start_the_recovery(vendor: str) -> None:
    error = VendorError(OVERFLOWS[vendor], 400, {"message": OVERFLOWS[vendor]})
    one = desk(FactKeeper())
    one.failures = {1: error}
    assert one.call([*LONG, human("n")]).text == "ok"
    assert one.records[0].action == "recover"


@pytest.mark.parametrize("kind", OTHERS)
def test_b61_b64_other_errors_pass_unchanged(kind: str) -> None:
    status, text = OTHERS[kind]
    error = VendorError(text, status, {"message": text})
    writer = FactKeeper()
    one = desk(writer)
    one.failures = {1: error}
    with pytest.raises(VendorError) as caught:
        one.call([*LONG, human("n")])
    assert caught.value is error
    assert writer.requests == []
    assert len(one.sent) == 1


def test_b61_users_add_patterns() -> None:
    one = desk(FactKeeper(), overflow_patterns=["E77: budget spent"])
    one.failures = {1: VendorError("E77: budget spent", 400, {"message": "E77"})}
    assert one.call([*LONG, human("n")]).text == "ok"
    with pytest.raises(ValueError, match="regular expression"):
        desk(FactKeeper(), overflow_patterns=["("])


# Drift, growth, cost, prompt cache


def test_b65_summaries_do_not_grow_with_the_rounds() -> None:
    class Echo:
        def __call__(self, messages: Any) -> str:
            text = "\n".join(message.text for message in messages)
            return "S. " + text[: len(text) * 6 // 5][-4_000:]

    one = desk(Echo(), trigger=("tokens", 3_000), keep=("tokens", 1_200))
    history: list[BaseMessage] = []
    sizes = []
    for turn in range(40):
        history = [*history, human(f"turn {turn} " + "x" * 900)]
        history = [*history, one.call(history)]
        sizes += [FOUR([m]) for m in one.sent[-1] if is_summary(m)]
    budget = 1_200 // 4
    assert max(sizes, default=0) <= budget + 80  # the label around it


def request_log(agent: Agent) -> list[list[str]]:
    return [
        [f"{message.type}:{message.text}" for message in request]
        for request in agent.model.requests
    ]


async def test_b69_between_compactions_a_request_only_grows_at_its_end() -> None:
    rounds = Rounds(8)
    agent = Agent(
        model=SimulatedChatModel(replies=rounds),
        tools=[look],
        trigger=("messages", 6),
        keep=("messages", 4),
    )
    await agent.ask("go")
    requests = request_log(agent)
    changes = sum(
        later[: len(earlier)] != earlier
        for earlier, later in itertools.pairwise(requests)
    )
    assert len(requests) == 9
    assert changes <= len(agent.writer.requests) <= 3


async def test_b70_the_ledger_tells_main_and_summary_tokens_apart() -> None:
    agent = Agent(trigger=("tokens", 2_000), keep=("tokens", 900), overhead_tokens=0)
    for turn in range(12):
        await agent.ask(f"Turn {turn}: {words(80)}")
    told = sum(record.summary_input_tokens for record in agent.records)
    sent = sum(exchange.input_tokens for exchange in agent.writer.log)
    assert told == sent > 0
    assert sum(r.summary_calls for r in agent.records) == len(agent.writer.requests)


def test_b71_no_message_is_counted_twice() -> None:
    class Spy(ApproximateCounter):
        counted = 0

        def message(self, message: BaseMessage) -> float:
            self.counted += 1
            return super().message(message)

    spy = Spy()
    history = [human(f"message {n}") for n in range(200)]
    one = desk(counter=spy)
    one.call(history)
    assert spy.counted <= 201  # and the system message
    one.call([*history, human("new")])
    assert spy.counted <= 202


async def test_b76_the_state_keeps_every_message_and_the_request_stays_small() -> None:
    agent = Agent(trigger=("messages", 6), keep=("messages", 2))
    seen: list[list[str | None]] = []
    for turn in range(30):
        await agent.ask(human(f"turn {turn}"))
        seen.append([message.id for message in agent.state])
    assert len(agent.state) == 60
    assert max(len(request) - 1 for request in agent.model.requests) <= 6
    assert all(now[: len(old)] == old for old, now in itertools.pairwise(seen))


async def test_b78_five_calls_over_the_trigger_cost_one_summary() -> None:
    agent = Agent(trigger=("tokens", 2_000), keep=("tokens", 900), overhead_tokens=0)
    await agent.ask(*[human(words(80)) for _ in range(8)])
    for turn in range(4):
        await agent.ask(f"turn {turn}")
    notes = {
        message.text
        for request in agent.model.requests
        for message in request
        if is_summary(message)
    }
    assert len(agent.model.requests) == 5
    assert len(agent.writer.requests) == len(notes) == 1


async def test_b14_the_system_message_is_the_same_before_and_after() -> None:
    agent = Agent(trigger=("messages", 6), keep=("messages", 2))
    for turn in range(14):
        await agent.ask(f"turn {turn}")
    assert agent.actions.count("compact") >= 3
    systems = [request[0] for request in agent.model.requests]
    assert {type(message) for message in systems} == {SystemMessage}
    assert {message.text for message in systems} == {"You are an order desk."}
    for request in agent.model.requests:
        assert sum(isinstance(message, SystemMessage) for message in request) == 1


async def test_b37_what_is_only_assumed_never_refuses_a_small_window():
    for window in (1_024, 4_096):
        agent = Agent("sync", max_input_tokens=window)
        answers = [await agent.ask(f"question {n}: {words(8)}") for n in range(6)]
        assert not any(map(refusal, answers))
