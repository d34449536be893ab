"""Many configurations on many transcripts, on any executor, and resumable.

    sweep(transcripts, {"trigger": [("tokens", 20_000), ("tokens", 49_152)]},
          executor=ProcessPoolExecutor(), resume="sweep.jsonl")

Every `concurrent.futures.Executor` will do, so that of a Dask or a Ray cluster drops
in. What is done is written down line by line; the next run takes it up there.

>>> from ctxlab.lab.transcripts import load_transcript
>>> grid = {"trigger": [("tokens", 9_000), ("tokens", 300)]}
>>> done = sweep([load_transcript("order_desk")], grid, window=8_000)
>>> [row["settings"] for row in done.frontier()]
[{'trigger': ['tokens', 9000]}]

Left out: the plot (`ctxlab.panels.frontier`). Lesson: 12_tune_on_a_transcript.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ctxlab.history import message_digest
from ctxlab.lab.transcripts import Transcript
from ctxlab.lab.what_ifs import what_if
from ctxlab.lab.what_ifs.totals import totals
from ctxlab.settings import Settings

BATCH = 8  # configurations that one task tries on one transcript

Grid = Mapping[str, Sequence[Any]]
Row = dict[str, Any]


@dataclass
class Sweep:
    """The rows of a sweep, one for each configuration and transcript, in grid order.

    Attributes:
        rows: Figures, with `transcript`, `settings` (what the grid set) and `key`.
        skipped: Why combinations of the grid were left out: what `Settings` said.
        resumed: How many rows an earlier run had done.
    """

    rows: list[Row]
    skipped: list[str] = field(default_factory=list)
    resumed: int = 0

    def __repr__(self) -> str:
        return (
            f"{len(self.rows)} rows, {len(self.frontier())} on the frontier, "
            f"{len(self.skipped)} combinations skipped"
        )

    def frontier(self, by: str = "tokens") -> list[Row]:
        """Return the rows that no other beats: cheaper, and as much headroom.

        Of each transcript by itself; a row with failed turns is never one of them.

        Args:
            by: What is paid: `"tokens"`, `"uncached_tokens"`, `"cost"`, or any other
                figure of a row that should be small.
        """
        good = [row for row in self.rows if not row["failed"]]
        return [row for row in good if not any(_beats(o, row, by) for o in good)]


def sweep(
    transcripts: Iterable[Transcript],
    grid: Grid,
    executor: Executor | None = None,
    *,
    window: int,
    overhead: float = 0,
    scale: float = 1.0,
    resume: str | Path | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Sweep:
    """Try every combination of a grid on every transcript.

    Args:
        transcripts: The conversations.
        grid: Fields of `Settings` with the values to try.
        executor: Where to run; None runs here.
        window: Most input tokens of a request; also told to the middleware.
        overhead: Tokens billed on every request for what is not in it.
        scale: Billed tokens for each token of the true count.
        resume: A JSONL file; rows in it are taken over, new ones are added.
        progress: Called with (rows done, rows in all).

    Raises:
        ValueError: An unknown field, or no combination that is possible.
    """
    combinations, skipped = _combinations(grid, window)
    prices = {"window": window, "overhead": overhead, "scale": scale}
    jobs = list(_jobs(list(transcripts), combinations, prices))
    done = _read(resume)
    wanted = {key for job in jobs for key in job.keys}
    resumed = len(wanted & set(done))
    for job, rows in _run([job.without(done) for job in jobs], executor):
        done.update(zip(job.keys, rows, strict=True))
        _write(resume, rows)
        if progress:
            progress(len(wanted & set(done)), len(wanted))
    return Sweep([done[key] for job in jobs for key in job.keys], skipped, resumed)


@dataclass(frozen=True)
class _Job:
    """Some configurations to try on one transcript."""

    transcript: Transcript
    keys: tuple[str, ...]
    chosen: tuple[dict[str, Any], ...]
    prices: Mapping[str, Any]

    def without(self, done: Mapping[str, Row]) -> "_Job":
        pairs = zip(self.keys, self.chosen, strict=True)
        left = [(key, chosen) for key, chosen in pairs if key not in done]
        keys, chosen = tuple(k for k, _ in left), tuple(c for _, c in left)
        return _Job(self.transcript, keys, chosen, self.prices)


def run_job(job: _Job) -> list[Row]:
    """Return a row for each configuration of a job; in a worker, or here."""
    rows = []
    for key, chosen in zip(job.keys, job.chosen, strict=True):
        settings = Settings(**{"max_input_tokens": job.prices["window"], **chosen})
        try:
            tried = what_if(job.transcript, settings, **job.prices)
        except Exception as error:
            error.add_note(f"while trying {chosen} on {job.transcript.name!r}")
            raise
        found = totals(tried)
        rows.append(
            {
                "key": key,
                "transcript": job.transcript.name,
                "settings": json.loads(json.dumps(chosen)),
                "tokens": found.tokens,
                "cost": round(found.cost(), 6),
                **found.as_row(),
            }
        )
    return rows


def _run(
    jobs: list[_Job], executor: Executor | None
) -> Iterator[tuple[_Job, list[Row]]]:
    open_jobs = [job for job in jobs if job.keys]
    if executor is None:
        for job in open_jobs:
            yield job, run_job(job)
        return
    # All are submitted at once; they are taken in grid order, whoever is first.
    futures = [(job, executor.submit(run_job, job)) for job in open_jobs]
    failed = []
    for job, future in futures:
        if future.exception():
            failed.append(future)
        else:
            yield job, future.result()
    if failed:
        failed[0].result()  # raises, when the rows of all others are written


def _jobs(
    transcripts: list[Transcript],
    combinations: list[dict[str, Any]],
    prices: Mapping[str, Any],
) -> Iterator[_Job]:
    for transcript in transcripts:
        content = _content(transcript)
        for start in range(0, len(combinations), BATCH):
            chosen = tuple(combinations[start : start + BATCH])
            keys = tuple(_key(content, each, prices) for each in chosen)
            yield _Job(transcript, keys, chosen, prices)


def _combinations(grid: Grid, window: int) -> tuple[list[dict[str, Any]], list[str]]:
    unknown = sorted(set(grid) - set(Settings.model_fields))
    if unknown:
        known = ", ".join(Settings.model_fields)
        raise ValueError(f"unknown setting {unknown[0]!r}; known are {known}")
    possible, skipped = [], []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        if chosen in possible:
            continue
        try:
            Settings(**{"max_input_tokens": window, **chosen})
        except ValueError as error:
            skipped.append(f"{chosen}: {error}")
        else:
            possible.append(chosen)
    if not possible:
        raise ValueError(f"no combination of the grid is possible: {skipped[:1]}")
    return possible, skipped


def _content(transcript: Transcript) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for message in transcript.messages:
        digest.update(message_digest(message))
    facts = [fact.model_dump() for fact in transcript.facts]
    told = [transcript.name, transcript.language, facts]
    digest.update(json.dumps([transcript.system, *transcript.tools, told]).encode())
    return digest.hexdigest()


def _key(content: str, chosen: Mapping[str, Any], prices: Mapping[str, Any]) -> str:
    text = json.dumps([content, chosen, prices], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _beats(other: Row, row: Row, by: str) -> bool:
    if other["transcript"] != row["transcript"]:
        return False
    paid, peak = other[by] - row[by], other["peak_tokens"] - row["peak_tokens"]
    return bool(paid <= 0 and peak <= 0 and (paid, peak) != (0, 0))


def _read(path: str | Path | None) -> dict[str, Row]:
    """Return the rows of an earlier run; one cut off by its end is done again."""
    if path is None or not Path(path).is_file():
        return {}
    rows = {}
    for line in Path(path).read_bytes().split(b"\n"):
        try:
            row = json.loads(line)  # cut off inside a character: a ValueError, too
            rows[row["key"]] = row
        except (ValueError, TypeError, KeyError):
            continue
    return rows


def _write(path: str | Path | None, rows: Sequence[Row]) -> None:
    if path is None or not rows:
        return
    with Path(path).open("a+b") as file:
        file.seek(0, 2)
        if file.tell():  # a line that was cut off must not swallow the next one
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
