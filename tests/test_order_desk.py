"""The order desk of row H1, on every step of the ladder and on a real endpoint."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage

from ctxlab.calibration import (
    CappedRatioCalibration,
    LinearCalibration,
    RatioCalibration,
)
from ctxlab.lab import SimulatedChatModel, order_desk
from ctxlab.lab.order_desk import OrderDesk, build, simulated_clerk, simulated_writer
from ctxlab.middleware import (
    HandoffSummarizationMiddleware,
    NaiveSummarizationMiddleware,
    RequestOnlySummarizationMiddleware,
    builtin_summarization,
)
from ctxlab.summaries import is_summary

SHORT = {"trigger": ("messages", 8), "keep": ("messages", 2)}
WITHOUT_MEMORY = {**SHORT, "remember": False}
STEPS = {
    "nothing": lambda writer: [],
    "naive": lambda writer: [NaiveSummarizationMiddleware(writer, **SHORT)],
    "builtin": lambda writer: [builtin_summarization(writer, **SHORT)],
    "handoff": lambda writer: [HandoffSummarizationMiddleware(writer, **SHORT)],
    **{
        name: lambda writer, calibration=calibration: [
            RequestOnlySummarizationMiddleware(
                writer, calibration=calibration(), **WITHOUT_MEMORY
            )
        ]
        for name, calibration in {
            "ratio": RatioCalibration,
            "first aid": CappedRatioCalibration,
            "line": LinearCalibration,
        }.items()
    },
    "reference": lambda writer: [RequestOnlySummarizationMiddleware(writer, **SHORT)],
}
EIGHT_QUESTIONS = [
    "Where is order A123?",
    "And when does that one arrive?",
    *(f"Where is order B{number}?" for number in range(201, 206)),
    "Where was order A123 again?",
]


@pytest.fixture(autouse=True)
def no_models_in_the_environment(monkeypatch):
    for name in ("MAIN_MODEL", "SUMMARY_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("step", STEPS)
def test_h1_the_second_turn_is_answered_from_memory_on_every_step(step):
    desk = build(STEPS[step](order_desk.summary_model()))
    first, second = (desk.ask(question) for question in EIGHT_QUESTIONS[:2])

    assert "Friday" in first
    assert second == f"As looked up before: {first}"
    assert desk.lookups == ["A123"], "looked up once, remembered once"


@pytest.mark.parametrize("step", STEPS)
def test_h1_eight_turns_are_answered_with_one_lookup_an_order(step):
    writer = simulated_writer()
    desk = build(STEPS[step](writer))
    answers = [desk.ask(question) for question in EIGHT_QUESTIONS]

    assert answers[-1] == answers[1], "the first order is still known"
    assert desk.lookups == ["A123", *(f"B{number}" for number in range(201, 206))]
    assert bool(writer.requests) == (step != "nothing"), "and it was summarised"


def test_h1_the_default_step_is_langchains_class_set_as_the_row_says(monkeypatch):
    made = []

    def spy(model, **settings):
        made.append(builtin_summarization(model, **settings))
        return made[-1]

    monkeypatch.setattr(order_desk, "builtin_summarization", spy)
    build()

    assert isinstance(made[0], SummarizationMiddleware)
    assert made[0].trigger == [("tokens", 18_000), ("messages", 60)]
    assert made[0].keep == ("messages", 8)
    assert made[0].trim_tokens_to_summarize == 20_000


def test_h1_a_long_talk_is_summarised_and_the_order_still_known():
    clerk, writer = simulated_clerk(), simulated_writer()
    desk = OrderDesk(clerk, writer)
    desk.ask("Where is order A123?")
    for number in range(40):
        desk.ask(f"Where is order B{100 + number}?")

    assert len(writer.requests) >= 1
    assert max(len(request) for request in clerk.requests) <= 62
    assert desk.ask("Where was A123 again?").endswith(
        "A123 has left the warehouse and arrives on Friday."
    )
    assert len(desk.lookups) == 41


def test_h1_the_clerk_knows_only_what_it_is_sent():
    asked = simulated_clerk().invoke([HumanMessage("And when does that one arrive?")])

    assert asked.text == "Which order do you mean?"


# -- row H10: what step 3 repairs, and what it leaves to step 4 -----------


class Handoff:
    """Eight turns on the order desk, on step 3."""

    def __init__(self) -> None:
        self.writer = simulated_writer()
        self.desk = build(STEPS["handoff"](self.writer))

    async def aask_all(self) -> None:
        for question in EIGHT_QUESTIONS:
            await self.desk.aask(question)


def test_h10_after_eight_turns_most_messages_are_gone_from_the_checkpoint():
    whole, handoff = build([]), Handoff()
    for question in EIGHT_QUESTIONS:
        whole.ask(question)
        handoff.desk.ask(question)
    said, left = len(whole.state["messages"]), len(handoff.desk.state["messages"])

    assert (said, left) == (28, 3)
    assert not any(map(is_summary, handoff.desk.state["messages"]))
    assert "A123" in handoff.desk.state["summary_text"]
    assert not any("A123" in m.text for m in handoff.desk.state["messages"][:-2])


async def test_h10_ainvoke_works_and_ends_in_the_same_state():
    way, other = Handoff(), Handoff()
    await way.aask_all()
    for question in EIGHT_QUESTIONS:
        await asyncio.to_thread(other.desk.ask, question)

    assert way.desk.state["summary_text"] == other.desk.state["summary_text"]
    assert texts(way.desk.state["messages"]) == texts(other.desk.state["messages"])


def texts(messages):
    return [(message.type, message.text) for message in messages]


def streamed(desk: OrderDesk) -> str:
    """Return all that a user sees of eight turns in `stream_mode="messages"`."""
    seen = []
    for question in EIGHT_QUESTIONS:
        given = {"messages": [HumanMessage(question)]}
        for chunk, _ in desk.agent.stream(given, desk.thread, stream_mode="messages"):
            seen.append(chunk.text)
    return "".join(seen)


def test_h10_no_token_of_a_summary_reaches_the_stream():
    assert "NEXT STEPS" in streamed(build(STEPS["naive"](simulated_writer())))
    handoff = Handoff()
    seen = streamed(handoff.desk)

    assert handoff.writer.requests
    assert "NEXT STEPS" not in seen
    assert "As looked up before" in seen


async def test_h10_no_token_of_a_summary_reaches_the_async_stream():
    handoff, seen = Handoff(), []
    for question in EIGHT_QUESTIONS:
        given = {"messages": [HumanMessage(question)]}
        stream = handoff.desk.agent.astream(
            given, handoff.desk.thread, stream_mode="messages"
        )
        seen += [chunk.text async for chunk, _ in stream]

    assert handoff.writer.requests
    assert "NEXT STEPS" not in "".join(seen)


async def test_b83_events_of_the_summary_call_can_be_told_apart():
    handoff, sources = Handoff(), {}
    for question in EIGHT_QUESTIONS:
        given = {"messages": [HumanMessage(question)]}
        events = handoff.desk.agent.astream_events(given, handoff.desk.thread)
        async for event in events:
            if event["event"] == "on_chat_model_end":
                text = event["data"]["output"].text
                sources[text] = event["metadata"].get("lc_source")
    summaries = [text for text in sources if "NEXT STEPS" in text]

    assert summaries, "a trace sees the call"
    assert {sources[text] for text in summaries} == {"summarization"}
    assert all(sources[text] is None for text in set(sources) - set(summaries))


def test_h10_the_summary_is_private():
    handoff = Handoff()
    for question in EIGHT_QUESTIONS:
        given = {"messages": [HumanMessage(question)]}
        result = handoff.desk.agent.invoke(given, handoff.desk.thread)

    assert set(result) == {"messages"}
    assert "summary_text" in handoff.desk.state
    assert (
        "summary_text" not in handoff.desk.agent.get_output_jsonschema()["properties"]
    )
    assert not any(isinstance(m, RemoveMessage) for m in result["messages"])


# -- real models ---------------------------------------------------------


class Endpoint(BaseHTTPRequestHandler):
    """An OpenAI-compatible server: the simulated clerk behind HTTP."""

    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({**body, "key": self.headers["Authorization"]})
        message = reply_to(body["messages"])
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "1", "object": "chat.completion", "choices": [choice]}
        sent = json.dumps({**answer, "model": body["model"], "created": 0}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *args: Any) -> None:
        """Keep stderr clean."""


def reply_to(messages: list[dict[str, Any]]) -> dict[str, Any]:
    results = [m["content"] for m in messages if m["role"] == "tool"]
    if results:
        return {"role": "assistant", "content": f"From the log: {results[-1]}"}
    function = {"name": "lookup_order", "arguments": '{"order_id": "A123"}'}
    call = {"id": "c1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.fixture
def endpoint(monkeypatch) -> Iterator[type[Endpoint]]:
    handler = type("Fresh", (Endpoint,), {"asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    host, port = server.server_address[:2]
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://{host}:{port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    yield handler
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("name", ["small-model", "qwen2.5:7b", "openai:gpt-4o-mini"])
def test_h1_real_models_come_from_the_environment(endpoint, monkeypatch, name):
    monkeypatch.setenv("MAIN_MODEL", name)
    monkeypatch.setenv("SUMMARY_MODEL", name)
    desk = build()
    desk.ask("Where is order A123?")
    answer = desk.ask("And when does that one arrive?")

    assert answer.startswith("From the log: Order A123")
    assert {body["model"] for body in endpoint.asked} == {name.removeprefix("openai:")}
    assert endpoint.asked[0]["key"] == "Bearer not-a-real-key"
    assert endpoint.asked[0]["tools"][0]["function"]["name"] == "lookup_order"


def test_h1_without_names_the_models_are_simulated():
    assert isinstance(order_desk.main_model(), SimulatedChatModel)
    assert isinstance(order_desk.summary_model(), SimulatedChatModel)


@pytest.mark.parametrize("variable", ["MAIN_MODEL", "SUMMARY_MODEL"])
def test_h1_a_missing_key_is_one_clear_sentence(monkeypatch, variable):
    monkeypatch.setenv(variable, "gpt-4o-mini")
    with pytest.raises(RuntimeError) as caught:
        build()

    said = str(caught.value)
    assert said.startswith(
        f"{variable} is 'gpt-4o-mini', but the model cannot be set up"
    )
    assert "set its key (OPENAI_API_KEY), or unset" in said
    assert "\n" not in said


def test_h1_a_missing_package_is_one_clear_sentence(monkeypatch):
    def missing(name, **more):
        raise ImportError("no package langchain-openai")

    monkeypatch.setattr(order_desk, "init_chat_model", missing)
    monkeypatch.setenv("MAIN_MODEL", "gpt-4o-mini")
    with pytest.raises(
        RuntimeError, match=r"package is missing: install ctxlab\[lab\]"
    ):
        build()


def test_h1_an_unknown_name_is_openais(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    monkeypatch.setenv("MAIN_MODEL", "my-own-model")

    assert type(order_desk.main_model()).__name__ == "ChatOpenAI"
    assert order_desk.main_model().model_name == "my-own-model"


def test_h1_results_of_tools_are_in_the_conversation():
    desk = build()
    desk.ask("Where is order A123?")

    assert [type(m) for m in desk.state["messages"]].count(ToolMessage) == 1
