"""Replay: the recorded conversation, lived again on a real agent and checkpointer."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ctxlab import RequestOnlySummarizationMiddleware
from ctxlab.lab import (
    Fact,
    SimulatedChatModel,
    Transcript,
    areplay,
    load_transcript,
    replay,
    transcript_names,
)
from ctxlab.lab.replays import state_fingerprint
from tests.strategies import conversations

THREAD = Path(__file__).parent / "data" / "threads" / "harbour_export.json"
LOOK = {
    "name": "look",
    "description": "Look somewhere.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
TOOL = {**LOOK, "name": "tool"}  # the one that random conversations call


def called(*ids):
    calls = [{"name": "look", "args": {"at": id}, "id": id} for id in ids]
    return AIMessage("", tool_calls=calls)


def result(id, text="seen"):
    return ToolMessage(text, tool_call_id=id, name="look")


def transcript(*messages, **settings):
    return Transcript(messages, tools=[LOOK], name="t", **settings)


def kinds(messages):
    return "".join(message.type[0] for message in messages)


ONE_LOOP = (
    HumanMessage("q"),
    called("a", "b"),
    result("a"),
    result("b", "x" * 900),
    AIMessage("done"),
    HumanMessage("and now?"),
    AIMessage("as before"),
)


@pytest.fixture(scope="module")
def thread():
    return load_transcript(THREAD)


# -- faithful ------------------------------------------------------------


@pytest.mark.parametrize("name", ["order_desk", "short_tools"])
def test_m2_an_unlimited_replay_leaves_the_recorded_messages_in_the_state(name):
    recorded = load_transcript(name)
    lived = replay(recorded)

    assert lived.failed_turns == []
    assert lived.notes == []
    assert state_fingerprint(lived.state_messages) == (
        state_fingerprint(recorded.messages)
    )


def test_a_real_thread_is_lived_as_recorded(thread):
    """Late system messages, answers after the answer, call ids used again."""
    lived = replay(thread)

    assert (lived.failed_turns, lived.notes) == ([], [])
    assert state_fingerprint(lived.state_messages) == (
        state_fingerprint(thread.messages)
    )
    assert len(lived.requests) == sum(len(turn.steps) for turn in thread.turns())


def test_the_provider_gets_system_prompt_tools_and_all_messages():
    lived = replay(load_transcript("order_desk"))
    first = lived.exchanges[0]

    assert isinstance(first.messages[0], SystemMessage)
    assert first.messages[0].text == lived.transcript.system
    assert first.tools[0]["function"]["parameters"]["required"] == ["order_id"]
    assert [len(request) for request in lived.requests] == [2, 4, 6]


async def test_sync_and_async_send_the_same_requests(thread):
    window = {"window": 32_768, "overhead": 6_000}
    sync, waited = replay(thread, **window), await areplay(thread, **window)

    assert sync.rows() == waited.rows()
    assert sync.failed_turns == waited.failed_turns
    assert [state_fingerprint(request) for request in sync.requests] == [
        state_fingerprint(request) for request in waited.requests
    ]


def test_two_replays_are_equal(thread):
    assert replay(thread, window=20_000).rows() == replay(thread, window=20_000).rows()


def test_any_checkpointer_will_do(tmp_path):
    recorded = load_transcript("order_desk")
    with SqliteSaver.from_conn_string(str(tmp_path / "chat.db")) as saver:
        lived = replay(recorded, checkpointer=saver, thread_id="desk-1")
        saved = saver.get_tuple({"configurable": {"thread_id": "desk-1"}})

    stored = saved.checkpoint["channel_values"]["messages"]
    assert state_fingerprint(stored) == state_fingerprint(lived.state_messages)


# -- failing -------------------------------------------------------------


def test_a_thread_that_outgrows_its_window_fails_and_the_user_goes_on(thread):
    lived = replay(thread, window=32_768, overhead=6_000)

    assert [turn for turn, _ in lived.failed_turns] == [2, 3]
    assert "maximum context length is 32768 tokens" in lived.failed_turns[0].reason
    assert len(lived.requests) - len(lived.answered) == 2
    assert [row["failed"] is None for row in lived.rows()] == [True, False, False]


def test_after_a_failure_inside_a_tool_loop_the_next_turn_works():
    model = SimulatedChatModel(failures={1: RuntimeError("503")})
    lived = replay(transcript(*ONE_LOOP), model=model)

    assert lived.failed_turns == [(1, "RuntimeError: 503")]
    assert kinds(lived.state_messages) == "hatt" + "ha"
    assert lived.state_messages[-1].text == "as before"


def test_a_failed_call_does_not_use_up_its_reply():
    class Retry(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            try:
                return handler(request)
            except RuntimeError:
                return handler(request)

    model = SimulatedChatModel(failures={0: RuntimeError("503"), 3: RuntimeError()})
    lived = replay(transcript(*ONE_LOOP), [Retry()], model=model)

    assert lived.failed_turns == []
    assert state_fingerprint(lived.state_messages) == (
        state_fingerprint(lived.transcript.messages)
    )
    assert (len(lived.requests), len(lived.answered)) == (5, 3)


def test_a_visible_answer_instead_of_a_reply_is_a_failed_turn():
    class Refuse(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            if request.messages[-1].text != "q":
                return handler(request)
            said = {"ctxlab": {"refused": "user_message_too_large"}}
            return AIMessage("That is too long.", response_metadata=said)

    lived = replay(transcript(*ONE_LOOP), [Refuse()])

    assert lived.failed_turns == [(1, "refused: user_message_too_large")]
    assert lived.notes == []
    assert len(lived.requests) == 1


def test_what_followed_a_lost_answer_does_not_stand_alone_in_the_next_turn():
    chat = [HumanMessage("q" * 900), AIMessage("a"), AIMessage("more"), *ONE_LOOP]
    lived = replay(transcript(*chat), model=SimulatedChatModel(failures={0: OSError()}))

    assert "more" not in [message.text for message in lived.state_messages]
    assert "turn 1: messages left out after the lost answer: 1" in lived.notes


# -- recordings with gaps: nothing is repaired in silence ----------------


def test_b06_a_user_who_does_not_wait_leaves_the_call_unanswered():
    chat = [HumanMessage("q"), called("a"), HumanMessage("stop"), AIMessage("stopped")]
    lived = replay(transcript(*chat))

    assert lived.failed_turns == []
    assert state_fingerprint(lived.state_messages) == (
        state_fingerprint(lived.transcript.messages)
    )
    assert lived.notes == ["turn 1: call 'a' stays unanswered in the state"]


async def test_a_step_that_broke_off_among_parallel_calls(caplog):
    """LangGraph drops the finished result too, when the user does not wait."""
    chat = [HumanMessage("q"), called("a", "b"), result("a"), *ONE_LOOP[-2:]]
    lived, waited = replay(transcript(*chat)), await areplay(transcript(*chat))

    for each in (lived, waited):
        assert kinds(each.state_messages) == "haha"
        assert each.notes == [
            "turn 1: call 'b' stays unanswered in the state",
            "turn 1: results lost beside it when the user goes on: 1",
        ]
    assert caplog.text == ""


def test_a_loop_that_broke_off_before_its_answer():
    chat = [HumanMessage("q"), called("a"), result("a"), *ONE_LOOP[-2:]]
    lived = replay(transcript(*chat))

    assert lived.failed_turns == []
    assert lived.notes == ["turn 1: the recording holds no further reply in this turn"]
    assert kinds(lived.state_messages) == "hatha"


def test_a_lost_result_in_the_middle_is_said_to_be_lost():
    chat = [HumanMessage("q"), called("a"), AIMessage("done"), *ONE_LOOP[-2:]]
    lived = replay(transcript(*chat))

    assert lived.state_messages[2].status == "error"
    assert lived.state_messages[2].text == "No result was recorded."
    assert lived.notes == ["turn 1: no result of call 'a' recorded; told so"]


def test_b07_a_note_between_two_results_is_given_with_the_next_turn():
    chat = [
        HumanMessage("q"),
        called("a", "b"),
        result("a"),
        HumanMessage("note"),
        result("b"),
        AIMessage("done"),
        *ONE_LOOP[-2:],
    ]
    lived = replay(transcript(*chat))

    assert [m.text for m in lived.state_messages[4:6]] == ["done", "note"]
    assert lived.notes == ["turn 1: messages moved to the next turn: 1"]


def test_a_question_that_was_never_answered_waits_for_the_next():
    lived = replay(transcript(HumanMessage("q"), AIMessage("a"), HumanMessage("r")))

    assert kinds(lived.state_messages) == "ha"
    assert lived.notes == [
        "turn 2: no reply recorded",
        "turn 2: messages not given at the end: 1",
    ]


def test_a_tool_without_a_schema_is_taken_from_its_calls():
    lived = replay(Transcript(ONE_LOOP, name="t"))

    assert lived.notes == ["schemas taken from the calls: look"]
    assert lived.exchanges[0].tools[0]["function"]["name"] == "look"
    assert kinds(lived.state_messages) == "hattaha"


@settings(max_examples=40, deadline=None)
@given(conversations(malformed=True))
def test_any_conversation_is_replayed_and_what_is_missing_is_noted(messages):
    """Whatever was recorded: no turn fails, nothing is doubled, no loss is silent."""
    recorded = Transcript(messages, [TOOL], imported=True)
    lived = replay(recorded)

    given_ids = [message.id for message in recorded.messages]
    state_ids = [message.id for message in lived.state_messages]
    missing = set(given_ids) - set(state_ids)
    made_up = [m for m in lived.state_messages if m.id not in given_ids]
    assert lived.failed_turns == []
    assert len(set(state_ids)) == len(state_ids)
    assert all(message.text == "No result was recorded." for message in made_up)
    assert not (missing or made_up) or lived.notes


# -- with middlewares ----------------------------------------------------


def test_h1_the_order_desk_with_langchains_summarization():
    """Row H1's own settings: far above what two turns need, so nothing changes."""
    writer = SimulatedChatModel()
    builtin = SummarizationMiddleware(
        writer,
        trigger=[("tokens", 18_000), ("messages", 60)],
        keep=("messages", 8),
        trim_tokens_to_summarize=20_000,
    )
    lived = replay(load_transcript("order_desk"), [builtin], summary_model=writer)

    assert lived.failed_turns == []
    assert lived.summary_calls == []
    assert "预计周五送达" in lived.state_messages[-1].text
    assert not lived.state_messages[-1].tool_calls


def test_m1_a_middleware_that_rewrites_the_state_shows_in_the_checkpoint():
    writer = SimulatedChatModel(replies=lambda messages: "what was said before")
    builtin = SummarizationMiddleware(
        writer, trigger=("messages", 4), keep=("messages", 1)
    )
    recorded = transcript(*ONE_LOOP, *(HumanMessage("x"), AIMessage("y")) * 3)
    lived = replay(recorded, [builtin], summary_model=writer)

    assert lived.failed_turns == []
    assert len(lived.summary_calls) == sum(row["summaries"] for row in lived.rows()) > 0
    assert len(lived.state_messages) < len(recorded.messages)


def test_call_records_are_collected_while_the_replay_runs():
    class Keeps(AgentMiddleware):
        def __init__(self):
            super().__init__()
            self.listeners = []

        def add_listener(self, callback):
            self.listeners.append(callback)
            return lambda: self.listeners.remove(callback)

        def wrap_model_call(self, request, handler):
            for listener in self.listeners:
                listener(len(request.messages))
            return handler(request)

    keeps = Keeps()
    lived = replay(load_transcript("order_desk"), [keeps])

    assert lived.calls == [1, 3, 5]
    assert keeps.listeners == []
    assert replay(load_transcript("order_desk"), [keeps], records=False).calls == []


def ctxlab_middleware(writer):
    return RequestOnlySummarizationMiddleware(
        writer,
        trigger=("tokens", 24_000),
        keep=("tokens", 12_000),
        summary_chunk_tokens=6_000,
    )


def handoff(messages):
    return "\n".join(
        f"## {name}\nNone"
        for name in ("SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS")
    )


async def test_m2_request_only_saves_the_thread_and_leaves_the_checkpoint_alone(
    thread,
):
    """Two turns fail without it (see above); with it none, sync and async alike."""
    window = {"window": 32_768, "overhead": 6_000}
    writer = SimulatedChatModel(replies=handoff)
    lived = replay(thread, [ctxlab_middleware(writer)], summary_model=writer, **window)
    waited = await areplay(thread, [ctxlab_middleware(writer)], **window)

    assert lived.failed_turns == waited.failed_turns == []
    assert len(lived.summary_calls) > 0
    assert len(lived.calls) == len(lived.requests)
    assert state_fingerprint(lived.state_messages) == (
        state_fingerprint(thread.messages)
    )
    assert [kinds(request) for request in lived.requests] == [
        kinds(request) for request in waited.requests
    ]


# -- what a replay shows -------------------------------------------------


def test_rows_add_up_to_the_bill_and_table_shows_them(thread):
    lived = replay(thread, overhead=500)
    rows, paid = lived.rows(), lived.exchanges

    assert [row["turn"] for row in rows] == [1, 2, 3]
    assert sum(row["requests"] for row in rows) == len(lived.requests)
    assert sum(row["billed"] for row in rows) == sum(e.input_tokens for e in paid)
    assert 0 < sum(row["cached"] for row in rows) < sum(row["billed"] for row in rows)
    assert rows[-1]["messages"] == len(thread.messages)
    assert list(lived.table().index) == [1, 2, 3]
    assert lived.table().loc[2, "billed"] == rows[1]["billed"]


def test_facts_are_looked_up_in_the_newest_request():
    early = Fact(kind="constraint", text="node 18", message=0)
    late = Fact(kind="artefact", text="out.txt", message=3)
    recorded = transcript(
        HumanMessage("use node 18"),
        AIMessage("yes"),
        HumanMessage("write it"),
        AIMessage("wrote out.txt"),
        facts=[early, late],
    )
    lived = replay(recorded)

    assert lived.facts_in_last_request == [early]
    assert lived.facts_in(lived.state_messages) == [early, late]


def test_a_fingerprint_leaves_usage_and_metadata_out_and_nothing_else():
    base = AIMessage("a", id="1")
    noted = AIMessage("a", id="1", response_metadata={"ctxlab": {"x": 1}})
    other = [AIMessage("b", id="1"), AIMessage("a", id="2"), AIMessage("a", name="n")]

    assert state_fingerprint([base]) == state_fingerprint([noted])
    assert all(state_fingerprint([base]) != state_fingerprint([m]) for m in other)


def test_progress_is_reported_only_when_asked(capsys):
    seen = []
    replay(load_transcript("order_desk"), progress=lambda *at: seen.append(at))

    assert seen == [(1, 2), (2, 2)]
    assert capsys.readouterr().out == ""


# -- models --------------------------------------------------------------


def test_the_given_model_is_copied_not_used_up():
    model = SimulatedChatModel(context_window=9_000, fixed_overhead=100, scale=1.5)
    lived = replay(load_transcript("order_desk"), model=model)

    assert model.requests == []
    assert lived.model.scale == 1.5
    assert lived.exchanges[0].input_tokens > 100


class Provider(BaseChatModel):
    """A chat model that is none of ours: it bills, and answers by itself."""

    behind: SimulatedChatModel

    @property
    def _llm_type(self):
        return "elsewhere"

    def bind_tools(self, tools, **kwargs):
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self.behind._generate(messages, **kwargs)


async def test_x13_a_real_model_bills_and_the_recording_answers():
    recorded = transcript(*ONE_LOOP)
    behind = SimulatedChatModel(replies=lambda messages: "my own words")
    provider = Provider(behind=behind)
    lived, waited = (
        replay(recorded, model=provider),
        await areplay(recorded, (), provider),
    )

    for each in (lived, waited):
        assert (each.failed_turns, each.notes) == ([], [])
        assert state_fingerprint(each.state_messages) == (
            state_fingerprint(recorded.messages)
        )
    bills = [exchange.input_tokens for exchange in behind.log]
    assert [exchange.input_tokens for exchange in lived.exchanges] == bills[:3]
    assert [exchange.input_tokens for exchange in waited.exchanges] == bills[3:]
    assert lived.state_messages[-1].usage_metadata["input_tokens"] == bills[2]


def test_a_real_models_refusal_is_a_failed_turn():
    behind = SimulatedChatModel(context_window=200, error_style="vllm")
    lived = replay(transcript(*ONE_LOOP), model=Provider(behind=behind))

    assert [turn for turn, _ in lived.failed_turns] == [1, 2]
    assert (len(lived.requests), len(lived.answered)) == (3, 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"window": 100, "overhead": 100}, "leaves no room"),
        ({"window": 9, "model": SimulatedChatModel()}, "not both"),
        ({"model": SimulatedChatModel(replies=["a"])}, "give a model no replies"),
    ],
)
def test_bad_settings_are_one_clear_error(arguments, says):
    with pytest.raises(ValueError, match=says):
        replay(load_transcript("order_desk"), **arguments)


def test_one_checkpointer_holds_many_threads():
    saver = InMemorySaver()
    lived = [
        replay(load_transcript("order_desk"), checkpointer=saver, thread_id=name)
        for name in ("one", "two")
    ]

    assert [len(each.state_messages) for each in lived] == [6, 6]
    assert "order_desk" in transcript_names()
