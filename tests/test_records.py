"""Row X7: the ledger. Parts sum to the total on every call of long replays."""

from functools import cache
from typing import Any

import pytest

from ctxlab.estimates import Estimate, estimate
from ctxlab.lab import FactKeeper, Replay, load_transcript, replay
from ctxlab.middleware import RequestOnlySummarizationMiddleware
from ctxlab.records import PARTS, CallRecord, whole_parts

LONG = ["chinese_support", "tool_loop", "mixed_scripts"]


@cache
def lived(name: str) -> Replay:
    """Replay a conversation in a window that is too small for it."""
    transcript = load_transcript(name)
    middleware = RequestOnlySummarizationMiddleware(
        FactKeeper(transcript.facts),
        trigger=("tokens", 16_000),
        keep=("tokens", 8_000),
        summary_chunk_tokens=5_000,
    )
    return replay(transcript, [middleware], window=24_000, overhead=2_000)


@pytest.mark.parametrize("name", LONG)
def test_x7_the_parts_sum_to_the_total_on_every_call(name: str) -> None:
    records = lived(name).calls
    assert {record.action for record in records} >= {"pass", "reuse", "compact"}
    for record in records:
        total = record.estimate.local + record.estimate.fixed
        assert sum(record.parts.values()) == total
        assert all(tokens >= 0 for tokens in record.parts.values())
        assert set(record.parts) <= set(PARTS)


@pytest.mark.parametrize("name", LONG)
def test_x7_every_call_with_a_bill_has_its_prediction_error(name: str) -> None:
    records = lived(name).calls
    assert len(records) == len(lived(name).requests)
    assert all(record.prediction_error is not None for record in records)


@pytest.mark.parametrize("name", LONG)
def test_x7_a_view_has_a_summary_part_and_no_view_has_none(name: str) -> None:
    for record in lived(name).calls:
        if record.action == "pass":
            assert not record.parts.get("summary")
            assert record.cut == 0
        if record.cut:
            assert record.parts["summary"] > 0
            assert record.after_tokens < record.before_tokens


def record(**more: Any) -> CallRecord:
    given: dict[str, Any] = {
        "action": "pass",
        "parts": {"user": 20, "system": 5},
        "estimate": Estimate(local=20, fixed=5, configured=120, calibrated=90),
    }
    return CallRecord(**{**given, **more})


def test_x7_the_error_is_that_of_the_prediction() -> None:
    assert record(provider_input_tokens=100).prediction_error == pytest.approx(-0.1)
    uncalibrated = Estimate(local=20, fixed=5, configured=120)
    one = record(estimate=uncalibrated, provider_input_tokens=100)
    assert one.prediction_error == pytest.approx(0.2)
    assert record().prediction_error is None


def test_x15_a_record_is_flat_attributes_for_tracing() -> None:
    flat = record(provider_input_tokens=100, notes=("text",)).to_attributes()
    assert flat["ctxlab.action"] == "pass"
    assert flat["ctxlab.parts.user"] == 20
    assert flat["ctxlab.effective"] == 120
    assert flat["ctxlab.signal"] == "configured"
    assert all(isinstance(value, (str, int, float)) for value in flat.values())


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        ({"user": 0.5, "results": 0.5}, 1),
        ({"user": 0.4, "calls": 0.4, "results": 0.4}, 2),
        ({"user": 10.0}, 10),
        ({"user": 1.9, "system": 2.9}, 6),
    ],
)
def test_x7_rounded_parts_sum_to_the_rounded_total(
    parts: dict[str, float], total: int
) -> None:
    assert sum(whole_parts(parts, total).values()) == total


# Row M5: three signals


class Line:
    def predict(self, local_tokens: float) -> float:
        return 1_000 + 2 * local_tokens


def test_m5_configured_assumes_an_overhead_until_there_is_a_line() -> None:
    assert estimate(100, 50, overhead_tokens=4_000).configured == 4_100
    assert estimate(100, 5_000, overhead_tokens=4_000).configured == 5_100
    assert estimate(100, 50, overhead_tokens=4_000, line=Line()).configured == 150


def test_m5_the_largest_signal_decides() -> None:
    alone = estimate(100, 50, overhead_tokens=4_000)
    assert (alone.effective, alone.signal) == (4_100, "configured")
    fitted = estimate(100, 50, overhead_tokens=0, line=Line())
    assert (fitted.effective, fitted.signal) == (1_200, "calibrated")
    billed = estimate(100, 50, overhead_tokens=0, line=Line(), reported=1_300.2)
    assert (billed.effective, billed.signal) == (1_301, "reported")
