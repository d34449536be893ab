"""Step 1 in itself: what it returns, in both ways, and what it shows the user."""

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ctxlab.lab import FailingWriter, SimulatedChatModel
from ctxlab.middleware import NaiveSummarizationMiddleware

CHAT = [HumanMessage("a", id="1"), AIMessage("b", id="2"), HumanMessage("c", id="3")]


def step(writer=None, trigger=("messages", 3), keep=("messages", 1)):
    writer = writer or SimulatedChatModel(replies=lambda messages: "THE SUMMARY")
    return NaiveSummarizationMiddleware(writer, trigger=trigger, keep=keep)


async def both_ways(naive, messages):
    """Return what the two hooks return, which must be the same."""
    state = {"messages": list(messages)}
    update, aupdate = (
        naive.before_model(state, None),
        await naive.abefore_model(state, None),
    )
    assert repr(update) == repr(aupdate)
    return update


async def test_m1_over_the_trigger_the_state_becomes_summary_and_tail():
    update = await both_ways(step(), CHAT)
    remove, summary, *tail = update["messages"]

    assert isinstance(remove, RemoveMessage) and remove.id == REMOVE_ALL_MESSAGES
    assert type(summary) is HumanMessage and summary.text.endswith("THE SUMMARY")
    assert tail == CHAT[-1:]


async def test_m1_under_the_trigger_nothing_happens():
    assert await both_ways(step(), CHAT[:2]) is None


async def test_m1_nothing_old_is_nothing_to_summarise():
    naive = step(trigger=("tokens", 4), keep=("messages", 3))

    assert await both_ways(naive, CHAT) is None


def test_m1_the_trigger_counts_tokens_too():
    naive = step(trigger=[("tokens", 1_000), ("messages", 60)])
    long = [HumanMessage("word " * 900), *CHAT]

    assert naive.before_model({"messages": CHAT}, None) is None
    assert naive.before_model({"messages": long}, None)


def test_m1_the_old_part_goes_into_the_prompt_as_text():
    writer = SimulatedChatModel()
    step(writer).before_model({"messages": CHAT}, None)

    assert writer.requests[0][0].text.endswith("Human: a\nAI: b")


def test_m1_an_empty_reply_passes_for_a_summary():
    update = step(FailingWriter("blank")).before_model({"messages": CHAT}, None)

    assert update["messages"][1].text.strip() == "Summary of the conversation so far:"


def test_m1_a_failing_writer_costs_the_turn():
    with pytest.raises(Exception, match="key of the summary model"):
        step(FailingWriter("raising")).before_model({"messages": CHAT}, None)


class Chat:
    """Two turns of a real agent on step 1."""

    def __init__(self):
        self.agent = create_agent(
            SimulatedChatModel(replies=["first answer", "second answer"]),
            middleware=[step()],
            checkpointer=InMemorySaver(),
        )
        self.thread = {"configurable": {"thread_id": "t"}}

    def say(self, text):
        given = {"messages": [HumanMessage(text)]}
        parts = self.agent.stream(given, self.thread, stream_mode="messages")
        return "".join(chunk.text for chunk, _ in parts)


def test_m1_the_user_sees_the_summary_in_the_stream_and_in_the_history():
    chat = Chat()
    chat.say("hello")
    seen = chat.say("and now?")
    state = chat.agent.get_state(chat.thread).values["messages"]

    assert "THE SUMMARY" in seen and "second answer" in seen
    assert [message.type for message in state] == ["human", "human", "ai"]
    assert "THE SUMMARY" in state[0].text
    assert not any("first answer" in message.text for message in state)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"keep": ("tokens", 100)}, "this step keeps messages"),
        ({"keep": ("messages", 0)}, "give a number above 0"),
        ({"trigger": ("messages", 4), "keep": ("messages", 4)}, "lower keep or raise"),
        ({"trigger": ("fraction", 0.5)}, "use a size in tokens"),
        ({"trigger": ("words", 9)}, "trigger is"),
    ],
)
def test_bad_sizes_fail_at_construction(sizes, says):
    with pytest.raises(ValueError, match=says):
        step(**sizes)
