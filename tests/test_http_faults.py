"""What comes over HTTP when something is wrong, and how each case ends (M16, M17)."""

import httpx
import openai
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage

from ctxlab.lab import FactKeeper
from ctxlab.lab.vendor_errors import STYLES
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from tests.agents import words
from tests.http_provider import (
    ANSWER,
    USAGE,
    HttpProvider,
    cuts_the_stream,
    drops,
    garbles,
    says,
    streams_an_error,
    waits,
)

HISTORY = [
    message
    for turn in range(6)
    for message in (HumanMessage(words(80, f"q{turn}")), AIMessage(f"answer {turn}"))
]
TOO_LONG = {vendor: style.body(9_000, 8_192) for vendor, style in STYLES.items()}


class Raised(AgentMiddleware):
    """Innermost: keeps the errors that the provider's client raised."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def wrap_model_call(self, request, handler):
        try:
            return handler(request)
        except Exception as error:
            self.errors.append(error)
            raise


class Desk:
    def __init__(self, chat, **settings) -> None:
        self.records, self.raised = [], Raised()
        rescue = RequestOnlySummarizationMiddleware(
            FactKeeper(), on_call=self.records.append, **settings
        )
        self.policy = rescue.policy
        self.agent = create_agent(chat, middleware=[rescue, self.raised])
        self.given = {"messages": [*HISTORY, HumanMessage("And now?")]}

    def ask(self) -> AIMessage:
        return self.agent.invoke(self.given)["messages"][-1]

    def stream(self) -> str:
        pieces = self.agent.stream(self.given, stream_mode="messages")
        return "".join(piece.text for piece, _ in pieces)


def size(request: dict) -> int:
    return sum(len(str(message["content"])) for message in request["messages"])


def test_ten_vendors_and_more_are_asked():
    assert len(TOO_LONG) >= 10


@pytest.mark.parametrize("vendor", TOO_LONG)
def test_m16_a_400_for_length_is_recovered_in_one_smaller_request(vendor):
    with HttpProvider(says(400, TOO_LONG[vendor])) as provider:
        desk = Desk(provider.chat())
        assert desk.ask().text == ANSWER

    refused, retried = provider.requests
    assert size(retried) < size(refused)
    assert [record.action for record in desk.records] == ["recover"]


def test_x5_the_limit_that_a_400_states_is_learned():
    with HttpProvider(says(400, TOO_LONG["vllm"])) as provider:
        desk = Desk(provider.chat())
        desk.ask()
    assert desk.policy.learned_limits == {"m-1": 8_192}


@pytest.mark.parametrize("vendor", ["openai", "llamacpp", "qwen"])
def test_m16_refused_twice_is_a_visible_answer_with_its_cause(vendor):
    twice = [says(400, TOO_LONG[vendor])] * 2
    with HttpProvider(*twice) as provider:
        answer = Desk(provider.chat()).ask()

    assert answer.response_metadata["ctxlab"]["refused"] == "provider_overflow"
    assert len(provider.requests) == 2
    assert provider.requests[0] != provider.requests[1], "never the same one twice"


def test_m16_refused_twice_raises_the_providers_error_when_asked_to():
    twice = [says(400, TOO_LONG["vllm"])] * 2
    with HttpProvider(*twice) as provider:
        desk = Desk(provider.chat(), on_failure="raise")
        with pytest.raises(openai.BadRequestError) as caught:
            desk.ask()
    assert caught.value is desk.raised.errors[-1]


def test_m16_a_413_of_a_gateway_is_recovered():
    with HttpProvider(says(413, {"error": "Request Entity Too Large"})) as provider:
        assert Desk(provider.chat()).ask().text == ANSWER
    assert len(provider.requests) == 2


def error(message: str, **more: str) -> dict:
    return {"error": {"message": message, "type": "error", **more}}


PASSING = {
    "429 rate limit in tokens": (
        says(429, error("Rate limit reached: 9000 tokens per min, limit 8000")),
        openai.RateLimitError,
    ),
    "413 that means a rate limit": (
        says(413, error("Request too large: tokens per minute (TPM): limit 6000")),
        openai.APIStatusError,
    ),
    "400 bad parameter": (
        says(400, error("max_tokens is too large: 9000", param="max_tokens")),
        openai.BadRequestError,
    ),
    "401 wrong key": (
        says(401, error("Incorrect API key provided")),
        openai.AuthenticationError,
    ),
    "500": (says(500, error("The server had an error")), openai.InternalServerError),
    "503": (says(503, error("Overloaded, try again")), openai.InternalServerError),
    "dropped connection": (drops, openai.APIConnectionError),
    "slow reply": (waits, openai.APITimeoutError),
    "malformed JSON": (garbles, Exception),
}


@pytest.mark.parametrize("what", PASSING)
def test_m17_other_faults_pass_through_as_the_same_object(what):
    fault, kind = PASSING[what]
    with HttpProvider(fault) as provider:
        desk = Desk(provider.chat(timeout=0.2 if fault is waits else 5))
        with pytest.raises(kind) as caught:
            desk.ask()

    assert caught.value is desk.raised.errors[0]
    assert len(provider.requests) == 1, "not asked again"
    assert desk.policy.learned_limits == {}


def test_m17_a_stream_cut_in_the_middle_passes_through():
    with HttpProvider(cuts_the_stream) as provider:
        desk = Desk(provider.chat())
        with pytest.raises((httpx.TransportError, openai.APIError)) as caught:
            desk.stream()

    assert caught.value is desk.raised.errors[0]
    assert len(provider.requests) == 1


def test_m16_an_overflow_that_a_stream_reports_is_recovered():
    with HttpProvider(streams_an_error(TOO_LONG["openai"])) as provider:
        said = Desk(provider.chat()).stream()

    assert said.endswith(ANSWER), "behind what was shown before the error"
    assert len(provider.requests) == 2


def test_x4_an_answer_without_usage_teaches_nothing_and_breaks_nothing():
    with HttpProvider(usage=False) as provider:
        desk = Desk(provider.chat())
        answer = desk.ask()

    assert answer.text == ANSWER
    assert answer.usage_metadata is None
    assert "ctxlab" not in answer.response_metadata
    assert desk.records[0].prediction_error is None


def test_m11_a_streamed_answer_with_usage_is_a_sample():
    with HttpProvider() as provider:
        desk = Desk(provider.chat(stream_usage=True))
        assert desk.stream() == ANSWER
    assert desk.records[0].provider_input_tokens == USAGE["prompt_tokens"]


async def test_m16_m17_the_async_client_ends_the_same():
    faults = [says(400, TOO_LONG["openai"]), says(429, error("Rate limit reached"))]
    rescue = RequestOnlySummarizationMiddleware(FactKeeper())
    given = {"messages": [*HISTORY, HumanMessage("And now?")]}
    with HttpProvider(faults[0]) as provider:
        agent = create_agent(provider.chat(), middleware=[rescue])
        assert (await agent.ainvoke(given))["messages"][-1].text == ANSWER
    with HttpProvider(faults[1]) as provider:
        agent = create_agent(provider.chat(), middleware=[rescue])
        with pytest.raises(openai.RateLimitError):
            await agent.ainvoke(given)
