"""How well four calibrations predict the next bill, on agent threads.

    python -m tests.benchmarks.calibration_accuracy

Agent threads are billed by rules that are none of our counters, with a hidden fixed
part of 3,000 tokens; each request is predicted from the usage of those before it, from
the third on. Every thread runs twice: growing, and with its view cut back whenever it
passes 12,000 local tokens. Goals: mean <= 0.5 %, p95 <= 2 %, >= 90 % within 1 %; with
10 % garbage p95 <= 3 %. They are for bills of real tokenizers, which the extra
`tokenizers` holds. No provider bills by bytes; the simulated one does, so that it needs
no tokenizer, and the two byte rules show how far off a stranger may be.
"""

import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, product

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ctxlab.calibration import (
    AnchoredCalibration,
    Calibration,
    CappedRatioCalibration,
    LinearCalibration,
    RatioCalibration,
    UsageSample,
)
from ctxlab.lab import load_transcript, transcript_names
from ctxlab.tokens import CjkAwareCounter, ScriptCounter, TokenCounter
from tests.benchmarks.token_counts import real_tokenizers

Thread = list[tuple[float, float]]  # one request: (local, billed) tokens
Rule = Callable[[str], float]

FITS: list[Calibration] = [
    RatioCalibration(),
    CappedRatioCalibration(),
    LinearCalibration(),
    AnchoredCalibration(),
]
HIDDEN_TOKENS, VIEW_TOKENS, KEPT_TOKENS = 3_000, 12_000, 5_000


def billing_rules() -> dict[str, Rule]:
    """Return tokens of a text by rule: real tokenizers if installed, byte rules."""
    rules: dict[str, Rule] = {
        "bytes / 3": lambda text: len(text.encode()) / 3,
        "bytes / 3.6": lambda text: len(text.encode()) / 3.6,
    }
    try:
        real = real_tokenizers()
    except ImportError:
        return rules
    return {name: cache(count) for name, count in real.items()} | rules


def billed(message: BaseMessage, rule: Rule) -> float:
    """Return what a provider with this rule counts for one message."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    texts = [str(message.text), *(json.dumps(c, ensure_ascii=False) for c in calls)]
    return 4 + sum(rule(text) for text in texts if text)


def conversations() -> dict[str, Sequence[BaseMessage]]:
    """Return the course's transcripts of some length and three generated threads."""
    loaded = {name: load_transcript(name).messages for name in transcript_names()}
    long_enough = {name: found for name, found in loaded.items() if len(found) >= 20}
    return long_enough | {f"generated {seed}": generated(seed) for seed in range(3)}


def generated(seed: int, turns: int = 40) -> list[BaseMessage]:
    """Return a seeded agent thread of prose, logs, tables, code and Chinese."""
    rng = random.Random(seed)
    history: list[BaseMessage] = []
    for turn in range(turns):
        ask = rng.choice(["Why is order {} late? ", "订单 {} 为什么还没有发货？"])
        history.append(HumanMessage(ask.format(turn) * rng.randrange(1, 5)))
        for step in range(rng.randrange(1, 4)):
            id_ = f"c{turn}-{step}"
            call = {"name": "lookup", "args": {"order": f"A-{turn}"}, "id": id_}
            history.append(AIMessage("", tool_calls=[call]))
            history.append(ToolMessage(_result(rng), tool_call_id=id_))
        history.append(AIMessage("The parcel waits for its customs form. " * 3))
    return history


def _result(rng: random.Random) -> str:
    line = rng.choice(
        [
            "2026-03-{a} 12:00:{b} ERROR worker-{c}: job {d:x} timed out\n",
            '{{"sku": "A-{a}", "stock": {b}, "price": {c}, "tags": ["new"]}},\n',
            "The parcel left dock {a} for desk {b} and was signed for at noon.\n",
            "包裹已于 {a} 日离开 {b} 号仓库，目前由第 {c} 组处理，等待海关放行。\n",
            "    if order.state == {a}: return retry(order, after={b})\n",
        ]
    )
    numbers = {name: rng.randrange(10, 99) for name in "abc"}
    return line.format(**numbers, d=rng.getrandbits(40)) * rng.randrange(2, 30)


def thread(
    messages: Sequence[BaseMessage], counter: TokenCounter, rule: Rule, compact: bool
) -> Thread:
    """Return (local, billed) of each request, one before every AI message."""
    local = [0.0, *accumulate(counter.message(message) for message in messages)]
    bill = [0.0, *accumulate(billed(message, rule) for message in messages)]
    requests, start = [], 0
    for end, message in enumerate(messages):
        if not isinstance(message, AIMessage):
            continue
        if compact and local[end] - local[start] > VIEW_TOKENS:
            while local[end] - local[start] > KEPT_TOKENS:
                start += 1
        sent = local[end] - local[start]
        requests.append((sent, bill[end] - bill[start] + HIDDEN_TOKENS))
    return requests


def replay(
    requests: Thread, calibration: Calibration, rng: random.Random, garbage: float
) -> Iterator[tuple[float, bool]]:
    """Yield (|error|, whether the guarded figure is over 1 % too low) per request."""
    samples: list[UsageSample] = []
    for turn, (local, bill) in enumerate(requests):
        if turn >= 2:
            fit = calibration.fit(samples)
            predicted = fit.predict(local) if fit else local
            guarded = fit.guarded(local) if fit else local
            yield abs(predicted / bill - 1), guarded < 0.99 * bill
        wrong = rng.choice([bill * 2, bill // 3, bill // 10, 4_096, rng.randrange(9)])
        bad = rng.random() < garbage
        samples.append(UsageSample(local, round(wrong if bad else bill)))


def row(
    counter: TokenCounter,
    calibration: Calibration,
    rule: Rule,
    garbage: float = 0.0,
    seeds: int = 1,
) -> str:
    """Return one line of the table: all threads, growing and compacted."""
    found: list[tuple[float, bool]] = []
    for messages, compact in product(conversations().values(), (False, True)):
        requests = thread(messages, counter, rule, compact)
        for seed in range(seeds):
            rng = random.Random(seed)
            found += replay(requests, calibration, rng, garbage)
    errors = [error for error, _ in found]
    return (
        f"{counter.name:<16} {type(calibration).__name__:<23}"
        f"{100 * statistics.fmean(errors):>10.2f} %"
        f"{100 * statistics.quantiles(errors, n=20)[-1]:>10.2f} %"
        f"{100 * statistics.fmean(error <= 0.01 for error in errors):>8.0f} %"
        f"{100 * statistics.fmean(low for _, low in found):>8.1f} %"
    )


def main() -> None:
    """Print one table per billing rule, clean and with 10 % garbage samples."""
    counters = [ScriptCounter(), CjkAwareCounter()]
    print(f"threads: {', '.join(conversations())}")
    for name, rule in billing_rules().items():
        print(f"\nbilled by {name}; under: guarded figure over 1 % too low")
        print(f"{'':<40}{'mean':>12}{'p95':>12}{'in 1 %':>10}{'under':>10}")
        for counter, calibration in product(counters, FITS):
            print(row(counter, calibration, rule))
        print("with 10 % garbage samples, 20 seeds")
        for calibration in FITS[2:]:
            print(row(counters[0], calibration, rule, garbage=0.10, seeds=20))


if __name__ == "__main__":
    main()
