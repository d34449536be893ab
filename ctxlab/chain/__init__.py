"""The protection chain: what one model call may carry, decided without any I/O.

Read on in this order: `effects` (what the chain may wish for), `policy` (what it
knows beforehand), `samples` (bills of earlier answers), `call` (what it knows about
one call), `remembering` (views of earlier calls), `compaction` (shorten, cut, write),
`trimming` (drop and clip), `answers` (what a user reads), `learning` (new samples),
`asked` (on demand), `protection` (the layers), `headroom` (calls that need none of
them). Helpers stand where they are first needed: `recent`, `threads`, `fixed`,
`merging`, `reasoning`, `cutting`, `resting`.

Lesson: 10_protect_the_call.
"""

from ctxlab.chain.asked import COMPACT_TOOL, compact_on_demand
from ctxlab.chain.call import Call
from ctxlab.chain.effects import Acquire, CallModel, Effect, Load, Notify, Save
from ctxlab.chain.policy import Policy, Rules
from ctxlab.chain.protection import protect
from ctxlab.summaries import WriteSummaries

__all__ = [
    "COMPACT_TOOL",
    "Acquire",
    "Call",
    "CallModel",
    "Effect",
    "Load",
    "Notify",
    "Policy",
    "Rules",
    "Save",
    "WriteSummaries",
    "compact_on_demand",
    "protect",
]
