"""The bench of peers: its figures are those of the runs, on the shortest transcript."""

import json
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage

from ctxlab.lab import load_transcript
from ctxlab.tokens import CjkAwareCounter
from tests.benchmarks.peers import stage as stages
from tests.benchmarks.peers.__main__ import peers, printed, report
from tests.benchmarks.peers.adapters import PEERS, Peer
from tests.benchmarks.peers.figures import COLUMNS, CPU, measure, run_peer, unlimited
from tests.benchmarks.peers.scenes import conversations
from tests.benchmarks.peers.stage import Line, Sizes, Stage, m20_line, printed_line
from tests.benchmarks.peers.stopwatch import Stopwatch, timed

DESK = load_transcript("order_desk")
BY_NAME = {peer.name: peer for peer in PEERS}
TINY = {
    "sizes": Sizes(window=10_000, trigger=150, keep=60, overhead=10),
    "line": Line(0, 1.0),
}


def row(peer: Peer, repeats: int = 1, **settings: Any) -> dict[str, Any]:
    """Return a peer's row on the order desk."""
    alike = [Stage(DESK, **settings) for _ in range(repeats)]
    return measure(peer, alike, unlimited(DESK))


def test_m20_the_line_goes_through_the_two_printed_points() -> None:
    intercept, slope = printed_line()

    assert intercept == pytest.approx(15_063, abs=1)
    assert slope == pytest.approx(1.6226, abs=2e-4)
    assert intercept + slope * 4_878 == pytest.approx(22_978)


def test_m20_the_provider_bills_the_first_point_on_its_history() -> None:
    transcript = load_transcript("chinese_support")
    history = stages.history_before_the_paste(transcript)

    assert CjkAwareCounter()(history) == pytest.approx(19_067, abs=15)
    assert Stage(transcript).exact(history) == pytest.approx(46_000, abs=30)
    assert 0 < m20_line().overhead < printed_line()[0]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_gets_a_whole_row_and_lives_through_a_short_chat(peer) -> None:
    found = row(peer)

    assert set(found) == {"conversation", "peer", *COLUMNS, CPU}
    assert (found["failed"], found["overflows"], found["malformed"]) == (0, 0, 0)
    assert (found["summaries"], found["summary"]) == (0, 0)
    assert (found["facts"], found["originals"]) == (1.0, 1.0)
    assert found["state equal"]
    assert (found[CPU] is None) == (peer.name == "nothing")


def test_tokens_are_those_that_the_provider_billed() -> None:
    stage = Stage(DESK)
    run = run_peer(BY_NAME["ctxlab"], stage, unlimited(DESK))
    found = {name: figure(run) for name, figure in COLUMNS.items()}
    front = len(stages.prompt(DESK))
    bills = [stage.exact(request[front:]) for request in run.lived.requests]

    assert found["uncached"] + found["cached"] == sum(bills)
    assert bills == [each.input_tokens for each in run.lived.exchanges]


def test_a_rewritten_history_is_counted_as_lost_originals() -> None:
    found = row(BY_NAME["LangChain, exact counter"], **TINY)

    assert found["summaries"] >= 1
    assert found["summary"] > 0
    assert found["originals"] < 1
    assert not found["state equal"]


def test_a_request_over_the_window_is_an_overflow_and_a_failed_turn() -> None:
    found = row(BY_NAME["nothing"], sizes=Sizes(window=90), line=Line(0, 1.0))

    assert found["failed"] == found["overflows"] >= 1
    assert found["originals"] < 1
    assert found["facts"] < 1


class DropsCalls(AgentMiddleware):
    """Sends results without the calls that they answer."""

    def wrap_model_call(self, request, handler):
        kept = [m for m in request.messages if not getattr(m, "tool_calls", None)]
        return handler(request.override(messages=kept))


def test_a_request_that_a_strict_provider_refuses_is_malformed() -> None:
    found = row(Peer("drops calls", lambda stage: [DropsCalls()]))
    answers = [isinstance(m, ToolMessage) for m in DESK.messages]

    assert answers.count(True) >= 1
    assert found["malformed"] >= 1
    assert found["failed"] == 0


@pytest.mark.parametrize("name", ["ctxlab", "LangChain, exact counter"])
def test_counts_are_the_same_on_every_run(name) -> None:
    first, second = (row(BY_NAME[name], **TINY) for _ in range(2))

    assert {**first, CPU: 0} == {**second, CPU: 0}
    assert {**row(BY_NAME[name], repeats=2, **TINY), CPU: 0} == {**first, CPU: 0}


class Ticks:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 0

    def __call__(self) -> int:
        return self.time


class Working(AgentMiddleware):
    """Takes 5 before the model, 7 around it, 2 after it."""

    def __init__(self, clock: Ticks) -> None:
        super().__init__()
        self.clock = clock

    def before_model(self, state, runtime):
        self.clock.time += 5

    def wrap_model_call(self, request, handler):
        self.clock.time += 4
        answer = handler(request)
        self.clock.time += 3
        return answer

    def after_model(self, state, runtime):
        self.clock.time += 2


def one_call(middleware: Any, clock: Ticks) -> None:
    """Call the hooks as an agent does; the model takes 1,000."""

    def model(request):
        clock.time += 1_000
        return AIMessage("ok")

    middleware.before_model({}, None)
    clock.time += 100  # between two hooks nobody's time runs
    middleware.wrap_model_call(None, model)
    middleware.after_model({}, None)


def test_the_watch_counts_hooks_and_not_the_model_behind_them() -> None:
    clock = Ticks()
    watch = Stopwatch(clock)
    [middleware] = timed([Working(clock)], watch)
    for _ in range(3):
        one_call(middleware, clock)

    assert watch.laps == [14, 14, 14]


def test_the_watch_stands_still_while_a_summary_is_written() -> None:
    clock = Ticks()
    watch = Stopwatch(clock)
    watch.lap()
    with watch.running(True):
        clock.time += 5
        with watch.running(False):
            clock.time += 1_000
        clock.time += 6

    assert watch.laps == [11]


def test_two_middlewares_of_one_peer_share_a_lap() -> None:
    clock = Ticks()
    watch = Stopwatch(clock)
    outer, inner = timed([Working(clock), Working(clock)], watch)

    outer.wrap_model_call(None, lambda r: inner.wrap_model_call(r, lambda _: "ok"))
    assert watch.laps == [14]


def test_a_peer_that_is_not_installed_is_named_and_left_out() -> None:
    absent = Peer("absent", lambda stage: [], ("no-such-package-here",))
    found = report(["order_desk"], [BY_NAME["nothing"], absent])

    assert found["not_installed"] == ["absent"]
    assert [each["peer"] for each in found["rows"]] == ["nothing"]
    assert list(printed(found))[-1] == "not installed: absent"


def test_the_report_names_versions_and_is_plain_json() -> None:
    found = report(["order_desk"], PEERS)
    lines = "\n".join(printed(found))

    assert {"python", "ctxlab", "langchain", "langgraph"} <= set(found["versions"])
    assert json.loads(json.dumps(found)) == found
    assert f"langchain {found['versions']['langchain']}" in lines
    assert all(f"\n{peer.name}  " in lines for peer in PEERS)


def test_the_quick_round_is_part_of_the_whole() -> None:
    assert set(conversations(quick=True)) <= set(conversations(quick=False))
    assert conversations(quick=True)[0] == "chinese_support"
    assert {p.name for p in peers(True)} <= {p.name for p in peers(False)}
