"""From a replay to a row: every figure comes from the run, none is written here."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ctxlab.lab import Replay, Transcript, replay
from ctxlab.lab.recorded import Recording
from ctxlab.lab.replays import state_fingerprint
from ctxlab.lab.sent import sent_text
from ctxlab.lab.what_ifs.totals import Rates
from ctxlab.overflow import is_context_overflow
from tests.benchmarks.peers.adapters import Peer
from tests.benchmarks.peers.faults import try_again
from tests.benchmarks.peers.stage import Stage
from tests.benchmarks.peers.steps import cost_of_steps
from tests.benchmarks.peers.stopwatch import timed
from tests.well_formed import problems

RELOADS = 3  # questions asked after the conversation, each in a new process's place


@dataclass
class Run:
    """A peer's replay, beside the same conversation with nothing and no window.

    Attributes:
        stage: What the peer was given.
        lived: The replay.
        whole: The checkpoint with nothing in an unlimited window.
        middleware: The peer's, on the watch.
        peer: Whose they are.
    """

    stage: Stage
    lived: Replay
    whole: list[tuple[Any, ...]]
    middleware: list[Any] = field(default_factory=list)
    peer: Peer | None = None

    @cached_property
    def state(self) -> list[tuple[Any, ...]]:
        """The checkpoint after the last turn."""
        return state_fingerprint(self.lived.state_messages)

    @cached_property
    def paid(self) -> list[Any]:
        """The exchanges that the provider answered."""
        return [each for each in self.lived.exchanges if each.error is None]

    def agent(self, middleware: Sequence[Any]) -> Any:
        """Return an agent on the same checkpoints, for what is asked afterwards."""
        schemas = list(self.stage.transcript.tools)
        return create_agent(
            self.stage.provider.fresh(failures=None),
            Recording().tools(schemas),
            system_prompt=self.stage.transcript.system or None,
            middleware=middleware,
            checkpointer=self.stage.saver,
            store=self.stage.store,
        )

    @property
    def config(self) -> Any:
        """The thread of the conversation."""
        return {"configurable": {"thread_id": self.stage.transcript.name}}


def _cached(run: Run) -> int:
    return sum(each.cached_tokens for each in run.paid)


def _uncached(run: Run) -> int:
    return sum(each.input_tokens for each in run.paid) - _cached(run)


def _summary_tokens(run: Run) -> int:
    log = run.stage.writer.log
    return sum(each.input_tokens + each.output_tokens for each in log)


def _wasted(run: Run) -> int:
    """Count summaries that reached neither an answered request nor a later summary."""
    seen = {sent_text(m) for request in run.lived.answered for m in request}
    useful = [text for text in seen if "[s" in text]
    wasted = 0
    for mark, asked in reversed(run.stage.writer.written):
        if any(mark in text for text in useful):
            useful.append(asked)
        else:
            wasted += 1
    return wasted


def _cost(run: Run) -> float:
    """Return the cost at the example rates of the tuner, for a million tokens."""
    rates = Rates()
    written = sum(each.output_tokens for each in run.paid)
    units = (
        rates.uncached * _uncached(run)
        + rates.cached * _cached(run)
        + rates.written * written
        + rates.summary * _summary_tokens(run)
    )
    return units / 1_000_000


def _prefix(run: Run) -> float | None:
    whole = _cached(run) + _uncached(run)
    return _cached(run) / whole if whole else None


def _facts(run: Run) -> float | None:
    planted, answered = run.stage.transcript.facts, run.lived.answered
    if not planted:
        return None
    # A request that was refused told the model nothing.
    found = run.lived.facts_in(answered[-1]) if answered else []
    return len(found) / len(planted)


def _facts_on_average(run: Run) -> float | None:
    """Return the share of facts told so far that an answered request holds."""
    told: set[int] = set()
    shares, memo = [], dict[str, frozenset[int]]()
    for each in run.lived.exchanges:
        held = _held(run, each.messages, memo)
        told |= held
        if each.error is None and told:
            shares.append(len(held) / len(told))
    return statistics.fmean(shares) if shares else None


def _held(
    run: Run, messages: Sequence[BaseMessage], memo: dict[str, frozenset[int]]
) -> set[int]:
    held: set[int] = set()
    for message in messages:
        text = sent_text(message)
        if text not in memo:
            facts = enumerate(run.stage.transcript.facts)
            memo[text] = frozenset(at for at, fact in facts if fact.text in text)
        held |= memo[text]
    return held


def _originals(run: Run) -> float:
    kept = set(run.state)
    return sum(message in kept for message in run.whole) / len(run.whole)


def _state_bytes(run: Run) -> int:
    values = run.agent(run.middleware).get_state(run.config).values
    return len(JsonPlusSerializer().dumps_typed(values)[1])


# Heading of the table -> figure. Shares are 0 to 1, tokens are the provider's; those of
# "summary" are the summary model's, which bills UTF-8 bytes / 3. "state equal" looks at
# what `state_fingerprint` does, so not at metadata; "state bytes" shows that, too.
COLUMNS: dict[str, Callable[[Run], Any]] = {
    "failed": lambda run: len(run.lived.failed_turns),
    "overflows": lambda run: sum(
        each.error is not None and is_context_overflow(each.error)
        for each in run.lived.exchanges
    ),
    "malformed": lambda run: sum(bool(problems(r)) for r in run.lived.requests),
    "facts": _facts,
    "facts mean": _facts_on_average,
    "originals": _originals,
    "extra": lambda run: len(set(run.state) - set(run.whole)),
    "state equal": lambda run: run.state == run.whole,
    "state bytes": _state_bytes,
    "summaries": lambda run: len(run.lived.summary_calls),
    "wasted": _wasted,
    "uncached": _uncached,
    "cached": _cached,
    "summary": _summary_tokens,
    "prefix kept": _prefix,
    "cost": _cost,
}
# These differ from run to run; the columns above may not.
HOOKS, CPU = "hooks us/call", "CPU us/call"  # the second with the steps of the graph
GROWTH, RELOAD = "growth ns/message", "reload us"  # of the hooks
AGAIN = "reload summaries"  # written for the questions that follow the conversation
TIMES = (HOOKS, CPU, GROWTH, RELOAD, AGAIN)


def unlimited(transcript: Transcript) -> list[tuple[Any, ...]]:
    """Return the checkpoint of a conversation with nothing in an unlimited window."""
    return state_fingerprint(replay(transcript).state_messages)


def run_peer(peer: Peer, stage: Stage, whole: list[tuple[Any, ...]]) -> Run:
    """Replay the stage's conversation with a peer's middlewares on the watch."""
    middleware = timed(peer.build(stage), stage.watch)
    lived = replay(
        stage.transcript,
        [
            *([try_again()] if stage.faulty else []),
            _with_store(stage.store),
            *middleware,
        ],
        stage.provider,
        stage.saver,
        summary_model=stage.writer,
        records=False,
    )
    return Run(stage, lived, whole, middleware, peer)


def _with_store(store: Any) -> Any:
    """Return a middleware that gives those inside it a store: a replay has none."""

    @wrap_model_call
    def give_store(request: Any, handler: Any) -> Any:
        runtime = request.runtime.override(store=store)
        return handler(request.override(runtime=runtime))

    return give_store


def reloads(run: Run) -> list[int]:
    """Ask on after the conversation; return nanoseconds of each first model call.

    Every question is asked in what a new process has: checkpoint and store, and a
    middleware that has seen nothing.
    """
    assert run.peer
    times = []
    for number in range(RELOADS):
        before = len(run.stage.watch.laps)
        agent = run.agent(timed(run.peer.build(run.stage), run.stage.watch))
        try:
            agent.invoke({"messages": f"Question {number}: go on."}, run.config)
        except Exception:  # a peer that fails here has failed before: see "failed"
            continue
        times += run.stage.watch.laps[before : before + 1]
    return times


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
    laps = _fastest([list(run.stage.watch.laps) for run in runs])
    written = [len(run.stage.writer.written) for run in runs]
    after = _fastest([reloads(run) for run in runs])
    again = [len(run.stage.writer.written) for run in runs]
    for stage in stages:
        stage.closing.close()
    name, hooks = runs[0].stage.transcript.name, _us(laps)
    times = {
        HOOKS: hooks,
        CPU: hooks and hooks + cost_of_steps(runs[0].middleware),
        GROWTH: growth(laps, len(whole)),
        RELOAD: _us(after),
        AGAIN: again[0] - written[0] if after else None,
    }
    return {"conversation": name, "peer": peer.name, **counts[0], **times}


def _fastest(repeats: Sequence[Sequence[int]]) -> list[int]:
    return [min(laps) for laps in zip(*repeats, strict=True)]


def _us(laps: Sequence[int]) -> float | None:
    return statistics.median(laps) / 1_000 if laps else None


def growth(laps: Sequence[int], messages: int) -> float | None:
    """Return by how many nanoseconds a call gets slower with each message stored.

    From the median of the second fifth of the calls to that of the last fifth.

    >>> growth([0, 0, 10, 10, 20, 20, 30, 30, 40, 40], 50)
    1.0
    """
    fifth = len(laps) // 5
    if fifth < 2:
        return None
    early = statistics.median(laps[fifth : 2 * fifth])
    late = statistics.median(laps[-fifth:])
    return (late - early) / (messages * 3 / 5)


def counted(run: Run) -> dict[str, Any]:
    """Return the figures of a run under the headings of the table."""
    return {heading: figure(run) for heading, figure in COLUMNS.items()}
