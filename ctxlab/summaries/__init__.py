r"""The handoff: what was said, in one text that the next call can start from.

A span of history goes to a summary model as data, in chunks if it is long; the reply
is checked, and only a checked reply is a summary. The result enters a request as one
message that says it is a record and no instruction.

>>> from langchain_core.messages import AIMessage, HumanMessage
>>> span = [HumanMessage("Ship order A123."), AIMessage("Shipped, arrives Friday.")]
>>> writer = SummaryWriter(lambda messages: "## SUMMARY\nA123 shipped, due Friday.")
>>> summary = writer.write(span)
>>> summary.calls, summary.notes
(1, ('sections missing from the summary: SESSION INTENT, ARTIFACTS, NEXT STEPS',))
>>> is_summary(summary_message(summary.text))
True

Read on in this order: `contract` (its words), `prompts` (what is asked), `labelled` (a
summary as a message), `entries` (what of each message is shown), `chunks` and `plan`
(how a long span is split), `checks` (what counts as a summary), `models`, `calls` and
`asking` (who is asked, and how), `writer` (all of it together).

Left out here: where to cut is `boundaries`; when to write and what to remember is the
chain. Lessons: 04_write_a_handoff, 10_protect_the_call.
"""

from ctxlab.summaries.checks import RejectedReply
from ctxlab.summaries.contract import Summary, SummaryError, WriteSummaries
from ctxlab.summaries.labelled import (
    is_summary,
    language_of,
    summary_message,
    summary_text,
)
from ctxlab.summaries.prompts import HANDOFF_PROMPT, SECTIONS
from ctxlab.summaries.writer import SummaryWriter

__all__ = [
    "HANDOFF_PROMPT",
    "SECTIONS",
    "RejectedReply",
    "Summary",
    "SummaryError",
    "SummaryWriter",
    "WriteSummaries",
    "is_summary",
    "language_of",
    "summary_message",
    "summary_text",
]
