"""Long conversations lived through a window that is too small for them.

Rows X1, X2, X4 and I1, on the transcripts of the bench: no failed turn, every planted
fact in the last request, no malformed request, the checkpoint as without middleware,
and no summary more than the arithmetic asks for.
"""

import math
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from ctxlab.lab import (
    FactKeeper,
    Replay,
    SimulatedChatModel,
    load_transcript,
    replay,
)
from ctxlab.lab.replay_results import state_fingerprint
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import Compaction
from ctxlab.settings.knobs import DEFAULT_TRIGGER
from ctxlab.summaries import is_summary
from tests.benchmarks.peers.truth import true_count
from tests.well_formed import problems

TRIGGER, KEEP, CHUNK, WINDOW = 24_000, 12_000, 6_000, 32_768
NAMES = ["chinese_chat", "chinese_support", "mixed_scripts", "tool_loop"]


@dataclass
class Lived:
    """A replay with its compactions."""

    run: Replay
    middleware: RequestOnlySummarizationMiddleware
    writer: FactKeeper
    done: list[Compaction] = field(default_factory=list)


@cache
def lived(name: str, *, usage: bool = True) -> Lived:
    transcript = load_transcript(name)
    done: list[Compaction] = []
    writer = FactKeeper(transcript.facts, language=transcript.language)
    middleware = RequestOnlySummarizationMiddleware(
        writer,
        trigger=("tokens", TRIGGER),
        keep=("tokens", KEEP),
        summary_chunk_tokens=CHUNK,
        after_compaction=done.append,
    )
    model = SimulatedChatModel(context_window=WINDOW, fixed_overhead=3_000, usage=usage)
    run = replay(transcript, [middleware], model)
    return Lived(run, middleware, writer, done)


@pytest.mark.parametrize("name", NAMES)
def test_no_turn_fails_and_every_fact_is_in_the_last_request(name: str) -> None:
    one = lived(name)
    assert one.run.failed_turns == []
    assert len(one.run.facts_in_last_request) == len(one.run.transcript.facts) > 10
    assert all(exchange.error is None for exchange in one.run.exchanges)


@pytest.mark.parametrize("name", NAMES)
def test_i1_no_request_is_malformed(name: str) -> None:
    for request in lived(name).run.requests:
        assert not problems(request)


@pytest.mark.parametrize("name", NAMES)
def test_m2_the_checkpoint_is_as_without(name: str) -> None:
    bare = replay(load_transcript(name), (), SimulatedChatModel())
    assert state_fingerprint(bare.state_messages) == state_fingerprint(
        lived(name).run.state_messages
    )


@pytest.mark.parametrize("name", NAMES)
def test_x1_compactions_are_within_1_3_of_the_minimum(name: str) -> None:
    one = lived(name)
    count = one.middleware.policy.counter.message
    told = sum(sum(map(count, each.span)) for each in one.done)
    assert len(one.done) <= math.ceil(1.3 * told / (TRIGGER - KEEP))


@pytest.mark.parametrize("name", NAMES)
def test_x1_no_summary_call_is_wasted(name: str) -> None:
    """One call a chunk, and at most one merge for each compaction."""
    one = lived(name)
    count = one.middleware.policy.counter.message
    spans = [sum(map(count, each.span)) for each in one.done]
    chunks = [math.ceil(span / (0.9 * CHUNK)) for span in spans]
    most = sum(chunk + (chunk > 1) for chunk in chunks)
    assert len(one.writer.requests) <= most
    assert len(one.writer.requests) == sum(r.summary_calls for r in one.run.calls)


@pytest.mark.parametrize("name", NAMES)
def test_x2_a_request_grows_at_its_end_between_two_compactions(name: str) -> None:
    run = lived(name).run
    for (earlier, later), record in zip(
        pairwise(run.requests), run.calls[1:], strict=True
    ):
        if record.action in ("pass", "reuse"):
            assert later[: len(earlier)] == earlier


def test_x4_without_usage_and_without_a_profile_nothing_overflows() -> None:
    run = lived("chinese_chat", usage=False).run
    assert run.failed_turns == []
    assert all(exchange.error is None for exchange in run.exchanges)
    assert {record.estimate.signal for record in run.calls} == {"configured"}


@pytest.mark.parametrize("name", ["chinese_chat", "chinese_support"])
def test_x4_what_counting_misses_of_o200k_is_less_than_the_trigger_leaves(
    name: str,
) -> None:
    pytest.importorskip("bpe_openai")
    transcript = load_transcript(name)
    writer = FactKeeper(transcript.facts, language="zh")
    model = SimulatedChatModel(
        context_window=65_536, usage=False, true_count=true_count()
    )
    run = replay(transcript, [RequestOnlySummarizationMiddleware(writer)], model)
    assert all(exchange.error is None for exchange in run.exchanges)
    shares = [
        record.estimate.effective / exchange.input_tokens
        for record, exchange in zip(run.calls, run.exchanges, strict=True)
    ]
    assert min(shares) > DEFAULT_TRIGGER[1] / 65_536 == 0.75


def test_x2_only_one_summary_is_in_a_request() -> None:
    counts: set[Any] = {
        sum(map(is_summary, request)) for request in lived("chinese_chat").run.requests
    }
    assert counts == {0, 1}
