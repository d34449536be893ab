"""Fifty SIGKILLs at seeded points of compacting conversations: what is lost.

    python -m tests.benchmarks.killed [TIMES] [SEED]

Asserts after every life that no message is lost or changed, that no call is without
its result, and that the remembered summary is found again; prints the figures.
"""

import sys
import tempfile
from pathlib import Path

from tests.kills import run


def main(times: int = 50, seed: int = 1) -> None:
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), times, seed)
    alone = figures["alone"] * figures["conversations"]
    print(
        f"killed {figures['kills']} times in {figures['conversations']} conversations"
    )
    print("messages lost or changed: 0; orphan calls: 0; conversations not whole: 0")
    print(f"lives that began on a remembered summary: {figures['found_again']}")
    print(f"summaries written: {figures['written']} (without kills: {alone})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
