"""Row M20: the run that was printed once, rebuilt where everybody can repeat it.

Printed: 4,878 and 19,067 visible tokens were billed as 22,978 and about 46,000; the
trigger was 49,152, the request fell to 22.9k, and the checkpoint held no summary.
Ours: the conversation, the window of 65,536, and a model that bills by the line
through the two printed points, with a count that none of ctxlab's counters knows.
"""

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from ctxlab.lab import (
    FactKeeper,
    Replay,
    SimulatedChatModel,
    Transcript,
    areplay,
    load_transcript,
    replay,
)
from ctxlab.lab.billing import bytes_over_three
from ctxlab.lab.replay_results import state_fingerprint
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.settings import Settings
from ctxlab.summaries import is_summary
from ctxlab.tokens import CjkAwareCounter

WINDOW = 65_536
PRINTED = [(4_878, 22_978), (19_067, 46_001)]  # visible tokens, billed tokens
SETTINGS = """
summarization:
  enabled: true
  trigger:
    type: tokens
    value: 49152
  keep:
    type: tokens
    value: 24000
  trim_tokens_to_summarize: 12000
  overhead_tokens: 4000
  use_reported_usage: true
  cjk_chars_per_token: 1.7
  latin_chars_per_token: 4.0
"""
visible = CjkAwareCounter(cjk_chars_per_token=1.7, latin_chars_per_token=4.0)


@cache
def transcript() -> Transcript:
    return load_transcript("chinese_support")


def paste() -> int:
    """Return the index of the long paste."""
    messages = transcript().messages
    users = [i for i, m in enumerate(messages) if isinstance(m, HumanMessage)]
    return max(users, key=lambda index: visible.message(messages[index]))


def true_count(
    messages: Sequence[BaseMessage], *, tools: Sequence[Any] | None = None
) -> float:
    """Count the conversation alone: the overhead stands for all that is hidden."""
    return bytes_over_three([m for m in messages if not isinstance(m, SystemMessage)])


@cache
def model(window: int | None = WINDOW) -> SimulatedChatModel:
    """Return a model whose bill goes through both printed points."""
    (low, low_bill), (_, high_bill) = PRINTED
    messages = transcript().messages
    ends = range(len(messages))
    early = min(ends, key=lambda end: abs(visible(messages[:end]) - low))
    true_low, true_high = true_count(messages[:early]), true_count(messages[: paste()])
    scale = (high_bill - low_bill) / (true_high - true_low)
    overhead = high_bill - scale * true_high
    return SimulatedChatModel(
        context_window=window,
        fixed_overhead=overhead,
        scale=scale,
        true_count=true_count,
    )


def middleware() -> RequestOnlySummarizationMiddleware:
    return RequestOnlySummarizationMiddleware.from_settings(
        FactKeeper(transcript().facts, language="zh"), Settings.from_yaml(SETTINGS)
    )


@cache
def protected() -> Replay:
    return replay(transcript(), [middleware()], model())


@cache
def awaited() -> Replay:
    return asyncio.run(areplay(transcript(), [middleware()], model()))


def compactions(run: Replay) -> list[int]:
    return [i for i, record in enumerate(run.calls) if record.action == "compact"]


def test_m20_the_bill_goes_through_the_printed_points() -> None:
    messages = transcript().messages
    before = messages[: paste()]
    assert visible(before) == pytest.approx(PRINTED[1][0], rel=0.005)
    assert model().bill(before) == pytest.approx(PRINTED[1][1], abs=1)
    assert 12_000 <= model().fixed_overhead <= 18_000


def test_m20_without_a_middleware_turns_fail_at_65_536() -> None:
    bare = replay(transcript(), (), model())
    assert bare.failed_turns
    assert max(each.input_tokens for each in bare.exchanges) > WINDOW


def test_m20_with_it_no_turn_fails() -> None:
    run = protected()
    assert run.failed_turns == []
    assert all(exchange.error is None for exchange in run.exchanges)


def test_m20_it_fires_at_the_long_paste() -> None:
    """46k is below the trigger: only the bill plus the paste can have fired."""
    run = protected()
    first = compactions(run)[0]
    earlier, record = run.calls[first - 1], run.calls[first]
    assert earlier.provider_input_tokens == pytest.approx(46_001, rel=0.01)
    assert record.before_tokens >= 49_152 > earlier.provider_input_tokens
    pasted = transcript().messages[paste()]
    assert run.requests[first][-1].text == pasted.text
    assert record.before_tokens - earlier.provider_input_tokens >= 3_200


def test_m20_after_it_the_request_is_at_most_24_000() -> None:
    record = protected().calls[compactions(protected())[0]]
    assert record.after_tokens <= 24_000
    assert record.provider_input_tokens <= 24_000
    assert record.provider_input_tokens == pytest.approx(22_978, rel=0.06)
    assert record.estimate.local == pytest.approx(4_878, rel=0.3)


def test_m20_every_planted_fact_is_in_the_last_request() -> None:
    facts = transcript().facts
    assert len(protected().facts_in_last_request) == len(facts) > 20


def test_m20_m2_the_checkpoint_is_that_of_a_run_without_middleware() -> None:
    unlimited = replay(transcript(), (), model(None))
    assert state_fingerprint(protected().state_messages) == state_fingerprint(
        unlimited.state_messages
    )
    assert not any(map(is_summary, protected().state_messages))


def test_m20_sync_and_async_send_the_same_requests() -> None:
    one, other = protected(), awaited()
    texts = [
        [[(m.type, m.text) for m in request] for request in run.requests]
        for run in (one, other)
    ]
    assert texts[0] == texts[1]
    assert one.calls == other.calls


def test_m20_x1_one_compaction_is_enough_at_a_time() -> None:
    run = protected()
    assert len(compactions(run)) == sum(1 for r in run.calls if r.summary_calls) <= 2
