"""Fidelity over generations (row X10): what is known after 1, 3, 5 compactions."""

import json

import pandas as pd
import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage

from ctxlab.lab import FactKeeper, FailingWriter, Transcript, fidelity, load_transcript
from ctxlab.lab.fidelities import KINDS
from ctxlab.lab.transcripts import Fact
from ctxlab.middleware import (
    HandoffSummarizationMiddleware,
    NaiveSummarizationMiddleware,
    RequestOnlySummarizationMiddleware,
    builtin_summarization,
)

SIZES = {"trigger": ("messages", 7), "keep": ("messages", 3)}
EVERY = tuple(range(1, 100))
IDENTIFIERS = [f"order A{number}" for number in range(100, 120)]


def talk() -> Transcript:
    """Return twenty turns; each user's message plants one fact, by turns of a kind."""
    messages, facts = [], []
    for number, text in enumerate(IDENTIFIERS):
        kind = KINDS[number % len(KINDS)]
        facts.append(Fact(kind=kind, text=text, message=len(messages)))
        asked = f"About {text}: " + "please look into it carefully. " * 9
        messages += [HumanMessage(asked), AIMessage("I did. " * 60)]
    return Transcript(messages, facts=facts, name="talk")


STEPS = {
    "naive": lambda writer: NaiveSummarizationMiddleware(writer, **SIZES),
    "builtin": lambda writer: builtin_summarization(writer, **SIZES),
    "handoff": lambda writer: HandoffSummarizationMiddleware(writer, **SIZES),
    "reference": lambda writer: RequestOnlySummarizationMiddleware(writer, **SIZES),
}


def shares(rows, kind="all"):
    return [row[kind] for row in rows]


@pytest.mark.parametrize("step", STEPS)
def test_x10_a_writer_that_keeps_everything_loses_nothing_on_any_step(step):
    rows = fidelity(talk(), STEPS[step](FactKeeper(IDENTIFIERS)))

    assert [row["compactions"] for row in rows] == [1, 3, 5]
    assert shares(rows) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("step", STEPS)
def test_x10_a_writer_with_little_room_loses_more_every_time(step):
    rows = fidelity(talk(), STEPS[step](FactKeeper(IDENTIFIERS, max_tokens=60)))
    first, *_, last = shares(rows)

    assert shares(rows) == sorted(shares(rows), reverse=True)
    assert last < 0.8 < first


def test_x10_an_empty_summary_leaves_what_the_tail_holds():
    forgetful = NaiveSummarizationMiddleware(FailingWriter("blank"), **SIZES)
    rows = fidelity(talk(), forgetful, after=EVERY)

    # Of the three newest messages two are users', each with a fact.
    assert all(row["all"] == 2 / row["stated"] for row in rows)


def test_x10_every_rewritten_request_is_a_generation():
    writer = FactKeeper(IDENTIFIERS)
    rows = fidelity(talk(), STEPS["naive"](writer), after=EVERY)

    assert len(rows) == len(writer.requests) > 5
    assert [row["compactions"] for row in rows] == list(EVERY[: len(rows)])
    assert [row["message"] for row in rows] == sorted(row["message"] for row in rows)


def test_x10_shares_are_by_class_of_what_was_stated_so_far():
    [row] = fidelity(talk(), STEPS["naive"](FailingWriter("blank")), after=[1])

    # At the seventh message four facts are stated; the tail begins with the third.
    assert (row["message"], row["stated"]) == (7, 4)
    assert [row[kind] for kind in KINDS] == [0.0, 0.0, 1.0, 1.0, None]
    assert row["all"] == 0.5


def test_x10_without_a_compaction_there_is_no_row():
    assert fidelity(talk(), []) == []
    assert fidelity(talk(), RequestOnlySummarizationMiddleware(FactKeeper())) == []


def test_x10_several_middlewares_are_measured_together():
    class Passing(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request)

    both = [Passing(), STEPS["handoff"](FactKeeper(IDENTIFIERS))]

    assert shares(fidelity(talk(), both)) == [1.0, 1.0, 1.0]


def test_x10_a_middleware_that_writes_no_summary_is_measured_too():
    loop = load_transcript("tool_loop")
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=20_000)])
    rows = fidelity(loop, clearing)

    assert [row["compactions"] for row in rows] == [1, 3, 5]
    assert rows[-1]["all"] < 1


def test_x10_the_answer_of_a_failed_turn_counts_as_lost():
    """Nobody heard it: an overflow is a loss like any other."""
    too_large = HumanMessage("read this: " + "word " * 2_000)
    messages = [
        HumanMessage("a"),
        AIMessage("code 11"),
        too_large,
        AIMessage("code 22"),
    ]
    messages += [HumanMessage("b"), AIMessage("done")]
    facts = [
        Fact(kind="identifier", text=text, message=index)
        for text, index in {"code 11": 1, "code 22": 3}.items()
    ]
    naive = NaiveSummarizationMiddleware(
        FactKeeper(["code 11", "code 22"]),
        trigger=("messages", 4),
        keep=("messages", 1),
    )
    told = Transcript(messages, facts=facts)

    assert shares(fidelity(told, naive)) == [1.0]
    assert shares(fidelity(told, naive, window=1_000)) == [0.5]


@pytest.mark.parametrize("name", ["mixed_scripts", "tool_loop"])
def test_x10_the_reference_keeps_every_fact_of_the_transcripts(name):
    transcript = load_transcript(name)
    writer = FactKeeper(transcript.facts, language=transcript.language)
    sizes = {"trigger": ("tokens", 10_000), "keep": ("tokens", 6_000)}
    rows = fidelity(transcript, RequestOnlySummarizationMiddleware(writer, **sizes))

    assert [row["compactions"] for row in rows] in ([1, 3], [1, 3, 5])
    assert set(shares(rows)) == {1.0}


def test_x10_the_rows_are_a_table():
    rows = fidelity(talk(), STEPS["handoff"](FactKeeper(IDENTIFIERS)))
    table = pd.DataFrame(rows).set_index("compactions")

    assert list(table.columns) == ["message", "stated", *KINDS, "all"]
    assert list(table.index) == [1, 3, 5]
    assert json.loads(json.dumps(rows)) == rows


def test_x10_without_planted_facts_there_is_nothing_to_measure():
    bare = Transcript([HumanMessage("hi"), AIMessage("hello")], name="bare")

    with pytest.raises(ValueError, match="bare has no planted facts"):
        fidelity(bare, [])
