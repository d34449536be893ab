"""How long a what-if takes when one knob moves, beside a full replay.

Run as `python -m tests.benchmarks.what_if_speed`. The trigger moves in small steps, so
that no result is a remembered one, though most cuts stay where they were. "Far" moves
lead up and down, and lower: hardly a cut stays, and more is compacted. Everything runs
in one process and every figure is a median. "Recounts" says it in a unit that hardly
depends on the machine: how often LangChain could have recounted 1,000 messages
meanwhile, for 1,000 messages of the transcript. Goal: 30 ms for 1,000 messages, where
such a recount takes 1.06 ms.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import median

from langchain_core.messages.utils import count_tokens_approximately

from ctxlab.lab import load_transcript, replay, transcript_names, what_if
from ctxlab.lab.replay_report import middleware_for
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.what_ifs import bench_for
from ctxlab.settings import Settings
from tests.benchmarks.counting_speed import conversation

WINDOW, OVERHEAD, TRIGGER, STEP = 65_536, 3_000, 49_152, 64  # tokens
MOVES, SHORTEST = 15, 100  # of the knob; messages
FARTHEST, FAR = 32_000, 0.618  # tokens; share of them that one move leads on


def milliseconds(work: Callable[..., object], *given: object) -> float:
    """Return how long `work` takes."""
    start = time.perf_counter()
    work(*given)
    return 1_000 * (time.perf_counter() - start)


def settings(move: int) -> Settings:
    """Return the settings after so many moves of the trigger."""
    return Settings(trigger=("tokens", TRIGGER - STEP * move))


def far(move: int) -> Settings:
    """Return the settings after so many moves that lead far."""
    lower = int(FARTHEST * (FAR * move % 1))
    return Settings(trigger=("tokens", TRIGGER - 1 - lower))


def replayed(transcript: Transcript) -> None:
    """Run a full replay."""
    middleware, keeper = middleware_for(transcript, settings(0))
    replay(
        transcript,
        middleware,
        summary_model=keeper,
        window=WINDOW,
        overhead=OVERHEAD,
    )


def row(name: str) -> str:
    """Return the line of one transcript."""
    transcript, messages = load_transcript(name), conversation(1_000)
    ask = partial(what_if, bench_for(transcript), window=WINDOW, overhead=OVERHEAD)
    calls = len(ask(settings(MOVES)).calls)  # the first look measures all messages
    moves, leaps, recounts = [], [], []
    for move in range(MOVES):
        moves.append(milliseconds(ask, settings(move)))
        recounts.append(milliseconds(count_tokens_approximately, messages))
    for move in range(MOVES):
        leaps.append(milliseconds(ask, far(move)))
    length, took, recount = len(transcript.messages), median(moves), median(recounts)
    whole = milliseconds(replayed, transcript)
    return (
        f"{name:20}{length:9,}{calls:7,}{whole:11,.0f}{took:12.1f}"
        f"{took / recount / length * 1_000:10.0f}{median(leaps):8.1f}"
        f"{median(leaps) / recount / length * 1_000:10.0f}{recount:12.2f}"
    )


def main() -> None:
    """Print a row for each transcript of some length."""
    heads = ("messages", 9), ("calls", 7), ("replay ms", 11), ("what-if ms", 12)
    asked = ("recounts", 10), ("far ms", 8), ("recounts", 10), ("recount ms", 12)
    both = (*heads, *asked)
    print(" " * 20 + "".join(f"{head:>{width}}" for head, width in both))
    for name in transcript_names():
        if len(load_transcript(name).messages) >= SHORTEST:
            print(row(name))


if __name__ == "__main__":
    main()
