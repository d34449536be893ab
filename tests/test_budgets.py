"""Limit, trigger and keep, for every window and output limit (B35, B37 to B40)."""

from typing import Any

import pytest

from ctxlab.budgets import Budget, budget_for, input_window, output_reserve
from ctxlab.settings import Settings


def budget(
    window: int | None = None,
    learned: int | None = None,
    reserve: int = 0,
    **given: Any,
) -> Budget:
    return budget_for(
        Settings(**given), window=window, learned=learned, reserve=reserve
    )


@pytest.mark.parametrize("window", [None, 4_096, 16_384, 200_000])
@pytest.mark.parametrize("output", [None, 0, 4_096])
def test_b37_every_set_window_leaves_room(
    window: int | None, output: int | None
) -> None:
    reserve = output_reserve(window, {"max_tokens": output}) if window else 0
    found = budget(window, reserve=reserve)
    if window is None:
        assert found.limit is None
        assert found.trigger_tokens == 49_152
        return
    assert found.limit is not None and found.trigger_tokens is not None
    assert window // 2 <= found.limit <= window
    assert 0 < found.keep_tokens < found.trigger_tokens <= 0.85 * found.limit
    assert found.summary_tokens > 0


def test_b35_at_most_half_of_the_window_is_set_aside() -> None:
    assert output_reserve(1_000, {"max_tokens": 800}) == 500
    assert output_reserve(1_000, {"max_completion_tokens": 100}) == 100
    assert output_reserve(1_000, {}, {"max_output_tokens": 300}) == 300
    assert output_reserve(1_000, {"max_tokens": None}, {"max_tokens": "many"}) == 0


def test_b35_what_the_request_asks_for_goes_before_the_model() -> None:
    assert output_reserve(10_000, {"max_tokens": 50}, {"max_tokens": 900}) == 50


def test_b38_a_fraction_needs_a_window() -> None:
    assert budget(65_536, trigger=("fraction", 0.8)).trigger_tokens == 52_428
    with pytest.raises(ValueError, match="give max_input_tokens"):
        budget(trigger=("fraction", 0.8))


def test_b40_a_given_window_wins_over_a_profile() -> None:
    profile = {"max_input_tokens": 1_000_000}
    assert input_window(profile, 32_768) == (32_768, False)
    assert input_window(profile, None) == (1_000_000, True)


@pytest.mark.parametrize("size", [None, 0, -1, "big", 3.5])
def test_b40_a_broken_profile_is_no_window(size: Any) -> None:
    assert input_window({"max_input_tokens": size}, None) == (None, False)
    assert input_window(None, None) == (None, False)


def test_x5_a_learned_limit_holds_if_it_is_smaller() -> None:
    assert budget(65_536, learned=32_768).limit == 32_768
    assert budget(32_768, learned=65_536).limit == 32_768
    assert budget(None, learned=8_192).limit == 8_192


def test_x5_a_fraction_is_of_the_window_and_not_of_what_is_left_of_it() -> None:
    found = budget(10_000, reserve=2_000, trigger=("fraction", 0.5))
    assert found.trigger_tokens == 5_000
    assert found.limit == 8_000


def test_the_trigger_is_never_above_85_percent_of_the_limit() -> None:
    assert budget(40_000).trigger_tokens == 34_000
    assert budget(40_000).due(34_000, 1)
    assert not budget(40_000).due(33_999, 1)


@pytest.mark.parametrize(
    ("trigger", "tokens", "messages", "due"),
    [
        (("tokens", 100), 100, 1, True),
        (("tokens", 100), 99, 999, False),
        (("messages", 5), 0, 5, True),
        ([("tokens", 100), ("messages", 5)], 0, 5, True),
        ([("tokens", 100), ("messages", 5)], 99, 4, False),
        ({"tokens": 100, "messages": 5}, 100, 4, False),
        ({"tokens": 100, "messages": 5}, 100, 5, True),
        ([{"tokens": 100, "messages": 5}, ("messages", 9)], 0, 9, True),
        ({"fraction": 0.5, "tokens": 600}, 500, 1, True),
    ],
)
def test_x14_triggers_by_tokens_messages_fraction_any_and_all(
    trigger: Any, tokens: int, messages: int, due: bool
) -> None:
    found = budget(
        100_000 if "fraction" not in str(trigger) else 1_000,
        trigger=trigger,
        keep=("tokens", 50),
    )
    assert found.due(tokens, messages) is due


def test_keep_by_fraction_and_by_messages() -> None:
    assert budget(100_000, keep=("fraction", 0.2)).keep_tokens == 20_000
    found = budget(100_000, keep=("messages", 8))
    assert (found.keep_messages, found.keep_tokens) == (8, 24_000)


@pytest.mark.parametrize("window", [1_000, 8_192, 24_000, 28_000, 56_000])
def test_a_compaction_always_gets_below_its_trigger(window: int) -> None:
    for trigger in (("tokens", 49_152), ("fraction", 0.5), ("fraction", 0.9)):
        found = budget(window, trigger=trigger)
        assert found.trigger_tokens
        assert found.keep_tokens < found.trigger_tokens


def test_a_summary_takes_a_quarter_of_keep_and_at_most_2_000() -> None:
    assert budget().summary_tokens == 2_000
    assert budget(keep=("tokens", 4_400)).summary_tokens == 1_100


def test_the_ceiling_is_the_limit_or_else_the_trigger() -> None:
    assert budget(40_000).ceiling == 40_000
    assert budget().ceiling == 49_152
    assert budget(trigger=("messages", 9)).ceiling is None
