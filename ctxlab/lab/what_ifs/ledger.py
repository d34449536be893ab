"""A record for every call of a what-if, with the middleware or without.

>>> from ctxlab.lab.transcripts import load_transcript
>>> from ctxlab.lab.what_ifs.lived import what_if
>>> bare = ledger(what_if(load_transcript("order_desk"), window=8_000))
>>> [record.action for record in bare], bare[0].parts["user"] > 0
(['pass', 'pass', 'pass'], True)

Lesson: 12_tune_on_a_transcript.
"""

from collections.abc import Iterator, Sequence

from ctxlab.estimates import Estimate
from ctxlab.lab.billing import Exchange
from ctxlab.lab.what_ifs.bench import bench_for
from ctxlab.lab.what_ifs.outcome import WhatIf
from ctxlab.records import CallRecord, whole_parts
from ctxlab.settings import Settings


def ledger(tried: WhatIf) -> Sequence[CallRecord]:
    """Return the call records; without the middleware, what it would have counted."""
    return tried.calls if tried.settings else list(_bare(tried))


def _bare(tried: WhatIf) -> Iterator[CallRecord]:
    bench = bench_for(tried.transcript)
    counted = bench.counted(Settings())
    counter, meter = counted.counter, counted.meter
    system = counter.message(bench.system) if bench.system else 0.0
    tools = counter.tools(bench.tools)
    lead = int(bench.system is not None)
    history = meter.measure(tried.state_messages)
    for exchange in tried.exchanges:  # each sent all that was there by then
        parts = history.parts(0, len(exchange.messages) - lead)
        yield _record(exchange, parts, system, tools)


def _record(
    exchange: Exchange, parts: dict[str, float], system: float, tools: float
) -> CallRecord:
    local, fixed = sum(parts.values()), system + tools
    total = Estimate(round(local), round(fixed), round(local) + round(fixed))
    parts = {**parts, "system": parts.get("system", 0.0) + system, "tools": tools}
    return CallRecord(
        action="refuse" if exchange.error else "pass",
        parts=whole_parts(parts, total.configured),
        estimate=total,
        before_tokens=total.effective,
        after_tokens=total.effective,
        provider_input_tokens=None if exchange.error else exchange.input_tokens,
        notes=(f"{type(exchange.error).__name__}",) if exchange.error else (),
    )
