"""Learn, tune and ship context compaction for LLM agents.

The names below are what production code imports; each loads its module when it is
first asked for. The teaching names live in their modules.

>>> from ctxlab import ScriptCounter
>>> ScriptCounter().name
'script:generic'
"""

from typing import TYPE_CHECKING

from ctxlab._lazy import lazy_names

if TYPE_CHECKING:
    from ctxlab.calibration import AnchoredCalibration, UsageSample
    from ctxlab.estimates import Estimate
    from ctxlab.middleware import RequestOnlySummarizationMiddleware
    from ctxlab.overflow import is_context_overflow, stated_limit
    from ctxlab.records import CallRecord
    from ctxlab.settings import Settings
    from ctxlab.summaries import SummaryError, SummaryWriter
    from ctxlab.tokens import CjkAwareCounter, ScriptCounter

__all__ = [
    "AnchoredCalibration",
    "CallRecord",
    "CjkAwareCounter",
    "Estimate",
    "RequestOnlySummarizationMiddleware",
    "ScriptCounter",
    "Settings",
    "SummaryError",
    "SummaryWriter",
    "UsageSample",
    "is_context_overflow",
    "stated_limit",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AnchoredCalibration": "ctxlab.calibration",
        "CallRecord": "ctxlab.records",
        "CjkAwareCounter": "ctxlab.tokens",
        "Estimate": "ctxlab.estimates",
        "RequestOnlySummarizationMiddleware": "ctxlab.middleware",
        "ScriptCounter": "ctxlab.tokens",
        "Settings": "ctxlab.settings",
        "SummaryError": "ctxlab.summaries",
        "SummaryWriter": "ctxlab.summaries",
        "UsageSample": "ctxlab.calibration",
        "is_context_overflow": "ctxlab.overflow",
        "stated_limit": "ctxlab.overflow",
    },
)
