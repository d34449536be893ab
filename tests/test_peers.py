"""The bench of peers: its figures are those of the runs, on the shortest transcript."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from ctxlab.lab import load_transcript
from ctxlab.lab.side_by_side import committed_run, side_by_side
from ctxlab.lab.vendor_errors import VendorError
from ctxlab.tokens import CjkAwareCounter
from tests import refresh_peers
from tests.benchmarks.peers import stage as stages
from tests.benchmarks.peers import steps as step_prices
from tests.benchmarks.peers import truth
from tests.benchmarks.peers.__main__ import main, peers, printed, report
from tests.benchmarks.peers.adapters import PEERS, Peer
from tests.benchmarks.peers.chart import chart
from tests.benchmarks.peers.faults import Unavailable
from tests.benchmarks.peers.figures import (
    AGAIN,
    COLUMNS,
    CPU,
    TIMES,
    growth,
    measure,
    run_peer,
    unlimited,
)
from tests.benchmarks.peers.scenes import ROUND, conversations, scene
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
    alike = [Stage(DESK, profile=peer.profile, **settings) for _ in range(repeats)]
    return measure(peer, alike, unlimited(DESK))


@pytest.fixture(autouse=True)
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests measure a step's price roughly."""
    monkeypatch.setattr(step_prices, "ROUNDS", 1)


def counts(found: dict[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in COLUMNS}


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


def test_an_exact_counter_says_what_the_provider_bills() -> None:
    stage = Stage(DESK)
    whole = [*stages.prompt(DESK), *DESK.messages]
    bill = math.ceil(stage.provider.bill(whole, stages.schemas(DESK)))

    assert stage.exact(DESK.messages) == bill > stage.visible(DESK.messages) > 0


def test_without_the_tokenizer_bytes_are_billed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(truth, "tokenizer", lambda: None)
    for count in (truth.exact_count, truth.true_count):
        assert count.__wrapped__()([HumanMessage("订单")]) == 6 / 3 + 3
    assert truth.billed_by() == "bytes / 3"


def test_the_tokenizer_counts_texts_calls_and_schemas() -> None:
    pytest.importorskip("bpe_openai")
    call = {"name": "lookup", "args": {"id": "A7"}, "id": "c1"}
    count = truth.exact_count()

    assert truth.billed_by() == "o200k"
    assert count([HumanMessage("hello world")]) == 2 + truth.FRAME
    assert count([AIMessage("", tool_calls=[call])]) > 5 + truth.FRAME
    assert count([], tools=[{"name": "lookup"}]) > 3


def test_a_hook_beside_the_call_is_a_step_of_the_graph() -> None:
    reference = BY_NAME["ctxlab"].build(Stage(DESK))
    langchain = BY_NAME["LangChain, same settings"].build(Stage(DESK))

    assert step_prices.steps([*reference, step_prices.Empty(), *langchain]) == 2
    assert step_prices.cost_of_steps(reference) == 0.0
    assert all(time > 0 for time in step_prices.turns(langchain))


READY = [peer for peer in PEERS if peer.versions() is not None]


@pytest.mark.filterwarnings("ignore")  # what peers say of themselves
@pytest.mark.parametrize("peer", READY, ids=lambda peer: peer.name)
def test_every_peer_gets_a_whole_row_and_lives_through_a_short_chat(peer) -> None:
    found = row(peer)

    assert set(found) == {"conversation", "peer", *COLUMNS, *TIMES}
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


@pytest.mark.parametrize(
    "name", ["ctxlab", "LangChain, exact counter", "deepagents, exact counter"]
)
def test_counts_are_the_same_on_every_run(name) -> None:
    if BY_NAME[name].versions() is None:
        pytest.skip(f"{name} is not installed")
    first, second = (row(BY_NAME[name], **TINY) for _ in range(2))

    repeated = row(BY_NAME[name], repeats=2, **TINY)
    assert counts(first) == counts(second) == counts(repeated)


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
    assert list(printed(found))[-1] == (
        "not installed: absent (the extra `peers` brings it)"
    )


@pytest.mark.parametrize("option", ["--json", "--chart"])
@pytest.mark.parametrize("place", [".", "no-such-folder/rows"])
def test_results_without_a_place_end_it_before_the_run(
    option, place, tmp_path, capsys
) -> None:
    with pytest.raises(SystemExit):
        main([option, str(tmp_path / place)])
    assert "is no file in a folder that is there" in capsys.readouterr().err


def test_the_report_names_versions_and_is_plain_json() -> None:
    found = report(["order_desk"], [*PEERS[:5], PEERS[-1]])
    lines = "\n".join(printed(found))

    assert {"python", "ctxlab", "langchain", "langgraph"} <= set(found["versions"])
    assert json.loads(json.dumps(found)) == found
    assert f"langchain {found['versions']['langchain']}" in lines
    assert all(lines.count(f"\n{peer.name}  ") == 2 for peer in PEERS[:5])
    assert f"left out: {PEERS[-1].name} on order_desk" in lines
    assert {each["peer"] for each in found["rows"]} == {p.name for p in PEERS[:5]}


def test_the_quick_round_is_short_and_the_whole_has_every_peer() -> None:
    assert conversations(quick=True)[0] == "chinese_support"
    assert len(peers(True)) == 5 < len(peers(False)) == len(PEERS)
    assert conversations(quick=False) == list(ROUND)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("peer", READY, ids=lambda peer: peer.name)
def test_no_peer_fails_where_tiny_sizes_make_it_compact(peer) -> None:
    sizes = replace(TINY["sizes"], trigger=200, summary=20)
    stage = Stage(DESK, sizes, Line(0, 1.0), profile=peer.profile)
    run = run_peer(peer, stage, unlimited(DESK))
    stage.closing.close()

    assert not run.lived.failed_turns


def test_an_imported_history_comes_with_the_first_question() -> None:
    talk = scene("imported_chat").transcript
    first, *later = talk.turns()

    assert len(first.inputs) == talk.given + 1
    assert [m for t in talk.turns() for m in t.inputs][: talk.given] == list(
        talk.messages[: talk.given]
    )
    assert len(later) == (len(talk.messages) - talk.given) // 2 - 1


def test_the_faulty_provider_is_down_once_after_a_summary() -> None:
    stage = Stage(DESK, faulty=True)
    paired = [HumanMessage("Hi.")]

    assert stage.provider.invoke(paired).usage_metadata is None
    stage.writer.invoke("Sum up.")
    with pytest.raises(Unavailable):
        stage.provider.invoke(paired)
    stage.writer.invoke("Sum up again.")
    assert stage.provider.invoke(paired).text == "Understood."


def test_the_faulty_provider_refuses_what_is_unpaired_both_ways() -> None:
    stage = Stage(DESK, faulty=True)
    call = {"name": "look", "args": {}, "id": "c1"}
    asked, result = (
        AIMessage("", tool_calls=[call]),
        ToolMessage("x", tool_call_id="c1"),
    )

    for unpaired in ([result], [asked, AIMessage("Done.")]):
        with pytest.raises(VendorError, match="paired"):
            stage.provider.invoke(unpaired)
    assert stage.provider.invoke([asked, result]).text == "Understood."


def test_a_summary_that_no_request_shows_is_wasted() -> None:
    stage = Stage(DESK, **TINY)
    run = run_peer(BY_NAME["nothing"], stage, unlimited(DESK))
    stage.writer.invoke("Sum up.")

    assert COLUMNS["wasted"](run) == 1
    [(mark, _)] = stage.writer.written
    stage.writer.invoke(f"Merge this: {mark}")
    run.lived.exchanges[-1].messages.append(HumanMessage(stage.writer.written[1][0]))
    assert COLUMNS["wasted"](run) == 0


def test_growth_is_the_slope_between_two_fifths_of_the_calls() -> None:
    laps = [0, 0, 10, 10, 20, 20, 30, 30, 40, 40]

    assert growth(laps, messages=50) == 1.0
    assert growth([1, 2, 3], messages=50) is None


def test_the_chart_says_whose_turns_all_succeeded() -> None:
    found = report(["order_desk"], PEERS[:2])

    assert chart(found["rows"]).sentence == (
        "order_desk: no failed turn with nothing, ctxlab"
    )


def test_the_readme_shows_the_committed_run() -> None:
    text = refresh_peers.README.read_text("utf-8")
    table = refresh_peers.block(side_by_side(refresh_peers.CONVERSATION))

    assert refresh_peers.written(text, table) == text, (
        "python -m tests.refresh_peers writes it"
    )
    assert len(table.splitlines()) <= 12


def test_the_committed_run_has_every_peer_on_every_conversation() -> None:
    found = committed_run()
    ran = {(each["conversation"], each["peer"]) for each in found["rows"]}

    assert found["not_installed"] == []
    assert ran == {
        (name, peer.name)
        for name in ROUND
        for peer in PEERS
        if peer.on is None or name in peer.on
    }


@pytest.mark.parametrize("name", ROUND)
def test_ctxlab_loses_nothing_in_the_committed_run(name) -> None:
    rows = committed_run()["rows"]
    [ours] = [r for r in rows if (r["conversation"], r["peer"]) == (name, "ctxlab")]

    assert [ours[k] for k in ("failed", "overflows", "malformed", "wasted")] == [0] * 4
    assert (ours["facts"], ours["originals"], ours["extra"]) == (1, 1, 0)
    assert ours["state equal"]


def test_ctxlab_takes_less_cpu_than_who_keeps_every_checkpoint_whole() -> None:
    """Everywhere, and less than twice that of LangChain's, which throws history away.

    On four calls with nothing to compact it is close: another run may differ there. A
    new process finds its summaries in the store.
    """
    rows = {(r["conversation"], r["peer"]): r for r in committed_run()["rows"]}
    others = {peer.name for peer in PEERS} - {"nothing", "ctxlab"}
    whole = {
        peer
        for peer in others
        if all(
            rows[name, peer]["state equal"] for name in ROUND if (name, peer) in rows
        )
        and (ROUND[1], peer) in rows  # the ladder's steps are on some only
    }
    assert whole == {"deepagents, exact counter", "deepagents, own sizes"}
    for name in ROUND:
        ours = rows[name, "ctxlab"][CPU]
        langchain = [rows[name, p][CPU] for p in others if p.startswith("LangChain")]
        assert all(ours < rows[name, peer][CPU] for peer in whole)
        assert ours < 2 * min(langchain)
        assert rows[name, "ctxlab"][AGAIN] == 0


def test_a_conversation_that_was_not_measured_is_named() -> None:
    with pytest.raises(ValueError, match="'order_desk' was not measured; choose one"):
        side_by_side("order_desk")
