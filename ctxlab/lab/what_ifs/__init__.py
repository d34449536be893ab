"""What would this conversation have cost under other settings? In milliseconds.

Read in this order: `bills` (what requests cost, from counts made once), `memory`
(counts and digests that outlive a run), `pieces` and `writer` (the summaries), `loop`
(an agent's loop without the agent), `bench` (a transcript laid out), `provider` (who
answers and bills), `calm` (calls that decide nothing), `lived` (one run: the chain
where something may happen, and its calm calls).

Lesson: 12_tune_on_a_transcript.
"""

from ctxlab.lab.what_ifs.bench import Bench, bench_for
from ctxlab.lab.what_ifs.lived import CallDetail, WhatIf, what_if

__all__ = ["Bench", "CallDetail", "WhatIf", "bench_for", "what_if"]
