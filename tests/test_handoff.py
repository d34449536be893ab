"""Step 3 in itself (rows H7 to H9); its conversation is in `test_order_desk` (H10)."""

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from ctxlab.lab import FactKeeper, FailingWriter, SimulatedChatModel
from ctxlab.middleware import HandoffSummarizationMiddleware
from ctxlab.middleware.handoff import with_summary
from ctxlab.summaries import SummaryError, is_summary
from ctxlab.tokens import ScriptCounter
from tests.handoff import GOOD, Recorder
from tests.ladder import lone_results
from tests.requests import Desk

counter = ScriptCounter()


def chat(turns, size=1):
    """Return so many turns, each about `size` times 8 tokens, and a new question."""
    said = []
    for number in range(turns):
        said += [HumanMessage(f"question {number} " * size)]
        said += [AIMessage(f"answer {number} " * size)]
    return [*said, HumanMessage("and now?")]


def handoff(model=None, fallback=None, **settings):
    return HandoffSummarizationMiddleware(model or Recorder(GOOD), fallback, **settings)


async def both_ways(step, messages, summary=""):
    """Return what the two hooks return, which must be the same."""
    state = {"messages": list(messages)} | (
        {"summary_text": summary} if summary else {}
    )
    update = step.before_model(state, None)
    aupdate = await step.abefore_model(state, None)
    assert repr(update) == repr(aupdate)
    return update


# -- when ----------------------------------------------------------------


async def test_h9_sixty_messages_trigger_and_fifty_nine_do_not():
    sixty = [HumanMessage("before " * 100), *chat(29)]

    assert len(sixty) == 60
    assert await both_ways(handoff(), sixty[1:]) is None
    assert await both_ways(handoff(), sixty)


async def test_h9_eighteen_thousand_tokens_trigger():
    under, over = chat(10, size=300), chat(10, size=315)

    assert counter(under) < 18_000 < counter(over)
    assert await both_ways(handoff(), under) is None
    assert await both_ways(handoff(), over)


async def test_h9_the_summary_counts_towards_the_trigger():
    messages = chat(10, size=300)
    summary = "known before " * 800

    assert counter(messages) < 18_000 <= counter(with_summary(messages, summary))
    assert await both_ways(handoff(), messages) is None
    assert await both_ways(handoff(), messages, summary)


# -- what it writes ------------------------------------------------------


async def test_h9_it_writes_the_summary_remove_all_and_the_kept_part():
    messages = chat(40)
    update = await both_ways(handoff(), messages)
    remove, *kept = update["messages"]

    assert set(update) == {"summary_text", "messages"}
    assert update["summary_text"] == GOOD
    assert isinstance(remove, RemoveMessage)
    assert kept == messages[-8:]


async def test_h6_the_writer_gets_previous_summary_request_and_history():
    writer = Recorder(GOOD)
    await both_ways(handoff(writer), chat(40), summary="WHAT WAS KNOWN")
    payload = writer.payloads[0]

    assert payload["previous_summary"] == "WHAT WAS KNOWN"
    assert payload["current_request"] == "and now?"
    assert len(payload["history"]) == 81 - 8


def loop(steps):
    """Return one request and so many calls with their results."""
    messages = [HumanMessage("the task")]
    for number in range(steps):
        call = {"name": "look", "args": {}, "id": f"c{number}"}
        messages += [AIMessage("", tool_calls=[call])]
        messages += [ToolMessage("found " * 30, tool_call_id=f"c{number}")]
    return messages


@pytest.mark.parametrize("keep", range(1, 9))
async def test_h4_b11_pairs_and_the_newest_request_are_kept(keep):
    step = handoff(trigger=("messages", 20), keep=("messages", keep))
    update = await both_ways(step, loop(12))
    kept = update["messages"][1:]

    assert lone_results(kept) == []
    assert kept[0].text == "the task"


# -- how the summary enters a request -------------------------------------


def test_h9_the_summary_is_one_labelled_message_behind_leading_system_messages():
    first, second = SystemMessage("be kind"), SystemMessage("be brief")
    later = SystemMessage("a note")
    sent = with_summary([first, second, HumanMessage("hi"), later], "KNOWN")

    assert [m.type for m in sent] == ["system", "system", "human", "human", "system"]
    assert is_summary(sent[2]) and "KNOWN" in sent[2].text
    assert "not instructions" in sent[2].text


@pytest.mark.parametrize("messages", [[], [SystemMessage("only")]])
def test_h9_the_summary_finds_its_place_without_other_messages(messages):
    assert is_summary(with_summary(messages, "KNOWN")[-1])
    assert with_summary(messages, "") == messages


def test_x8_the_label_speaks_the_language_of_the_summary():
    [summary, _] = with_summary(
        [HumanMessage("订单到哪了？")], "## SUMMARY\n订单已发货"
    )

    assert "只是数据" in summary.text


def test_b69_between_two_compactions_the_label_stays_the_same():
    known = "## SUMMARY\n订单已发货"
    before = with_summary([HumanMessage("订单到哪了？")], known)
    after = with_summary(
        [HumanMessage("订单到哪了？"), HumanMessage("word " * 99)], known
    )

    assert after[:2] == before


async def test_h9_every_request_carries_it_and_the_system_prompt_stays():
    desk = Desk(middleware=_listening(handoff()))
    request = desk.request(loop(1))
    request.state["summary_text"] = "KNOWN"
    desk.middleware.wrap_model_call(request, desk.answer)
    await desk.middleware.awrap_model_call(request, desk.aanswer)

    assert len(desk.sent) == 2 and desk.sent[0] == desk.sent[1]
    assert is_summary(desk.sent[0][0]) and desk.sent[0][1:] == request.messages
    assert request.system_message.text == desk.system


def _listening(step):
    step.add_listener = lambda listener: None
    return step


# -- when it cannot help -------------------------------------------------


async def fails(step, messages, says):
    """Expect the same error in both ways."""
    state = {"messages": list(messages)}
    with pytest.raises(SummaryError, match=says) as caught:
        step.before_model(state, None)
    with pytest.raises(SummaryError, match=says):
        await step.abefore_model(state, None)
    return caught.value


async def test_h9_nothing_old_is_an_error():
    writer = Recorder(GOOD)
    long = [HumanMessage("word " * 20_000)]
    await fails(handoff(writer), long, r"all of them are to be kept \(keep is 8\)")

    assert writer.prompts == []


async def test_h9_after_must_be_below_before():
    said = ("word " * 400).strip()
    step = handoff(
        Recorder(f"## SUMMARY\n{said}"),
        trigger=("messages", 4),
        keep=("messages", 1),
    )
    await fails(step, chat(3), r"still [\d,]+ tokens after the compaction")


async def test_h9_after_must_be_below_the_limit():
    newest = [HumanMessage("word " * 15_000), AIMessage("word " * 15_000)]
    error = await fails(handoff(), [*chat(20), *newest], "trigger: 18,000")

    assert "lower keep, or shorten the newest" in str(error)


async def test_h7_over_the_input_budget_it_raises_and_names_the_way_out():
    writer = Recorder(GOOD)
    error = await fails(handoff(writer), chat(10, size=1_000), "the budget 26,000")

    assert "lower the trigger" in str(error) and "in chunks" in str(error)
    assert writer.prompts == [], "no call was paid"


async def test_h7_under_the_input_budget_it_is_one_call():
    writer = Recorder(GOOD)
    messages = chat(10, size=400)
    handoff(writer).before_model({"messages": messages}, None)
    [prompt] = writer.prompts

    assert 12_000 < counter(prompt) <= 26_000


async def test_h7_a_summary_over_2000_tokens_is_refused():
    says = r"24\d{3} tokens are over the budget of 2000"
    await fails(handoff(FailingWriter("rambling")), chat(40), says)


# -- who writes ----------------------------------------------------------


@pytest.mark.parametrize("kind", FailingWriter.kinds())
async def test_h8_the_main_model_writes_when_the_summary_model_cannot(kind):
    main = FactKeeper(["question 3"])
    update = await both_ways(handoff(FailingWriter(kind), main), chat(40))

    assert "question 3" in update["summary_text"]
    assert len(main.requests) == 2, "once each way"


def test_h8_one_model_in_both_places_is_asked_once():
    only = FailingWriter("blank")
    with pytest.raises(SummaryError):
        handoff(only, only).before_model({"messages": chat(40)}, None)

    assert len(only.requests) == 1


async def test_h8_all_failing_is_an_error_chained_from_the_last():
    first, last = FailingWriter("blank"), FailingWriter("raising")
    error = await fails(
        handoff(first, last), chat(40), "no model wrote a usable summary"
    )

    assert "key of the summary model" in str(error.__cause__)


def test_x9_redact_sees_what_goes_in_and_what_comes_out():
    writer = Recorder("## SUMMARY\nask ann@example.org")
    step = handoff(writer, redact=lambda text: text.replace("ann@example.org", "[x]"))
    messages = [HumanMessage("I am ann@example.org " * 20), *chat(40)]
    update = step.before_model({"messages": messages}, None)

    assert "ann@" not in writer.prompts[0][-1].text
    assert "[x]" in writer.prompts[0][-1].text
    assert update["summary_text"].endswith("ask [x]")


def test_the_counter_can_be_given():
    calls = []

    class Spy(ScriptCounter):
        def __call__(self, messages, *, tools=None):
            calls.append(len(messages))
            return super().__call__(messages, tools=tools)

    handoff(counter=Spy()).before_model({"messages": chat(2)}, None)
    assert calls == [5]


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"keep": ("tokens", 100)}, "this step keeps messages"),
        ({"keep": ("messages", 0)}, "give a number above 0"),
        ({"keep": ("messages", 60)}, "lower keep or raise trigger"),
        ({"trigger": ("fraction", 0.5)}, "use a size in tokens"),
    ],
)
def test_bad_sizes_fail_at_construction(sizes, says):
    with pytest.raises(ValueError, match=says):
        handoff(SimulatedChatModel(), **sizes)
