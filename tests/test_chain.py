"""The chain driven by hand: no model, no agent, every wish seen (row M22)."""

from typing import Any

import pytest
from langchain.agents.middleware import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from ctxlab.chain import (
    Acquire,
    CallModel,
    Load,
    Notify,
    Save,
    WriteSummaries,
    protect,
)
from ctxlab.chain.asked import asked_by_model
from ctxlab.lab.vendor_errors import overflow_error
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import is_summary
from tests.agents import words

SMALL: dict[str, Any] = {
    "trigger": ("tokens", 2_000),
    "keep": ("tokens", 900),
    "overhead_tokens": 0,
}


def never(messages: Any) -> str:
    raise AssertionError("no summary model is asked here")


class Stepper:
    """Grant the chain's wishes by hand and take them down.

    Args:
        replies: What the model does, in order: a text, or an error.
        summary: What the summary model says.
        settings: Of the middleware.
    """

    def __init__(
        self, *replies: Any, summary: Any = "S.", stored: Any = None, **settings: Any
    ) -> None:
        self.replies, self.summary, self.stored = list(replies), summary, stored
        given = {**SMALL, **settings}
        self.middleware = RequestOnlySummarizationMiddleware(never, **given)
        self.wishes: list[Any] = []
        self.sent: list[list[BaseMessage]] = []

    def run(self, messages: list[Any]) -> Any:
        request = ModelRequest(
            model=object(),  # type: ignore[arg-type]
            messages=messages,
            system_message=SystemMessage("s"),
        )
        flow = protect(self.middleware.policy, request)
        try:
            wish = next(flow)
            while True:
                self.wishes.append(type(wish))
                try:
                    answer = self.grant(wish)
                except Exception as error:
                    wish = flow.throw(error)
                else:
                    wish = flow.send(answer)
        except StopIteration as done:
            return done.value

    def grant(self, wish: Any) -> Any:
        match wish:
            case CallModel(request):
                self.sent.append(list(request.messages))
                reply = self.replies.pop(0)
                if isinstance(reply, Exception):
                    raise reply
                return ModelResponse(result=[AIMessage(reply)])
            case WriteSummaries():
                return [self.summary for _ in wish.prompts]
            case Acquire(lock):
                return lock.acquire()
            case Load():
                return self.stored
        return None


def chat(turns: int, size: int = 80) -> list[BaseMessage]:
    return [
        message
        for turn in range(turns)
        for message in (
            HumanMessage(f"{turn} {words(size)}"),
            AIMessage(f"noted {turn}"),
        )
    ]


def question(turns: int) -> list[BaseMessage]:
    return [*chat(turns), HumanMessage("now?")]


def reason(response: Any) -> str:
    assert isinstance(response, ExtendedModelResponse)
    (answer,) = response.model_response.result
    return str(answer.response_metadata["ctxlab"]["refused"])


def test_m22_below_the_trigger_there_is_one_wish() -> None:
    chain = Stepper("fine")
    chain.run(question(1))
    assert chain.wishes == [CallModel]


def test_m22_over_it_the_wishes_come_in_the_order_of_the_layers() -> None:
    chain = Stepper("fine")
    chain.run(question(12))
    assert chain.wishes == [Acquire, WriteSummaries, Save, CallModel]
    assert is_summary(chain.sent[0][0])


def test_m22_the_guard_comes_first() -> None:
    chain = Stepper(max_input_tokens=1_000)
    assert reason(chain.run([HumanMessage(words(2_000))])) == "user_message_too_large"
    assert chain.wishes == []


def test_m22_an_overflow_is_answered_by_one_smaller_request() -> None:
    chain = Stepper(overflow_error("openai", 9_000, 8_000), "fine")
    chain.run(question(6))
    assert chain.wishes == [CallModel, Acquire, WriteSummaries, Save, CallModel]
    assert len(chain.sent[1]) < len(chain.sent[0])


def test_m22_a_second_overflow_is_the_end() -> None:
    errors = [ContextOverflowError("a"), ContextOverflowError("b")]
    chain = Stepper(*errors)
    assert reason(chain.run(question(6))) == "provider_overflow"
    assert chain.wishes.count(CallModel) == 2


def test_m16_another_error_in_the_retry_passes_unchanged() -> None:
    other = ValueError("bad tool")
    chain = Stepper(ContextOverflowError("a"), other)
    with pytest.raises(ValueError, match="bad tool") as caught:
        chain.run(question(6))
    assert caught.value is other


@pytest.mark.parametrize("summary", ["S.", RuntimeError("summary model down")])
def test_m16_when_the_retry_breaks_the_next_call_does_not_repeat_the_original(
    summary: Any,
) -> None:
    lost = ConnectionError("lost")
    chain = Stepper(ContextOverflowError("a"), lost, "fine", "fine", summary=summary)
    with pytest.raises(ConnectionError):
        chain.run(question(6))
    chain.run(question(6))
    refused, broken, again = chain.sent
    assert again == broken != refused
    # The answer names the view, so nothing waits any longer.
    assert len(chain.middleware.policy.waiting) == 0


def test_m17_what_fails_after_an_overflow_is_not_taken_for_one() -> None:
    """A blank summary is no sign that its prompt was too large: no smaller chunks."""
    chain = Stepper(ContextOverflowError("a"), "fine", summary=" ")
    chain.run(question(6))
    assert chain.wishes.count(WriteSummaries) == 1


def test_m16_after_an_overflow_the_summary_may_fail_and_units_are_dropped() -> None:
    chain = Stepper(
        ContextOverflowError("a"), "fine", summary=RuntimeError("summary model down")
    )
    chain.run(question(6))
    assert len(chain.sent) == 2
    count = chain.middleware.policy.counter
    assert count(chain.sent[1]) <= 0.5 * count(chain.sent[0]) + 60
    assert "left out here" in chain.sent[1][0].text
    assert chain.sent[1][-1].text == "now?"


def test_m15_no_summary_and_no_room_is_said() -> None:
    chain = Stepper(summary=RuntimeError("down"), max_input_tokens=1_200)
    call = {"name": "f", "args": {"n": list(range(2_000))}, "id": "c"}
    messages = [HumanMessage("q"), AIMessage("", tool_calls=[call])]
    assert reason(chain.run(messages)) in ("summary_failed", "still_too_large")
    assert chain.sent == []


def test_m13_with_a_failed_summary_the_oldest_are_dropped_and_counted() -> None:
    chain = Stepper(
        "fine", summary=RuntimeError("down"), max_input_tokens=2_200, on_call=print
    )
    messages = question(14)
    chain.run(messages)
    assert chain.wishes[-2:] == [CallModel, Notify]
    (sent,) = chain.sent
    kept = [message for message in sent if not is_summary(message)]
    assert kept == messages[-len(kept) :]
    assert f"{len(messages) - len(kept)} earlier messages are left out" in sent[0].text


def test_what_was_dropped_goes_into_the_next_summary() -> None:
    chain = Stepper("fine", summary=RuntimeError("down"), max_input_tokens=2_200)
    messages = question(14)
    response = chain.run(messages)
    prompts: list[str] = []

    class Telling:
        def __call__(self, effect: Any) -> list[str]:
            prompts.extend(prompt[-1].text for prompt in effect.prompts)
            return ["S." for _ in effect.prompts]

    grant = chain.grant
    chain.grant = lambda wish: (  # type: ignore[method-assign]
        Telling()(wish) if isinstance(wish, WriteSummaries) else grant(wish)
    )
    chain.replies = ["fine"]
    more = [HumanMessage(f"{n} {words(80)}") for n in range(6)]
    chain.run([*messages, response.result[0], *more])
    assert any("0 parcel-0" in text for text in prompts)
    assert any("noted 3" in text for text in prompts)


def test_a_closed_chain_has_released_its_lock() -> None:
    chain = Stepper()
    policy = chain.middleware.policy
    messages: list[Any] = question(12)
    request = ModelRequest(model=object(), messages=messages)  # type: ignore[arg-type]
    flow = protect(policy, request)
    wish = next(flow)
    assert isinstance(wish, Acquire)
    wish.lock.acquire()
    assert isinstance(flow.send(True), WriteSummaries)
    assert not wish.lock.acquire(wait=False)
    flow.close()
    assert wish.lock.acquire(wait=False)


def test_m17_a_status_of_another_kind_is_no_overflow() -> None:
    error = RuntimeError("connection reset by peer")
    chain = Stepper(error)
    with pytest.raises(RuntimeError) as caught:
        chain.run(question(6))
    assert caught.value is error
    assert chain.wishes == [CallModel]


@pytest.mark.parametrize(
    ("language", "says"), [("en", "takes at most"), ("zh", "最多接受")]
)
def test_x8_a_visible_answer_is_in_the_language_of_the_user(
    language: str, says: str
) -> None:
    text = words(2_000) if language == "en" else "请核对这份合同" * 1_000
    chain = Stepper(max_input_tokens=1_000)
    response = chain.run([HumanMessage(text)])
    (answer,) = response.model_response.result
    assert says in answer.text and "1,000" in answer.text


def test_m11_the_sample_is_that_of_the_request_as_sent() -> None:
    chain = Stepper("fine")
    response = chain.run(question(12))
    entry = response.result[0].response_metadata["ctxlab"]
    assert entry["cut"] > 0
    assert entry["tail"] == entry["cut"]
    assert "provider_input_tokens" not in entry  # nothing was billed


def test_only_the_newest_answer_asks_for_a_compaction() -> None:
    assert not asked_by_model([])
    assert not asked_by_model([HumanMessage("compact_conversation")])
