"""Every step of the ladder on the same conversations, and what it breaks.

Figures come from the replays. What is said of LangChain's class carries the version:
a test that fails there says that LangChain has repaired it, and the lesson must say so.
"""

import logging
import re
from importlib.metadata import version
from statistics import mean

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ctxlab.calibration import CappedRatioCalibration, RatioCalibration
from ctxlab.lab import FactKeeper, SimulatedChatModel, load_transcript, replay
from ctxlab.lab.ladder import lone_results, opening
from ctxlab.lab.replays import state_fingerprint
from ctxlab.middleware import (
    HandoffSummarizationMiddleware,
    RequestOnlySummarizationMiddleware,
    builtin_summarization,
)
from ctxlab.summaries import is_summary
from ctxlab.tokens import CjkAwareCounter
from tests import refresh_ladder
from tests.ladder import (
    KEEP,
    STEPS,
    actions,
    climbed,
    errors,
    holds_verbatim,
    malformed,
    originals,
    stage,
)

LANGCHAIN = f"langchain {version('langchain')}"
CHAT, LOOP = "chinese_support", "tool_loop"


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def repaired(fault: str) -> str:
    """Return what a failing test of LangChain's class means."""
    return f"{LANGCHAIN} no longer shows it: {fault}. Take it out of lesson 03."


@pytest.mark.parametrize("name", [CHAT, LOOP])
@pytest.mark.parametrize("step", STEPS)
def test_every_step_is_one_call_and_runs_the_same_conversations(step, name):
    lived = climbed(step, name)

    assert lived.transcript is stage(name).transcript
    assert lived.requests
    assert bool(lived.summary_calls) == (step > 0)


# -- step 0: nothing -----------------------------------------------------


@pytest.mark.parametrize("name", [CHAT, LOOP])
def test_step_0_breaks_on_the_window(name):
    lived = climbed(0, name)

    assert lived.failed_turns
    assert all("maximum context length" in reason for _, reason in lived.failed_turns)


# -- step 1: naive -------------------------------------------------------


@pytest.mark.parametrize("name", [CHAT, LOOP])
def test_m1_step_1_gets_past_the_window(name):
    assert climbed(1, name).failed_turns == []


def test_m1_step_1_makes_the_summary_a_users_message_in_the_history():
    first = climbed(1, CHAT).state_messages[0]

    assert isinstance(first, HumanMessage)
    assert first.text.startswith("Summary of the conversation so far:")
    assert not is_summary(first), "nothing tells it from what the user wrote"


@pytest.mark.parametrize(("step", "left"), [(1, 50), (2, 9), (3, 33)])
def test_m1_h10_steps_1_to_3_remove_the_originals(step, left):
    lived = climbed(step, CHAT)

    assert originals(lived) == left
    assert len(lived.transcript.messages) == 102


def test_m1_step_1_splits_pairs():
    talk = opening("engineering_tools", 100)  # of lesson 02, with its sizes
    naive = STEPS[1](FactKeeper(talk.facts), trigger=("tokens", 6_000))

    assert malformed(replay(talk, [naive])) == 16
    assert malformed(climbed(1, LOOP)) == 27


def test_m1_step_1_folds_the_newest_request_away():
    lived = climbed(1, LOOP)
    task = lived.transcript.messages[0].text

    assert holds_verbatim(lived.requests[0], task)
    assert not holds_verbatim(lived.requests[-1], task)


def test_m1_step_1_summarises_its_own_summaries():
    prompts = [prompt[0].text for prompt in climbed(1, LOOP).summary_calls]
    again = [p for p in prompts if "Human: Summary of the conversation so far:" in p]

    assert len(again) == len(prompts) - 1, "all but the first"


# -- step 2: LangChain's class -------------------------------------------


@pytest.mark.parametrize("name", [CHAT, LOOP])
def test_step_2_repairs_neighbouring_pairs(name):
    lived = climbed(2, name)

    assert lived.failed_turns == []
    assert malformed(lived) == 0
    assert is_summary(lived.state_messages[0])


def test_step_2_still_rewrites_the_state():
    lived = climbed(2, CHAT)

    assert originals(lived) < len(lived.transcript.messages), repaired("state")
    assert any(is_summary(m) for m in lived.state_messages), repaired("state")


def test_b11_step_2_folds_the_newest_request_away():
    lived = climbed(2, LOOP)
    task = lived.transcript.messages[0].text

    assert not holds_verbatim(lived.requests[-1], task), repaired("B11")


@pytest.mark.parametrize(("usage", "summaries"), [(True, 11), (False, 0)])
def test_step_2_chinese_with_keep_in_tokens_does_not_get_below_the_window(
    usage, summaries
):
    """Counted at 4 characters a token, 18,060 billed tokens look like 5,223.

    The chat of lesson 03, with its sizes.
    """
    chat = opening("chinese_chat", 150)
    writer = FactKeeper(chat.facts, language="zh")
    sizes = {"trigger": ("tokens", 7_500), "keep": ("tokens", 3_750)}
    lived = replay(
        chat,
        [builtin_summarization(writer, **sizes)],
        model=SimulatedChatModel(context_window=10_000, usage=usage),
        summary_model=writer,
    )

    assert len(lived.summary_calls) == summaries, repaired("Chinese, keep in tokens")
    assert len(lived.failed_turns) == 11, repaired("Chinese, keep in tokens")


def test_b51_step_2_replaces_a_tool_loop_by_a_stock_sentence():
    """With LangChain's own trim; 20,000 tokens (row H1) happen to hold this one."""
    loop = load_transcript(LOOP)
    writer = FactKeeper(loop.facts)
    trimmed = builtin_summarization(writer, trim_tokens_to_summarize=4_000)
    lived = replay(loop, [trimmed], summary_model=writer)
    stock = "Previous conversation was too long to summarize."
    instead = [r for r in lived.requests if any(stock in m.text for m in r)]

    assert (len(instead), len(lived.requests)) == (31, 43), repaired("B51")
    assert len(lived.facts_in_last_request) == 4, repaired("B51")


def test_b56_step_2_does_not_show_old_markers_to_the_summary_model():
    fact = HumanMessage("FACT: the code is 7781")
    filler = [AIMessage(f"{number} " + "and so on " * 80) for number in range(60)]
    writer = SimulatedChatModel()
    SummarizationMiddleware(
        writer, trigger=("messages", 10), keep=("messages", 2)
    ).before_model({"messages": [fact, *filler, HumanMessage("go on")]}, None)
    [prompt] = writer.requests or [[HumanMessage("")]]

    assert "7781" not in prompt[0].text, repaired("B56")


def call(*ids: str) -> AIMessage:
    calls = [{"name": "look", "args": {}, "id": call_id} for call_id in ids]
    return AIMessage("", tool_calls=calls)


def result(call_id: str) -> ToolMessage:
    return ToolMessage("found", tool_call_id=call_id)


LATE = [HumanMessage("q"), call("old"), HumanMessage("x"), call("new")]
LATE += [result("old"), result("new"), HumanMessage("go")]
NOTE = [HumanMessage("q"), call("a", "b"), result("a"), HumanMessage("note")]
NOTE += [result("b"), AIMessage("done")]
SPLIT = {
    "b01: the call of an older step": (LATE, 2, ["old"]),
    "b07: a note between two results": (NOTE, 3, ["b"]),
}


@pytest.mark.parametrize("fault", SPLIT)
def test_step_2_leaves_a_result_without_its_call(fault):
    history, keep, alone = SPLIT[fault]
    sizes = {"trigger": ("messages", 3), "keep": ("messages", keep)}
    builtin = builtin_summarization(SimulatedChatModel(), **sizes)
    update = builtin.before_model({"messages": list(history)}, None)

    assert lone_results(update["messages"]) == alone, repaired(fault)


@pytest.mark.parametrize("fault", SPLIT)
def test_step_3_keeps_those_pairs_together(fault):
    history, keep, _ = SPLIT[fault]
    long = [HumanMessage("before " * 400), AIMessage("said " * 400)]
    step = HandoffSummarizationMiddleware(
        FactKeeper(), trigger=("messages", 5), keep=("messages", keep)
    )
    update = step.before_model({"messages": [*long, *history]}, None)

    assert lone_results(update["messages"]) == []


def test_b43_step_2_pays_a_summary_almost_every_call_under_a_large_overhead():
    """3,500 unseen tokens count towards its trigger, and no summary makes them go."""
    lived = climbed(2, CHAT)

    assert (len(lived.summary_calls), len(lived.requests)) == (46, 50)


# -- step 3: handoff -----------------------------------------------------


def test_step_3_keeps_the_summary_out_of_the_chat():
    lived = climbed(3, CHAT)

    assert lived.failed_turns == []
    assert not any(is_summary(message) for message in lived.state_messages)
    assert sum(map(is_summary, lived.requests[-1])) == 1
    assert malformed(lived) == 0


def test_step_3_counts_only_messages():
    desk = load_transcript("short_tools")
    writer = FactKeeper()
    lived = replay(
        desk,
        [HandoffSummarizationMiddleware(writer)],
        overhead=11_000,
        summary_model=writer,
    )
    billed = max(exchange.input_tokens for exchange in lived.exchanges)

    assert billed == 21_958, "over the trigger of 18,000"
    assert lived.summary_calls == [], "which nobody noticed"


def test_step_3_keeps_messages_not_tokens_and_a_tool_loop_stops_it():
    [(turn, reason)] = climbed(3, LOOP).failed_turns

    assert turn == 1
    assert re.match(
        r"SummaryError: still 2\d,\d{3} tokens after the compaction", reason
    )
    assert "trigger: 18,000" in reason and "lower keep" in reason


# -- step 4: request-only, stateless, by the ratio ------------------------


@pytest.mark.parametrize("step", [4, 5, 6, 7, 8])
@pytest.mark.parametrize("name", [CHAT, LOOP])
def test_m2_from_step_4_on_the_checkpoint_is_not_rewritten(step, name):
    lived = climbed(step, name)
    given = {message.id: message for message in lived.transcript.messages}
    kept = [message for message in lived.state_messages if message.id in given]

    assert not any(is_summary(message) for message in lived.state_messages)
    if not lived.failed_turns:
        assert len(kept) == len(given)
    originals_of_kept = [given[message.id] for message in kept]
    assert state_fingerprint(kept) == state_fingerprint(originals_of_kept)


@pytest.mark.parametrize("step", [4, 5, 6, 7, 8])
@pytest.mark.parametrize("name", [CHAT, LOOP])
def test_from_step_4_on_requests_are_well_formed_and_hold_the_request(step, name):
    lived = climbed(step, name)

    assert malformed(lived) == 0
    if name == LOOP:
        task = lived.transcript.messages[0].text
        assert all(holds_verbatim(request, task) for request in lived.requests)


@pytest.mark.parametrize("step", [4, 5, 6, 7])
def test_b78_stateless_steps_pay_a_summary_on_every_call_over_the_trigger(step):
    lived = climbed(step, CHAT)
    compacted = actions(lived, "compact")

    assert len(compacted) > 10
    assert all(record.summary_calls >= 1 for record in compacted)


def test_m7_step_4_takes_ordinary_requests_for_overflows():
    lived = climbed(4, CHAT)

    assert len(lived.failed_turns) > 2
    assert {reason for _, reason in lived.failed_turns} == {
        "refused: user_message_too_large"
    }
    assert max(errors(lived)) > 30, "estimates over thirty times the bill"


def short_session(calibration):
    """Three turns with many tools; the window is stated, so an overflow is refused."""
    step = RequestOnlySummarizationMiddleware(
        FactKeeper(),
        counter=CjkAwareCounter(),
        remember=False,
        keep=("messages", 20),
        calibration=calibration,
        max_input_tokens=65_536,
    )
    return replay(load_transcript("short_tools"), [step], window=65_536)


def test_m7_step_4_refuses_a_short_session():
    lived = short_session(RatioCalibration())
    paid = [record for record in lived.calls if record.provider_input_tokens]
    first, last = paid[0], lived.calls[-1]

    assert [turn for turn, _ in lived.failed_turns] == [2, 3]
    ratio = first.provider_input_tokens / first.estimate.local
    assert ratio == pytest.approx(905, abs=1), "the bug of row M7, by another session"
    assert last.action == "refuse" and last.estimate.local == 83
    assert last.estimate.effective > 65_536
    assert paid[-1].provider_input_tokens == 10_892


# -- step 5: first aid ---------------------------------------------------


def test_m8_step_5_lets_the_short_session_live():
    assert short_session(CappedRatioCalibration()).failed_turns == []
    assert climbed(5, CHAT).failed_turns == []


def test_m8_step_5_stays_a_rule_of_thumb():
    capped, line = errors(climbed(5, CHAT)), errors(climbed(6, CHAT))

    assert mean(capped) > 0.4
    assert mean(line[1:]) < 0.02  # the first call has no bill to learn from
    extra = len(actions(climbed(5, CHAT), "compact"))
    assert extra > len(actions(climbed(6, CHAT), "compact"))


# -- step 6: the line ----------------------------------------------------


def largest_after(step: int, name: str) -> int:
    """Return the largest request that a compaction left, in billed tokens."""
    bills = [r.provider_input_tokens for r in actions(climbed(step, name), "compact")]
    return max(bill for bill in bills if bill) - stage(name).overhead


def test_m12_step_6_twenty_messages_are_not_a_number_of_tokens():
    chat, loop = largest_after(6, CHAT), largest_after(6, LOOP)

    assert loop > 3 * chat, "the same keep, three times the size"


# -- step 7: keep in tokens ----------------------------------------------


def test_m12_step_7_keeps_close_to_what_was_asked():
    after = [r.provider_input_tokens for r in actions(climbed(7, CHAT), "compact")]

    assert all(0.8 * KEEP < bill < 1.05 * KEEP for bill in after)


def test_x1_step_7_pays_a_summary_on_every_call():
    again, once = climbed(7, CHAT), climbed(8, CHAT)

    assert len(actions(again, "compact")) > 10
    assert len(again.summary_calls) > 25 * len(actions(once, "compact"))


# -- step 8: the reference -----------------------------------------------


def test_x1_step_8_compacts_once_and_reuses_it():
    lived = climbed(8, CHAT)

    assert lived.failed_turns == []
    assert len(actions(lived, "compact")) == 1
    assert len(actions(lived, "reuse")) > 10
    assert len(lived.summary_calls) == 4, "three chunks and their merge"
    assert len(lived.facts_in_last_request) == len(lived.transcript.facts)


def test_step_8_runs_the_tool_loop_to_its_end():
    lived = climbed(8, LOOP)

    assert lived.failed_turns == []
    assert len(lived.facts_in_last_request) == len(lived.transcript.facts)


# -- the map -------------------------------------------------------------


def test_the_map_of_the_ladder_shows_what_these_runs_give():
    shown = refresh_ladder.written(refresh_ladder.INDEX.read_text("utf-8"))

    assert shown == refresh_ladder.table(), "python -m tests.refresh_ladder writes it"
    assert len(refresh_ladder.STEPS) == len(STEPS)
