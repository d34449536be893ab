"""From a replay to a row: every figure comes from the run, none is written here."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ctxlab.lab import Replay, Transcript, replay
from ctxlab.lab.replays import state_fingerprint
from ctxlab.overflow import is_context_overflow
from tests.benchmarks.peers.adapters import Peer
from tests.benchmarks.peers.stage import Stage
from tests.benchmarks.peers.stopwatch import timed
from tests.strategies import problems


@dataclass(frozen=True)
class Run:
    """A peer's replay, beside the same conversation with nothing and no window."""

    stage: Stage
    lived: Replay
    whole: list[tuple[Any, ...]]

    @property
    def state(self) -> list[tuple[Any, ...]]:
        """The checkpoint after the last turn."""
        return state_fingerprint(self.lived.state_messages)


def _paid(run: Run) -> list[Any]:
    return [each for each in run.lived.exchanges if each.error is None]


def _cached(run: Run) -> int:
    return sum(each.cached_tokens for each in _paid(run))


def _summary_tokens(run: Run) -> int:
    log = run.stage.writer.log
    return sum(each.input_tokens + each.output_tokens for each in log)


def _facts(run: Run) -> float | None:
    planted, answered = run.stage.transcript.facts, run.lived.answered
    if not planted:
        return None
    # A request that was refused told the model nothing.
    found = run.lived.facts_in(answered[-1]) if answered else []
    return len(found) / len(planted)


def _originals(run: Run) -> float:
    kept = set(run.state)
    return sum(message in kept for message in run.whole) / len(run.whole)


# Heading of the table -> figure. Shares are 0 to 1, tokens are the provider's.
COLUMNS: dict[str, Callable[[Run], Any]] = {
    "failed": lambda run: len(run.lived.failed_turns),
    "overflows": lambda run: sum(
        each.error is not None and is_context_overflow(each.error)
        for each in run.lived.exchanges
    ),
    "malformed": lambda run: sum(bool(problems(r)) for r in run.lived.requests),
    "summaries": lambda run: len(run.lived.summary_calls),
    "uncached": lambda run: sum(e.input_tokens for e in _paid(run)) - _cached(run),
    "cached": _cached,
    "summary": _summary_tokens,
    "facts": _facts,
    "originals": _originals,
    "state equal": lambda run: run.state == run.whole,
}
CPU = "CPU us/call"  # differs from run to run; the columns above may not


def unlimited(transcript: Transcript) -> list[tuple[Any, ...]]:
    """Return the checkpoint of a conversation with nothing in an unlimited window."""
    return state_fingerprint(replay(transcript).state_messages)


def run_peer(peer: Peer, stage: Stage, whole: list[tuple[Any, ...]]) -> Run:
    """Replay the stage's conversation with a peer's middlewares on the watch."""
    lived = replay(
        stage.transcript,
        timed(peer.build(stage), stage.watch),
        stage.provider,
        summary_model=stage.writer,
    )
    return Run(stage, lived, whole)


def measure(peer: Peer, stages: Sequence[Stage], whole: list[Any]) -> dict[str, Any]:
    """Return a peer's row: counts of one run, CPU time of each call's fastest run.

    Args:
        peer: The peer.
        stages: One for each repeat, all alike.
        whole: The checkpoint with nothing in an unlimited window.

    Raises:
        RuntimeError: Two repeats count differently.
    """
    runs = [run_peer(peer, stage, whole) for stage in stages]
    counts = [counted(run) for run in runs]
    if any(each != counts[0] for each in counts):
        raise RuntimeError(f"{peer.name} counts differently on a repeat: {counts}")
    laps = zip(*(run.stage.watch.laps for run in runs), strict=True)
    fastest = [min(repeats) for repeats in laps]
    cpu = statistics.median(fastest) / 1_000 if fastest else None
    name = runs[0].stage.transcript.name
    return {"conversation": name, "peer": peer.name, **counts[0], CPU: cpu}


def counted(run: Run) -> dict[str, Any]:
    """Return the figures of a run under the headings of the table."""
    return {heading: figure(run) for heading, figure in COLUMNS.items()}
