"""Exercises of lesson 10: which error is an overflow, which message is too large."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.chain import Call, Policy
from ctxlab.chain.protection import user_message_over_limit
from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.lab.simulated import SimulatedChatModel
from ctxlab.lab.transcripts import load_transcript
from ctxlab.lab.vendor_errors import VendorError, overflow_error
from ctxlab.overflow import is_context_overflow
from ctxlab.settings import Settings
from ctxlab.summaries import SummaryWriter, summary_message
from ctxlab.tokens import ScriptCounter, TokenCounter

WINDOW = 16_384
#: Where requests of the lesson end in `engineering_tools`, by name.
ENDS = {"short": 13, "results": 75, "long": 110, "batch": 183, "surprise": 45}
PASTED = (99, 182)  # results that a user pastes into one message
HIDDEN = 9_000  # what the provider bills besides, and only for "surprise"

_SAID = {
    "openai": 8_192,
    "anthropic": 200_000,
    "google": 1_048_576,
    "mistral": 32_768,
    "qwen": 30_720,
    "bedrock": 0,  # states none
}
#: (status, text) of refusals for length, by vendor, as the simulated model words them.
OVERFLOWS = {
    vendor: (400, overflow_error(vendor, limit + 900, limit).message)
    for vendor, limit in _SAID.items()
}
#: (status, text) of errors that speak of tokens or lengths and are no overflow.
OTHERS = {
    "rate limit": (
        429,
        "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, "
        "Requested 35000. Please try again in 10s.",
    ),
    "rate limit, as 413": (
        413,
        "Request too large for model on tokens per minute (TPM): Limit 6000, "
        "Requested 14810, please reduce your message size and try again.",
    ),
    "throttled": (429, "Too many tokens, please wait before trying again."),
    "output too long": (
        400,
        "max_tokens is too large: 5000. This model supports at most 4096 completion "
        "tokens, whereas you provided 5000.",
    ),
    "name too long": (
        400,
        "Invalid 'tools[0].function.name': string too long. Expected a string with "
        "maximum length 64, but got a string with length 80 instead.",
    ),
    "no access": (
        403,
        "This token does not have access to the model's full context window.",
    ),
    "expired": (401, "Incorrect API key provided. Your token has expired."),
}


def as_error(status: int, text: str) -> VendorError:
    """Return the error that a vendor's client raises for such a response."""
    return VendorError(text, status, {"message": text})


def _is_overflow(status: int, text: str) -> bool:
    """What the library says to such an error."""
    return is_context_overflow(as_error(status, text))


def _too_large(messages: list[Any], limit: int, counter: TokenCounter) -> bool:
    """What layer 1 of the chain says to such a history."""
    settings = Settings(max_input_tokens=limit, overhead_tokens=0)
    model = SimulatedChatModel()
    policy = Policy(settings, counter, SummaryWriter(model))
    request: ModelRequest[Any] = ModelRequest(model=model, messages=messages)
    return user_message_over_limit(Call(policy, request)) is not None


def lesson_requests() -> dict[str, list[BaseMessage]]:
    """Return the histories of the lesson, by name, in the order of its table."""
    talk = load_transcript("engineering_tools").messages
    found = {name: list(talk[:end]) for name, end in ENDS.items()}
    logs = "\n".join(talk[at].text for at in PASTED)
    pasted = [*talk[:12], HumanMessage(f"Which of these failed?\n{logs}")]
    short = found.pop("short")
    return {"short": short, "pasted": pasted, **found}


def answered_without_protection() -> int:
    """How many of the six requests the provider answers as they are."""
    talk, count = load_transcript("engineering_tools"), ScriptCounter()
    system = count.text(talk.system)
    hidden = {"surprise": HIDDEN}
    return sum(
        count(messages) + system + hidden.get(name, 0) <= WINDOW
        for name, messages in lesson_requests().items()
    )


_LONG = "Here is the log: " + "connection refused; " * 60
_LOOKUP: dict[str, Any] = {"name": "read_log", "args": {}, "id": "c1"}
_CHAT: list[BaseMessage] = [HumanMessage("Any errors?"), AIMessage("None today.")]
_RESULT = ToolMessage(_LONG, tool_call_id="c1", name="read_log")
_CALLED = [HumanMessage("Read it."), AIMessage("", tool_calls=[_LOOKUP]), _RESULT]
_COUNT = ScriptCounter()
_EDGE = [HumanMessage("Read the whole log, please.")]  # fills its limit exactly


def _case(messages: Sequence[BaseMessage], limit: int) -> Case:
    expected: Callable[..., bool] = _too_large
    return Case((list(messages), limit, _COUNT), expected)


EXERCISES = (
    Prediction(
        "10.p",
        "six requests, no protection: how many does the provider answer?",
        hint="It bills more than messages; one of the six is not what it seems.",
        answer=answered_without_protection,
    ),
    Exercise(
        "10.1",
        "say whether an error is a context overflow",
        hint="Some words are never enough: token, too large, limit. Which phrases only "
        "speak of the input's length? And which statuses can be left out at once?",
        cases=[
            Case(error, _is_overflow)
            for error in (*OVERFLOWS.values(), *OTHERS.values())
        ],
    ),
    Exercise(
        "10.2",
        "say whether the newest user message alone is over the limit",
        hint="Walk back to the newest HumanMessage that is no summary, and count it.",
        cases=[
            _case([HumanMessage(_LONG)], 150),
            _case([HumanMessage(_LONG)], 2_000),
            _case(_EDGE, _COUNT(_EDGE)),
            _case([*_CHAT, HumanMessage(_LONG)], 150),
            _case([HumanMessage(_LONG), AIMessage("Read."), *_CHAT[:1]], 150),
            _case(_CALLED, 150),
            _case([HumanMessage(_LONG), *_CALLED[1:2], *_CALLED[2:]], 150),
            _case([*_CHAT, summary_message(_LONG)], 150),
            _case([*_CHAT] * 20, 60),
            _case([_CHAT[1]], 150),
        ],
    ),
)
