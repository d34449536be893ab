"""Is a service's memory flat: 10,000 model calls through one middleware.

    python -m tests.benchmarks.service_memory [CALLS]

Conversations come, are compacted, and go with their threads, as in a service that
cleans up. Prints, for every tenth of the calls, the resident size of the process and
the number of blocks that Python has allocated.
"""

import asyncio
import gc
import sys
from pathlib import Path

from tests.agents import words
from tests.service.desk_service import DeskService

TURNS = 10


def resident_mb() -> float:
    """Return the resident size of this process, in MB; 0 where it is not told."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    line = next(x for x in status.read_text().splitlines() if x.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def conversation(service: DeskService, number: int) -> None:
    thread = f"thread-{number}"
    config = {"configurable": {"thread_id": thread}}
    for turn in range(TURNS):
        text = f"customer-{number} . " + words(90, f"t{turn}-{number}")
        given = {"messages": [{"role": "user", "content": text}]}
        await service.agent.ainvoke(given, config)
    await service.saver.adelete_thread(thread)
    await service.rescue.aforget(thread, service.store)


async def run(calls: int) -> None:
    service = DeskService()
    step = calls // 10
    print(f"{'calls':>8}{'resident MB':>14}{'blocks':>12}")
    for number in range(calls // TURNS):
        await conversation(service, number)
        service.model.reset()
        service.writer.reset()
        done = (number + 1) * TURNS
        if done % step == 0:
            gc.collect()
            blocks = sys.getallocatedblocks()
            print(f"{done:>8,}{resident_mb():>14.1f}{blocks:>12,}", flush=True)


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]) if sys.argv[1:] else 10_000))
