"""Run the peers and print the table: `python -m tests.benchmarks.peers --quick`."""

import argparse
import json
import logging
import platform
import sys
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ctxlab.panels.tables import table
from tests.benchmarks.peers.adapters import PEERS, Peer
from tests.benchmarks.peers.figures import COLUMNS, TIMES, measure, unlimited
from tests.benchmarks.peers.scenes import conversations, scene
from tests.benchmarks.peers.stage import m20_line, printed_line
from tests.benchmarks.peers.steps import step_price
from tests.benchmarks.peers.truth import billed_by

#: What is right and what is kept; then what it costs. Half a table fits a terminal.
KEPT = tuple(COLUMNS)[: list(COLUMNS).index("summaries")]
PAID = (*tuple(COLUMNS)[len(KEPT) :], *TIMES)
BASE = ("langchain", "langchain-core", "langgraph")
#: A conversation of few messages has few calls to take a median of: it runs oftener.
FEW, SHORT = 40, 6
PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def peers(quick: bool) -> list[Peer]:
    """Return the peers to run."""
    return [peer for peer in PEERS if peer.quick or not quick]


def rows(
    names: Sequence[str], chosen: Sequence[Peer], repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for each conversation and peer; say on stderr which one runs."""
    pairs = [(n, [p for p in chosen if p.on is None or n in p.on]) for n in names]
    done, total = 0, sum(len(mine) for _, mine in pairs)
    for name, mine in pairs:
        whole = unlimited(scene(name).transcript)
        for peer in mine:
            done += 1
            print(f"{done}/{total} {name}: {peer.name}", file=sys.stderr, flush=True)
            often = repeats if len(whole) >= FEW else SHORT * repeats
            stages = [scene(name).stage(peer.profile) for _ in range(often)]
            yield measure(peer, stages, whole)


def base_versions() -> dict[str, str]:
    """Return the versions of what every run needs; ctxlab's is this checkout's."""
    own = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["version"]
    found = {name: version(name) for name in BASE}
    return {"python": platform.python_version(), "ctxlab": own, **found}


def report(
    names: Sequence[str], chosen: Sequence[Peer], repeats: int = 1
) -> dict[str, Any]:
    """Return what was run, with what, and what came out, as JSON values."""
    ready = [peer for peer in chosen if peer.versions() is not None]
    found = base_versions()
    for peer in ready:
        found |= peer.versions() or {}
    intercept, slope = printed_line()
    return {
        "versions": found,
        "sizes": {name: asdict(scene(name).sizes) for name in names},
        "printed_line": {"intercept": intercept, "slope": slope},
        "billed_by": billed_by(),
        "step_us": step_price(),
        "provider": asdict(m20_line()),
        "left_out": {
            p.name: [n for n in names if n not in p.on] for p in ready if p.on
        },
        "not_installed": [peer.name for peer in chosen if peer not in ready],
        "rows": list(rows(names, ready, repeats)),
    }


def printed(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a report, two tables for each conversation."""
    yield ", ".join(f"{name} {each}" for name, each in found["versions"].items())
    line, unit = found["provider"], found["billed_by"]
    yield f"billed: {line['overhead']:,.0f} + {line['scale']:.4f} x {unit}"
    yield f"a step of the graph, for a hook beside the call: {found['step_us']:,.0f} us"
    for name, sizes in found["sizes"].items():
        mine = [each for each in found["rows"] if each["conversation"] == name]
        said = ", ".join(f"{size} {tokens:,}" for size, tokens in sizes.items())
        yield f"\n{name}: {said}"
        for part in (KEPT, PAID):
            shown = ("peer", *(heading for heading in part if heading in mine[0]))
            yield f"\n{table([{k: each[k] for k in shown} for each in mine])!r}"
    for peer, without in found["left_out"].items():
        if without:
            yield f"\nleft out: {peer} on {', '.join(without)}"
    for name in found["not_installed"]:
        yield f"not installed: {name} (the extra `peers` brings it)"


def check_outputs(parser: argparse.ArgumentParser, parsed: Any) -> None:
    """End with a usage error, before the long run, if its results have no place."""
    for path in (parsed.json, parsed.chart):
        if path and (path.is_dir() or not path.parent.is_dir()):
            parser.error(f"{path} is no file in a folder that is there")
    if parsed.chart and find_spec("plotly") is None:
        parser.error("--chart needs plotly: install the extra `peers`")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, and write the JSON if asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers")
    parser.add_argument("--quick", action="store_true", help="the short round")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows")
    parser.add_argument("--chart", metavar="FILE", type=Path, help="write a web page")
    parser.add_argument(
        *("--repeats", "-n"),
        metavar="N",
        type=int,
        default=1,
        help="steadier CPU times",
    )
    parsed = parser.parse_args(arguments)
    check_outputs(parser, parsed)
    warnings.filterwarnings("ignore")  # what peers say of themselves
    for name in ("ctxlab", "deepagents", "langgraph"):
        logging.getLogger(name).setLevel(logging.ERROR)  # the table says it
    quick = parsed.quick
    found = report(conversations(quick), peers(quick), max(1, parsed.repeats))
    print("\n".join(printed(found)))
    if parsed.json:
        text = json.dumps(found, ensure_ascii=False, indent=1)
        parsed.json.write_text(text + "\n", encoding="utf-8", newline="\n")
    if parsed.chart:
        from tests.benchmarks.peers.chart import write

        print(write(found["rows"], parsed.chart))


if __name__ == "__main__":
    main()
