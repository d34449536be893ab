"""Cuts that split no call from its results: rows H2 to H4, M12, faults B01 to B17."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ctxlab.boundaries import cut_for_tokens, partition_history, safe_cut, units
from tests.strategies import conversations
from tests.well_formed import problems


def calls(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": i} for i in ids])


def result(call_id: str, text: str = "r") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id)


def human(text: str) -> HumanMessage:
    return HumanMessage(text)


SEPARATED = [  # fault B07: a note stands between two results of one step
    human("q"),
    calls("a", "b"),
    result("a"),
    human("note"),
    result("b"),
    AIMessage("done"),
]
CROSSED = [  # fault B01: the older call is answered after the newer one is made
    human("q"),
    calls("old"),
    human("x"),
    calls("new"),
    result("old"),
    result("new"),
    human("go"),
]


def test_a_unit_is_a_call_with_all_its_results_wherever_they_stand() -> None:
    assert units(SEPARATED) == [(0, 1), (1, 5), (5, 6)]


def test_overlapping_units_are_one() -> None:
    assert units(CROSSED) == [(0, 1), (1, 6), (6, 7)]


def test_reused_call_ids_belong_to_the_nearest_open_call() -> None:
    steps = [calls("c1"), result("c1"), calls("c1"), result("c1")]
    assert units(steps) == [(0, 2), (2, 4)]


def test_two_open_calls_with_one_id_stay_with_both_results() -> None:
    steps = [calls("c1"), calls("c1"), result("c1"), result("c1"), human("next")]
    assert units(steps) == [(0, 4), (4, 5)]


def test_a_result_of_an_invalid_call_stays_with_it() -> None:
    broken = {"name": "f", "args": "{", "id": "bad", "error": "no JSON"}
    step = [human("q"), AIMessage("", invalid_tool_calls=[broken]), result("bad")]
    assert units(step) == [(0, 1), (1, 3)]


def test_an_old_call_nobody_answered_does_not_tie_the_rest() -> None:
    steps = [calls("a"), human("never mind"), AIMessage("ok"), human("next")]
    assert units(steps) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_units_from_a_start_are_those_of_the_tail() -> None:
    assert units(CROSSED, start=6) == [(6, 7)]
    assert units(CROSSED, start=7) == []


def test_no_messages_no_units() -> None:
    assert units([]) == []
    assert safe_cut([], 3) == 0
    assert partition_history([]) == ([], [])
    assert cut_for_tokens([], 10, tokens_from=lambda index: 0) == 0


# --- safe_cut ---------------------------------------------------------------------


@pytest.mark.parametrize("keep", range(1, 8))
def test_b01_no_kept_result_without_its_call(keep: int) -> None:
    kept = CROSSED[safe_cut(CROSSED, len(CROSSED) - keep) :]
    assert not problems(kept)
    assert len(kept) == (1 if keep == 1 else 7 if keep == 7 else 6)


def test_b02_parallel_results_move_together() -> None:
    history = [human("q"), calls("a", "b"), result("a", "x" * 4000), result("b")]
    history += [AIMessage("done"), human("next")]
    assert [safe_cut(history, index) for index in range(7)] == [0, 1, 1, 1, 4, 5, 6]


def test_b05_the_tail_of_a_trim_does_not_begin_with_a_result() -> None:
    history = [human("q"), calls("a"), result("a"), human("q2"), AIMessage("a2")]
    assert history[safe_cut(history, 2)] is history[1]


def test_b06_an_unfinished_step_is_never_cut_from_its_place() -> None:
    history = [human("q"), AIMessage("a"), human("b"), calls("x", "y")]
    assert [safe_cut(history, index) for index in range(5)] == [0, 1, 2, 3, 3]
    history.append(result("x"))  # y still waits
    assert safe_cut(history, 5) == 3
    history.append(result("y"))
    assert safe_cut(history, 6) == 6


@pytest.mark.parametrize("keep", range(1, 5))
def test_b07_results_apart_from_their_call_stay_with_it(keep: int) -> None:
    kept = SEPARATED[safe_cut(SEPARATED, len(SEPARATED) - keep) :]
    assert not problems(kept)
    assert kept in ([SEPARATED[5]], SEPARATED[1:])


def test_b09_every_call_and_result_is_on_one_side_only() -> None:
    history = [human("h" * 2000), calls("a", "b"), result("a"), result("b")]
    for index in range(5):
        cut = safe_cut(history, index)
        assert history[:cut] + history[cut:] == history
        assert not problems(history[cut:])


def test_b10_orphan_results_make_nothing_worse() -> None:
    history = [result("z"), human("a"), AIMessage("b"), result("y"), human("c")]
    history.append(result("x"))
    for index in range(7):
        tail = history[safe_cut(history, index) :]
        assert problems(tail) <= problems(history)


def test_b17_the_kept_part_is_the_input_from_the_cut_on() -> None:
    history: list[BaseMessage] = []
    for step in "1234":
        history += [calls(step), result(step)]
    cut = safe_cut(history, 5)
    assert cut == 4
    assert all(
        kept is message
        for kept, message in zip(history[cut:], history[4:], strict=True)
    )


@given(conversations(), st.integers(-3, 40))
def test_i1_a_cut_leaves_a_tail_that_providers_accept(
    history: list[BaseMessage], index: int
) -> None:
    cut = safe_cut(history, index)
    assert 0 <= cut <= max(0, min(index, len(history)))
    assert not problems(history[cut:])


@given(conversations(malformed=True), st.integers(0, 40))
def test_i1_a_cut_makes_a_malformed_history_no_worse(
    history: list[BaseMessage], index: int
) -> None:
    assert problems(history[safe_cut(history, index) :]) <= problems(history)


@given(conversations(malformed=True))
def test_units_cover_the_history_and_never_overlap(history: list[BaseMessage]) -> None:
    ranges = units(history)
    assert [index for first, last in ranges for index in range(first, last)] == list(
        range(len(history))
    )
    assert all(earlier[1] == later[0] for earlier, later in pairwise(ranges))


@given(conversations(malformed=True))
def test_the_safe_cuts_are_the_unit_boundaries(history: list[BaseMessage]) -> None:
    cuts = {safe_cut(history, index) for index in range(len(history) + 1)}
    starts = {first for first, _ in units(history)} | {0}
    assert cuts - {len(history)} == starts - {len(history)}


def test_cutting_reads_the_history_once() -> None:
    """A cut costs O(messages), so twice the history is twice the reads, not four."""

    class Counted(list[BaseMessage]):
        reads = 0

        def __getitem__(self, place):  # type: ignore[no-untyped-def]
            got = super().__getitem__(place)
            Counted.reads += len(got) if isinstance(place, slice) else 1
            return got

    step = [calls("a"), result("a"), human("q")]
    reads = []
    for size in (200, 400):
        Counted.reads = 0
        safe_cut(Counted(step * size), 3 * size // 2 + 1)
        reads.append(Counted.reads)
    assert reads[1] <= 2 * reads[0] + 10


# --- partition_history --------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, -1])
def test_h2_keep_below_one_is_refused(keep: int) -> None:
    with pytest.raises(ValueError, match="keep must be at least 1"):
        partition_history([human("q")], keep)


def test_h2_a_cut_on_a_result_moves_back_to_its_call() -> None:
    history = [human("a"), AIMessage("b"), human("q"), calls("c"), result("c")]
    old, kept = partition_history(history, keep=1)
    assert kept == history[2:]  # the call, its result, and the newest user message
    assert old == history[:2]


def test_h2_a_result_without_a_call_is_refused() -> None:
    with pytest.raises(ValueError, match="result of call 'gone'"):
        partition_history([human("q"), result("gone")], keep=1)


def test_h2_an_old_result_without_a_call_is_folded_away() -> None:
    history = [result("gone"), human("a"), AIMessage("b"), human("c")]
    old, kept = partition_history(history, keep=2)
    assert (old, kept) == (history[:2], history[2:])


def test_h3_system_messages_and_the_newest_user_message_stay() -> None:
    history = [SystemMessage("s"), human("old"), human("TASK"), SystemMessage("t")]
    history += [calls("a"), result("a"), calls("b"), result("b")]
    old, kept = partition_history(history, keep=2)
    assert old == [history[1], history[4], history[5]]
    assert kept == [history[0], history[2], history[3], history[6], history[7]]


def test_h3_a_summary_is_not_the_newest_user_message() -> None:
    summary = HumanMessage("s", additional_kwargs={"lc_source": "summarization"})
    history = [human("TASK"), AIMessage("a"), summary, AIMessage("b"), AIMessage("c")]
    assert partition_history(history, keep=1)[1] == [history[0], history[4]]


def test_b11_the_task_of_a_long_tool_loop_stays() -> None:
    history: list[BaseMessage] = [human("TASK: do X")]
    for step in "123456":
        history += [calls(step), result(step, "r" * 200)]
    _, kept = partition_history(history, keep=4)
    assert kept == [history[0], *history[-4:]]


def test_b12_a_user_message_is_left_after_a_tool_step() -> None:
    history = [human("h" * 2000), calls("a", "b"), result("a"), result("b")]
    for keep in range(1, 5):
        assert history[0] in partition_history(history, keep)[1]


@given(conversations(), st.integers(1, 20))
def test_h3_h4_a_partition_loses_nothing_and_splits_no_call(
    history: list[BaseMessage], keep: int
) -> None:
    old, kept = partition_history(history, keep)
    place = {id(message): index for index, message in enumerate(history)}
    for part in (old, kept):
        indices = [place[id(message)] for message in part]
        assert indices == sorted(indices)
    assert sorted(place[id(m)] for m in [*old, *kept]) == list(range(len(history)))
    assert len(kept) >= min(keep, len(history))
    assert not problems(kept)
    assert all(m in kept for m in history if isinstance(m, SystemMessage))
    newest = [m for m in history if isinstance(m, HumanMessage)][-1]
    assert sum(m is newest for m in kept) == 1


# --- cut_for_tokens -----------------------------------------------------------------


def cut(history: Sequence[BaseMessage], sizes: list[int], budget: int, first: int = 0):  # type: ignore[no-untyped-def]
    def tokens_from(index: int) -> int:
        return sum(sizes[index:])

    return cut_for_tokens(history, budget, tokens_from=tokens_from, first=first)


TURNS = [human("a"), AIMessage("b"), human("c"), AIMessage("d"), human("e")]


def test_m12_the_cut_keeps_as_many_tokens_as_fit() -> None:
    sizes = [10, 20, 30, 40, 50]
    cuts = [cut(TURNS, sizes, budget) for budget in (150, 149, 120, 90, 89, 50)]
    assert cuts == [0, 1, 2, 3, 4, 4]


def test_m12_the_newest_unit_always_stays() -> None:
    assert cut(TURNS, [1, 1, 1, 1, 99], budget=5) == 4
    step = [human("q"), calls("a"), result("a", "huge")]
    assert cut(step, [1, 1, 99], budget=5) == 1


def test_m12_going_back_is_fine_while_it_fits_the_budget() -> None:
    history = [human("q"), calls("a"), result("a"), AIMessage("done"), human("n")]
    assert cut(history, [5, 0, 10, 10, 10], budget=30) == 1


def test_m12_forward_only_if_going_back_breaks_the_budget() -> None:
    history = [human("q"), calls("a"), result("a"), AIMessage("done"), human("n")]
    assert cut(history, [5, 10, 10, 10, 10], budget=30) == 3


def test_m12_never_before_the_first_allowed_cut() -> None:
    assert cut(TURNS, [1] * 5, budget=100, first=2) == 2
    assert cut(TURNS, [1] * 5, budget=1, first=5) == 5


@given(conversations(), st.data())
def test_m12_a_token_cut_is_safe_and_the_largest_that_fits(
    history: list[BaseMessage], data: st.DataObject
) -> None:
    one_each = st.integers(0, 50)
    sizes = data.draw(st.lists(one_each, min_size=len(history), max_size=len(history)))
    budget = data.draw(st.integers(0, sum(sizes) + 1))
    found = cut(history, sizes, budget)
    starts = [first for first, _ in units(history)]
    fitting = [first for first in starts if sum(sizes[first:]) <= budget]
    assert found == min([*fitting, starts[-1]])
    assert not problems(history[found:])
