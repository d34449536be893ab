"""The ladder: every step a real middleware, from the naive rewrite to the reference.

| step | built as | what it repairs |
|------|----------|-----------------|
| 1 | `NaiveSummarizationMiddleware(model)` | the window overflows |
| 2 | `builtin_summarization(model)` | pairs are split |
| 3 | `HandoffSummarizationMiddleware(model, fallback)` | history is lost unread |
| 4–8 | `RequestOnlySummarizationMiddleware(model)` | the originals are gone |

Steps 4 to 7 are the class of step 8 with other settings: `remember=False`, and another
`calibration` and `keep`.
"""

from ctxlab.middleware.builtin import builtin_summarization
from ctxlab.middleware.handoff import HandoffSummarizationMiddleware
from ctxlab.middleware.naive import NaiveSummarizationMiddleware
from ctxlab.middleware.request_only import RequestOnlySummarizationMiddleware

__all__ = [
    "HandoffSummarizationMiddleware",
    "NaiveSummarizationMiddleware",
    "RequestOnlySummarizationMiddleware",
    "builtin_summarization",
]
