"""How fast counting is: texts against a tokenizer, histories against a recount.

Run as `python -m tests.benchmarks.counting_speed`. Everything runs in
one process and every figure is a median; compare the ratios, the rest depends on the
machine. The tokenizer is `bpe-openai` (extra
`tokenizers`), which gives tiktoken's tokens and needs no download; tiktoken is measured
as well where its table is at hand.
"""

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ctxlab.history import HistoryMeter
from ctxlab.tokens import ScriptCounter
from tests.benchmarks.token_counts import read_texts

LENGTHS = (1_000, 10_000)  # messages


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the median CPU time of `work` over some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return median(times)


def conversation(length: int) -> list[BaseMessage]:
    """Return an agent's conversation: questions, calls, results, answers."""
    texts = list(read_texts().values())
    messages: list[BaseMessage] = []
    for i in range(length // 4):
        text = texts[i % len(texts)]
        call = {"name": "lookup", "args": {"order": i, "备注": "加急"}, "id": f"c{i}"}
        messages += [
            HumanMessage(f"{i}: {text[:120]}", id=f"h{i}"),
            AIMessage("", tool_calls=[call], id=f"a{i}"),
            ToolMessage(f"{i}: {text[:600]}", tool_call_id=f"c{i}", id=f"t{i}"),
            AIMessage(f"{i}: {text[-200:]}", id=f"b{i}"),
        ]
    return messages


def tokenizers() -> dict[str, Callable[[str], object]]:
    """Return real tokenizers to compare with: those that work without a download."""
    found: dict[str, Callable[[str], object]] = {}
    try:
        import bpe_openai

        found["bpe-openai"] = bpe_openai.get_encoding("o200k_base").encode_ordinary
    except ImportError:
        logging.warning("bpe-openai is not installed: pip install ctxlab[tokenizers]")
    try:
        import tiktoken

        found["tiktoken"] = tiktoken.get_encoding("o200k_base").encode_ordinary
    except Exception as error:  # its table is downloaded at first use
        logging.warning("tiktoken cannot be measured here: %s", type(error).__name__)
    return found


def text_lines() -> Iterable[str]:
    """Yield the throughput of counters and tokenizers on our texts, in MB/s."""
    texts = read_texts()
    samples = {
        "all genres": "\n".join(texts.values()) * 8,
        "English prose": texts["english_prose"] * 150,
        "Chinese prose": texts["chinese_prose"] * 150,
    }
    rules: dict[str, Callable[[str], object]] = {
        "ScriptCounter": ScriptCounter().text,
        **tokenizers(),
    }
    yield f"{'MB/s':<18}" + "".join(f"{name:>16}" for name in samples)
    for name, rule in rules.items():
        row = f"{name:<18}"
        for text in samples.values():
            taken = seconds(partial(rule, text), 7)
            row += f"{len(text.encode()) / taken / 1e6:>16.0f}"
        yield row


def at_first_sight(messages: list[BaseMessage]) -> None:
    """Measure with a meter that knows nothing."""
    HistoryMeter(ScriptCounter()).measure(messages)


def in_a_run(messages: list[BaseMessage]) -> float:
    """Return the seconds of measuring one new message, all others being known."""
    meter, growing = HistoryMeter(ScriptCounter()), list(messages)
    meter.measure(growing).parts()

    def one_more() -> None:
        growing.append(HumanMessage(f"and then {len(growing)}"))
        history = meter.measure(growing)
        history.tokens()
        history.parts()
        history.first_index_within(24_000)

    return seconds(one_more, 51)


def after_a_reload(messages: list[BaseMessage]) -> float:
    """Return the seconds of counting and digesting new objects with known contents."""
    serializer, rounds = JsonPlusSerializer(), 9
    meter, stored = HistoryMeter(ScriptCounter()), serializer.dumps_typed(messages)
    batches = [serializer.loads_typed(stored) for _ in range(rounds)]
    meter.measure(messages)

    def reload() -> None:
        meter.measure(batches.pop()).digest(len(messages))

    return seconds(reload, rounds)


def history_lines() -> Iterable[str]:
    """Yield the costs of measuring a history, against LangChain's recount."""
    yield f"{'µs per call':<28}" + "".join(f"{n:>10,} messages" for n in LENGTHS)
    rows: dict[str, list[float]] = {}
    for length in LENGTHS:
        messages = conversation(length)
        recount = seconds(partial(count_tokens_approximately, messages), 9)
        first = seconds(partial(at_first_sight, messages), 3)
        run, reload = in_a_run(messages), after_a_reload(messages)
        rows.setdefault("LangChain's recount", []).append(recount * 1e6)
        rows.setdefault("first sight", []).append(first * 1e6)
        rows.setdefault("in a run, one new message", []).append(run * 1e6)
        rows.setdefault("after a reload", []).append(reload * 1e6)
        rows.setdefault("recount / run", []).append(recount / run)
        rows.setdefault("reload / recount", []).append(reload / recount)
    for name, values in rows.items():
        digits = ".2f" if name.startswith("reload /") else ",.0f"
        yield f"{name:<28}" + "".join(f"{value:>19{digits}}" for value in values)
    small, large = rows["in a run, one new message"]
    growth = (large - small) * 1_000 / (LENGTHS[1] - LENGTHS[0])
    yield f"{'growth in a run':<28}{growth:>35.1f} ns a message"


if __name__ == "__main__":
    print("\n".join([*text_lines(), "", *history_lines()]))
