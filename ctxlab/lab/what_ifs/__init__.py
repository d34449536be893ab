"""What would this conversation have cost under other settings? In milliseconds.

Read in this order: `bills` (what requests cost, from counts made once), `memory`
(counts and digests that outlive a run), `writer` (the summaries), `bench` (a
transcript laid out), `lived` (one run: the chain, and nothing but the chain).

Lesson: 12_tune_on_a_transcript.
"""

from ctxlab.lab.what_ifs.bench import Bench, bench_for
from ctxlab.lab.what_ifs.lived import CallDetail, WhatIf, what_if

__all__ = ["Bench", "CallDetail", "WhatIf", "bench_for", "what_if"]
