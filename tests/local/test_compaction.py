"""What only a real model shows: its bills, its refusals, its prompt cache (X5, X13)."""

from itertools import pairwise

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from ctxlab.lab import FactKeeper
from ctxlab.lab.local_model import LocalModel
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.summaries import SummaryError, SummaryWriter
from ctxlab.tokens import ScriptCounter

from .conftest import WINDOW

STORY = (
    "The ferry to the island leaves at nine, and the second one at eleven. "
    "Parcel {n} waits in shed {n}, behind the blue crates; the key is with Mara. "
)


class Sent(AgentMiddleware):
    """Innermost: keeps every request that goes out, refused ones included."""

    def __init__(self) -> None:
        self.requests, self.bills = [], []

    def wrap_model_call(self, request, handler):
        self.requests.append(list(request.messages))
        response = handler(request)
        self.bills.append(response.result[0].usage_metadata)
        return response


class Talk:
    """An agent on the local model, with the reference middleware."""

    def __init__(self, chat, system="Answer in one sentence.", **settings) -> None:
        self.records, self.sent = [], Sent()
        self.middleware = RequestOnlySummarizationMiddleware(
            FactKeeper(), on_call=self.records.append, **settings
        )
        self.agent = create_agent(
            chat,
            system_prompt=system,
            middleware=[self.middleware, self.sent],
            checkpointer=InMemorySaver(),
        )
        self.thread = {"configurable": {"thread_id": "t"}}

    def say(self, number: int, times: int = 1) -> str:
        told = HumanMessage(STORY.format(n=number) * times)
        state = self.agent.invoke({"messages": [told]}, self.thread)
        return state["messages"][-1].text

    @property
    def actions(self) -> list[str]:
        return [record.action for record in self.records]


def test_x13_every_call_is_a_sample_and_predictions_are_within_2_percent(local):
    family = ScriptCounter(profile="smollm2")
    chat, system = local.chat(max_tokens=12), STORY.format(n=0) * 6
    talk = Talk(chat, system, counter=family)
    for number in range(4):
        talk.say(number)

    state = talk.agent.get_state(talk.thread).values["messages"]
    samples = [m.response_metadata["ctxlab"] for m in state if m.type == "ai"]
    billed = [sample["provider_input_tokens"] for sample in samples]
    assert billed == [record.provider_input_tokens for record in talk.records]
    assert billed == [bill["input_tokens"] for bill in talk.sent.bills]
    errors = [record.prediction_error for record in talk.records[2:]]
    assert all(abs(error) <= 0.02 for error in errors), errors


def test_x5_a_real_refusal_is_recovered_in_one_retry_and_the_limit_learned(local):
    talk = Talk(local.chat(max_tokens=12))
    talk.say(1, times=10)
    talk.say(2, times=4)

    assert talk.actions == ["pass", "recover"]
    _, refused, retried = talk.sent.requests
    assert sum(len(m.text) for m in retried) < sum(len(m.text) for m in refused)
    assert talk.middleware.policy.learned_limits == {local.name: WINDOW}

    talk.say(3)  # the learned limit is kept: no second refusal
    assert len(talk.sent.requests) == 4
    assert len(talk.sent.bills) == 3
    assert max(bill["input_tokens"] for bill in talk.sent.bills) < WINDOW
    state = talk.agent.get_state(talk.thread).values["messages"]
    assert [message.type for message in state] == ["human", "ai"] * 3


def test_x2_the_prompt_cache_is_read_between_compactions(local):
    talk = Talk(local.chat(max_tokens=12), trigger=("tokens", 360))
    for number in range(7):
        talk.say(number)

    reads = [bill["input_token_details"]["cache_read"] for bill in talk.sent.bills]
    pairs = list(zip(talk.actions, reads, talk.sent.bills, strict=True))
    between = [
        (read, before["input_tokens"])
        for (_, _, before), (action, read, _) in pairwise(pairs)
        if action in ("pass", "reuse")
    ]
    assert "compact" in talk.actions and len(between) >= 4
    assert all(read >= 0.9 * before for read, before in between), between


def test_x13_a_real_summary_is_used_or_refused_for_a_stated_reason(local):
    told = [HumanMessage(STORY.format(n=number)) for number in range(3)]
    with LocalModel(window=2_048) as roomy:
        chat = roomy.chat(max_tokens=120)
        said = []
        asked = chat | RunnableLambda(lambda answer: said.append(answer) or answer)
        try:
            summary = SummaryWriter(asked).write(told, smaller_than=10_000)
        except SummaryError as error:
            assert "no model wrote a usable summary" in str(error)
            assert "cut off" in str(error) or "refus" in str(error), error
        else:
            assert summary.text.strip() == said[0].text.strip()
    assert said[0].usage_metadata["output_tokens"] > 10, "it did write"
