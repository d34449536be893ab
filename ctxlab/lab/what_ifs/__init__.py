"""What would this conversation have cost under other settings? In milliseconds.

Read in this order: `bills` (what requests cost, from counts made once), `memory`
(counts and digests that outlive a run), `pieces`, `spans` and `writer` (the
summaries), `loop` (an agent's loop without the agent), `counted` and `bench` (a
transcript laid out), `provider` (who answers and bills), `figures`, `stretch` and
`calm` (calls that decide nothing), `later` (objects made when looked at), `outcome`
and `lived` (one run: the chain where something may happen, and its calm calls).

Lesson: 12_tune_on_a_transcript.
"""

from ctxlab.lab.what_ifs.bench import Bench, bench_for
from ctxlab.lab.what_ifs.lived import what_if
from ctxlab.lab.what_ifs.outcome import CallDetail, WhatIf

__all__ = ["Bench", "CallDetail", "WhatIf", "bench_for", "what_if"]
